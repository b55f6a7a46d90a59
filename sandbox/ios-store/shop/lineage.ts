import * as z from "zod";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { PRODUCT_TYPES } from "./app-store.ts";

/** The store's memory of its customers and their purchases, and its notices of changes. The schemas also read a saved state. */

const instant = z.custom<Instant>(isInstant);
const period = z.object({ months: z.int().min(0), milliseconds: z.int().min(0) }).readonly();

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

/** A lineage before a change, the moment of the change, and the source of its transactions' ids. */
export interface Current {
  readonly lineage: Lineage;
  readonly at: Instant;
  readonly newIdentifier: () => string;
}

/** @throws ImpossibleChange if the purchase is no subscription */
export const subscriptionOf = ({ subscription }: Lineage): Subscription => {
  if (subscription === null) throw new ImpossibleChange("The change is possible for subscriptions only.");
  return subscription;
};

/** The subscription of a lineage with other fields. */
export const having = (lineage: Lineage, fields: Partial<Subscription>): Pick<Lineage, "subscription"> => ({
  subscription: { ...subscriptionOf(lineage), ...fields },
});

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

/** Applies a change at a moment, later than the change before. */
export const after = (lineage: Lineage, at: Instant, change: Partial<Lineage>): Lineage => ({
  ...lineage,
  ...change,
  changedAt: Math.max(at, lineage.changedAt + 1),
});

/** Changes the transactions of one purchase event. */
export const withEvent = (
  { transactions }: Lineage,
  event: string,
  change: Partial<SoldTransaction>,
): Pick<Lineage, "transactions"> => ({
  transactions: transactions.map((transaction) =>
    transaction.event === event ? { ...transaction, ...change } : transaction,
  ),
});

/**
 * Notification types, each with its subtype if it has one.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
 */
export type NoticeName =
  | `SUBSCRIBED ${"INITIAL_BUY" | "RESUBSCRIBE"}`
  | "ONE_TIME_CHARGE"
  | `DID_RENEW${"" | " BILLING_RECOVERY"}`
  | `DID_FAIL_TO_RENEW${"" | " GRACE_PERIOD"}`
  | "GRACE_PERIOD_EXPIRED"
  | `EXPIRED${"" | " VOLUNTARY" | " BILLING_RETRY" | " PRICE_INCREASE" | " PRODUCT_NOT_FOR_SALE"}`
  | `DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_${"ENABLED" | "DISABLED"}`
  | `DID_CHANGE_RENEWAL_PREF${"" | " UPGRADE" | " DOWNGRADE"}`
  | `PRICE_INCREASE ${"PENDING" | "ACCEPTED"}`
  | `REFUND${"" | "_DECLINED" | "_REVERSED"}`
  | "REVOKE"
  | "RENEWAL_EXTENDED"
  | "RENEWAL_EXTENSION FAILURE"
  | "CONSUMPTION_REQUEST"
  | "RESCIND_CONSENT";

/** Why a customer asks for a refund. */
export const CONSUMPTION_REQUEST_REASONS = [
  "UNINTENDED_PURCHASE",
  "FULFILLMENT_ISSUE",
  "UNSATISFIED_WITH_PURCHASE",
  "LEGAL",
  "OTHER",
] as const;

/** A notification of one event, before it is signed. */
export interface Notice {
  readonly name: NoticeName;
  /** As it was when the event happened. */
  readonly lineage: Lineage;
  /** The transaction that the event is about. */
  readonly transactionIdentifier: string;
  /** `CONSUMPTION_REQUEST` only. */
  readonly consumptionRequestReason?: (typeof CONSUMPTION_REQUEST_REASONS)[number];
}

/** A lineage after a change, and the store's notifications about it, in order. */
export interface Outcome {
  readonly lineage: Lineage;
  readonly notices: readonly Notice[];
}

type About = Partial<Pick<Notice, "transactionIdentifier" | "consumptionRequestReason">>;

/** A lineage, with one notice of it: about its latest transaction, unless another is named. */
export const told = (lineage: Lineage, name: NoticeName, about: About = {}): Outcome => {
  const { transactionIdentifier } = latestOf(lineage);
  return { lineage, notices: [{ name, lineage, transactionIdentifier, ...about }] };
};

/** A lineage changed at a moment, with one notice of it. */
export const changed = (
  lineage: Lineage,
  at: Instant,
  change: Partial<Lineage>,
  name: NoticeName,
  about: About = {},
): Outcome => told(after(lineage, at, change), name, about);

/** Two changes, the second of what the first has made. */
export const both = (first: Outcome, second: Outcome): Outcome => ({
  lineage: second.lineage,
  notices: [...first.notices, ...second.notices],
});
