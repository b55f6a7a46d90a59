import type { Instant } from "../../../lib/entitlements/time.ts";
import { after, latestOf, type Lineage } from "./lineage.ts";

/**
 * Notification types, with the subtypes that each may have; null: none.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
 */
export interface NoticeSubtypes {
  SUBSCRIBED: "INITIAL_BUY" | "RESUBSCRIBE";
  ONE_TIME_CHARGE: null;
  DID_RENEW: "BILLING_RECOVERY" | null;
  DID_FAIL_TO_RENEW: "GRACE_PERIOD" | null;
  GRACE_PERIOD_EXPIRED: null;
  EXPIRED: "VOLUNTARY" | "BILLING_RETRY" | "PRICE_INCREASE" | "PRODUCT_NOT_FOR_SALE" | null;
  DID_CHANGE_RENEWAL_STATUS: "AUTO_RENEW_ENABLED" | "AUTO_RENEW_DISABLED";
  DID_CHANGE_RENEWAL_PREF: "UPGRADE" | "DOWNGRADE" | null;
  OFFER_REDEEMED: "UPGRADE" | "DOWNGRADE" | null;
  PRICE_INCREASE: "PENDING" | "ACCEPTED";
  REFUND: null;
  REFUND_DECLINED: null;
  REFUND_REVERSED: null;
  REVOKE: null;
  RENEWAL_EXTENDED: null;
  RENEWAL_EXTENSION: "FAILURE";
  CONSUMPTION_REQUEST: null;
  RESCIND_CONSENT: null;
}

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
  readonly type: keyof NoticeSubtypes;
  readonly subtype: string | null;
  /** As it was when the event happened. */
  readonly lineage: Lineage;
  /** The transaction that the event is about. */
  readonly transactionIdentifier: string;
  /** `CONSUMPTION_REQUEST` only. */
  readonly consumptionRequestReason: (typeof CONSUMPTION_REQUEST_REASONS)[number] | null;
}

/** A lineage after a change, and the store's notifications about it, in order. */
export interface Outcome {
  readonly lineage: Lineage;
  readonly notices: readonly Notice[];
}

type About = Partial<Pick<Notice, "transactionIdentifier" | "consumptionRequestReason">>;

/** A notice about a lineage's latest transaction, unless it names another one. */
export const noticeOf = <Type extends keyof NoticeSubtypes>(
  lineage: Lineage,
  type: Type,
  subtype: NoticeSubtypes[Type],
  about: About = {},
): Notice => ({
  type,
  subtype,
  lineage,
  transactionIdentifier: latestOf(lineage).transactionIdentifier,
  consumptionRequestReason: null,
  ...about,
});

/** A lineage changed at a moment, with one notice of it. */
export const changed = <Type extends keyof NoticeSubtypes>(
  lineage: Lineage,
  at: Instant,
  change: Partial<Lineage>,
  type: Type,
  subtype: NoticeSubtypes[Type],
  about: About = {},
): Outcome => {
  const next = after(lineage, at, change);
  return { lineage: next, notices: [noticeOf(next, type, subtype, about)] };
};
