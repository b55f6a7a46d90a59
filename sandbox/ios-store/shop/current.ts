import type { Instant } from "../../../lib/entitlements/time.ts";
import {
  latestOf,
  subscriptionOf,
  type Lineage,
  type SoldTransaction,
  type Subscription,
} from "./lineage.ts";

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

interface Fields {
  readonly transactions?: readonly SoldTransaction[];
  readonly subscription?: Partial<Subscription>;
}

type About = Partial<Pick<Notice, "transactionIdentifier" | "consumptionRequestReason">>;

/** Adds a notice of the lineage as it is: about its latest transaction, unless another is named. */
export const notified = (current: Current, name: NoticeName, about: About = {}): Current => {
  const { lineage, notices } = current;
  const { transactionIdentifier } = latestOf(lineage);
  return { ...current, notices: [...notices, { name, lineage, transactionIdentifier, ...about }] };
};

/** Changes the lineage silently, later than its last change. */
export const changed = (current: Current, { transactions, subscription }: Fields = {}): Current => {
  const { lineage, at } = current;
  const changes = {
    ...(transactions !== undefined && { transactions }),
    ...(subscription !== undefined && { subscription: { ...subscriptionOf(lineage), ...subscription } }),
    changedAt: Math.max(at, lineage.changedAt + 1),
  };
  return { ...current, lineage: { ...lineage, ...changes } };
};

/** Changes the subscription without a notification. */
export const silently = (current: Current, subscription: Partial<Subscription>): Current =>
  changed(current, { subscription });

export const openly = (current: Current, subscription: Partial<Subscription>, name: NoticeName): Current =>
  notified(silently(current, subscription), name);

/** The transactions of a lineage, with a change of those of one purchase event. */
export const withEvent = (
  { transactions }: Lineage,
  event: string,
  change: Partial<SoldTransaction>,
): SoldTransaction[] =>
  transactions.map((transaction) =>
    transaction.event === event ? { ...transaction, ...change } : transaction,
  );
