import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { instant } from "../../fields.ts";
import { ImpossibleChange } from "../../impossible-change.ts";

/** The store's memory of its customers and their purchases. The schemas also read a saved state. */

const period = z.object({ months: z.int().min(0), milliseconds: z.int().min(0) }).readonly();

export const PRODUCT_TYPES = [
  "Auto-Renewable Subscription",
  "Non-Renewing Subscription",
  "Non-Consumable",
  "Consumable",
] as const;

/** One Apple Account's copy of an app. */
export const accountSchema = z
  .object({
    bundleIdentifier: z.string(),
    appAppleIdentifier: z.int(),
    environment: z.enum(["Production", "Sandbox"]),
    /** Null: an app from before these identifiers. */
    appTransactionIdentifier: z.string().nullable(),
    /** Account that the app's requests name; undefined: they name none. */
    applicationAccountIdentifier: z.string().nullish(),
  })
  .readonly();
export type Account = z.output<typeof accountSchema>;

const revocation = z
  .object({
    at: instant,
    /** 1: because of an issue with the app; 0: for any other reason. */
    reason: z.union([z.literal(0), z.literal(1)]),
    type: z.enum(["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE"]),
    /** In thousandths of a per cent; null for family sharing. */
    percentage: z.int().nullable(),
  })
  .readonly();
export type Revocation = z.output<typeof revocation>;

const transaction = z
  .object({
    transactionIdentifier: z.string(),
    /** Identifies one purchase event under any number of transaction ids; a subscription's `webOrderLineItemId`. */
    event: z.string(),
    productIdentifier: z.string(),
    purchaseDate: instant,
    /** Null: no subscription. */
    expiresDate: instant.nullable(),
    reason: z.enum(["PURCHASE", "RENEWAL"]),
    isUpgraded: z.boolean(),
    revocation: revocation.nullable(),
    /** Order in which the store made or last changed its transactions; undefined: not yet kept. */
    revision: z.int().optional(),
  })
  .readonly();
export type SoldTransaction = z.output<typeof transaction>;

/** Apple's `expirationIntent`. */
export const INTENTS = {
  voluntary: 1,
  "billing-retry": 2,
  "price-increase": 3,
  "product-not-for-sale": 4,
  other: 5,
} as const;

const standing = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("active") }).readonly(),
  z.object({ kind: z.literal("grace"), endsAt: instant }).readonly(),
  z.object({ kind: z.literal("retry") }).readonly(),
  z.object({ kind: z.literal("expired"), intent: z.enum(INTENTS) }).readonly(),
  z.object({ kind: z.literal("revoked") }).readonly(),
]);

const subscription = z
  .object({
    standing,
    /** Product of the next period. */
    next: z.object({ productIdentifier: z.string(), period }).readonly(),
    /** Ends are counted from here, so that a month's 31st comes back after a shorter month. */
    cadence: z.object({ from: instant, periods: z.int().min(0), period }).readonly(),
    /** Null: the product has no billing grace period. */
    gracePeriod: period.nullable(),
    autoRenews: z.boolean(),
    /** Start of service without a lapse of 60 days. */
    servedSince: instant,
    /** The next charge fails. */
    billingFails: z.boolean(),
    /** Time at which the next period is charged ahead of its start; null: at its start. */
    chargedAheadAt: instant.nullable(),
    /** Whether the customer has agreed to a raised price; null: the price stays. */
    priceIncrease: z.enum(["pending", "agreed"]).nullable(),
  })
  .readonly();
export type Subscription = z.output<typeof subscription>;

/** Everything under one original transaction id. */
export const lineageSchema = z
  .object({
    originalTransactionIdentifier: z.string(),
    /** Key of its account. */
    account: z.string(),
    type: z.enum(PRODUCT_TYPES),
    quantity: z.int().min(1),
    originalPurchaseDate: instant,
    appAccountToken: z.string().nullable(),
    /** Lineage of the family member who bought it; null: it was bought. */
    sharedFrom: z.string().nullable(),
    /** In the order in which they were made; the last is of the latest event. */
    transactions: z.array(transaction).min(1).readonly(),
    /** Auto-renewable subscriptions only. */
    subscription: subscription.nullable(),
    /** Time of its last change. Each is later than the one before, so that `signedDate` tells the later of two signed states. */
    changedAt: instant,
  })
  .readonly();
export type Lineage = z.output<typeof lineageSchema>;

/** @throws ImpossibleChange if the purchase is no subscription */
export const subscriptionOf = ({ subscription }: Lineage): Subscription => {
  if (subscription === null) throw new ImpossibleChange("The change is possible for subscriptions only.");
  return subscription;
};

/** The latest transaction of a lineage. */
export const latestOf = ({ originalTransactionIdentifier, transactions }: Lineage): SoldTransaction => {
  const latest = transactions.at(-1);
  if (latest === undefined) throw new Error(`Lineage ${originalTransactionIdentifier} has no transaction.`);
  return latest;
};

/** End of a subscription's latest period. */
export const endOf = (lineage: Lineage): Instant => {
  const { expiresDate } = latestOf(lineage);
  if (expiresDate === null)
    throw new Error(`Lineage ${lineage.originalTransactionIdentifier} is no subscription.`);
  return expiresDate;
};
