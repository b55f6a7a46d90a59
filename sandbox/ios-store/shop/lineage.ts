import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { instant, readonlyObject } from "../../fields.ts";
import { ImpossibleChange } from "../../routes.ts";

/** The store's memory of its customers and their purchases. The schemas also read a saved state. */

const period = readonlyObject({ months: z.int().min(0), milliseconds: z.int().min(0) });

export const PRODUCT_TYPES = [
  "Auto-Renewable Subscription",
  "Non-Renewing Subscription",
  "Non-Consumable",
  "Consumable",
] as const;

/** One Apple Account's copy of an app. */
export const accountSchema = readonlyObject({
  bundleIdentifier: z.string(),
  appAppleIdentifier: z.int(),
  environment: z.enum(["Production", "Sandbox"]),
  /** Null: an app from before these identifiers. */
  appTransactionIdentifier: z.string().nullable(),
  /** Account that the app's requests name; undefined: they name none. */
  applicationAccountIdentifier: z.string().nullish(),
});
export type Account = z.output<typeof accountSchema>;

const revocation = readonlyObject({
  at: instant,
  /** 1: because of an issue with the app; 0: for any other reason. */
  reason: z.union([z.literal(0), z.literal(1)]),
  type: z.enum(["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE"]),
  /** In thousandths of a per cent; null for family sharing. */
  percentage: z.int().nullable(),
});
export type Revocation = z.output<typeof revocation>;

const transaction = readonlyObject({
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
});
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
  readonlyObject({ kind: z.literal("active") }),
  readonlyObject({ kind: z.literal("grace"), endsAt: instant }),
  readonlyObject({ kind: z.literal("retry") }),
  readonlyObject({ kind: z.literal("expired"), intent: z.enum(INTENTS) }),
  readonlyObject({ kind: z.literal("revoked") }),
]);

const subscription = readonlyObject({
  standing,
  /** Product of the next period. */
  next: readonlyObject({ productIdentifier: z.string(), period }),
  /** Ends are counted from here, so that a month's 31st comes back after a shorter month. */
  cadence: readonlyObject({ from: instant, periods: z.int().min(0), period }),
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
});
export type Subscription = z.output<typeof subscription>;

/** Everything under one original transaction id. */
export const lineageSchema = readonlyObject({
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
});
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
  | `REFUND${"" | "_REVERSED"}`
  | "REVOKE"
  | "RENEWAL_EXTENDED"
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

/** A lineage while it changes. */
export interface Current {
  readonly lineage: Lineage;
  /** Moment of the change. */
  readonly at: Instant;
  readonly newIdentifier: () => string;
  /** The store's notifications of the change so far, in order. */
  readonly notices: readonly Notice[];
}

type About = Partial<Pick<Notice, "transactionIdentifier" | "consumptionRequestReason">>;

/** Adds a notice of the lineage as it is: about its latest transaction, unless another is named. */
export const notified = (current: Current, name: NoticeName, about: About = {}): Current => {
  const { lineage, notices } = current;
  const { transactionIdentifier } = latestOf(lineage);
  return { ...current, notices: [...notices, { name, lineage, transactionIdentifier, ...about }] };
};

/** Changes the lineage, later than its last change; silently, unless a notice is named. */
export const changed = (
  current: Current,
  {
    transactions,
    subscription,
  }: {
    readonly transactions?: readonly SoldTransaction[];
    readonly subscription?: Partial<Subscription> | undefined;
  },
  name?: NoticeName,
  about?: About,
): Current => {
  const { lineage, at } = current;
  const changes = {
    ...(transactions !== undefined && { transactions }),
    ...(subscription !== undefined && { subscription: { ...subscriptionOf(lineage), ...subscription } }),
    changedAt: Math.max(at, lineage.changedAt + 1),
  };
  const next = { ...current, lineage: { ...lineage, ...changes } };
  return name === undefined ? next : notified(next, name, about);
};

/** The transactions of a lineage, with a change of those of one purchase event. */
export const withEvent = (
  { transactions }: Lineage,
  event: string,
  change: Partial<SoldTransaction>,
): SoldTransaction[] =>
  transactions.map((transaction) =>
    transaction.event === event ? { ...transaction, ...change } : transaction,
  );
