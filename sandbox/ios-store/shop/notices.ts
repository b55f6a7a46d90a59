import { latestOf, type Lineage } from "./lineage.ts";

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
export type ConsumptionRequestReason = (typeof CONSUMPTION_REQUEST_REASONS)[number];

/** A notification of one event, before it is signed. */
export interface Notice {
  readonly type: keyof NoticeSubtypes;
  readonly subtype: string | null;
  /** As it was when the event happened. */
  readonly lineage: Lineage;
  /** The transaction that the event is about. */
  readonly transactionIdentifier: string;
  /** `CONSUMPTION_REQUEST` only. */
  readonly consumptionRequestReason: ConsumptionRequestReason | null;
}

/** A lineage after a change, and the store's notifications about it, in order. */
export interface Outcome {
  readonly lineage: Lineage;
  readonly notices: readonly Notice[];
}

/** A notice about a lineage's latest transaction, unless it names another one. */
export const noticeOf = <Type extends keyof NoticeSubtypes>(
  lineage: Lineage,
  type: Type,
  subtype: NoticeSubtypes[Type],
  about: Partial<Pick<Notice, "transactionIdentifier" | "consumptionRequestReason">> = {},
): Notice => ({
  type,
  subtype,
  lineage,
  transactionIdentifier: latestOf(lineage).transactionIdentifier,
  consumptionRequestReason: null,
  ...about,
});
