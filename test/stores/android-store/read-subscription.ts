import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { readSubscription } from "../../../lib/stores/android-store/subscription.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";

export type SubscriptionAnswer = androidpublisher_v3.Schema$SubscriptionPurchaseV2;
export type SubscriptionLine = ReturnType<typeof aSubscriptionLine>;

export const TOKEN = "subscription-token.AO-J1O";
export const UNACKNOWLEDGED = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" };

/** A paid line whose end is so many days away. */
export const line = (productId: string, days: number, more: object = {}): SubscriptionLine =>
  aSubscriptionLine({ productId, expiryTime: isoTime(NOW + days * DAY), ...more });

/** A line without an order of its own. */
export const unpaid = (productId: string, days: number | null = null): SubscriptionLine => {
  const { latestSuccessfulOrderId: _, expiryTime: __, ...undated } = line(productId, 0);
  return days === null ? undated : { ...undated, expiryTime: isoTime(NOW + days * DAY) };
};

/** Reads an answer as it is sent, as JSON; null: it is malformed. */
export const readOrRefuse = (changes: SubscriptionAnswer = {}) => {
  const body: unknown = JSON.parse(JSON.stringify(aSubscriptionAnswer(changes)));
  const question = {
    packageName: PACKAGE_NAME,
    purchaseToken: TOKEN,
    productIdentifier: null,
    answeredAt: NOW,
  };
  const reading = readSubscription(body, question);
  if (reading === "product-not-in-purchase") throw new Error("A subscription is not read by product.");
  return reading;
};

/** Reads the usual answer with these changes. */
export const read = (changes: SubscriptionAnswer = {}) => {
  const reading = readOrRefuse(changes);
  if (reading === null) throw new Error(`${JSON.stringify(changes)} is malformed.`);
  return reading;
};

/** The lines that are read, with the days to their ends: `premium 7 entitled, renews`. */
export const linesOf = (changes: SubscriptionAnswer): string[] =>
  read(changes).purchase.lines.map(
    ({ productIdentifier, endsAt, standing, willRenew }) =>
      `${productIdentifier} ${((endsAt ?? Infinity) - NOW) / DAY} ${standing}${willRenew === true ? ", renews" : ""}`,
  );
