import type { Instant } from "../../../lib/entitlements/time.ts";
import { after, latestOf, type Lineage } from "./lineage.ts";

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
