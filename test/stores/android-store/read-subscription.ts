import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { readSubscription } from "../../../lib/stores/android-store/subscription.ts";
import { NOW, PACKAGE_NAME } from "../../../testing/support/stores/android-store.ts";

export type SubscriptionAnswer = androidpublisher_v3.Schema$SubscriptionPurchaseV2;

export const TOKEN = "subscription-token.AO-J1O";

/** Reads an answer as it is sent, as JSON; null: it is malformed. */
export const readOrRefuse = (answer: SubscriptionAnswer, productIdentifier: string | null = null) => {
  const body: unknown = JSON.parse(JSON.stringify(answer));
  const question = { packageName: PACKAGE_NAME, purchaseToken: TOKEN, productIdentifier, answeredAt: NOW };
  const reading = readSubscription(body, question);
  if (reading === "product-not-in-purchase") throw new Error("A subscription is not read by product.");
  return reading;
};

export const read = (...args: Parameters<typeof readOrRefuse>) => {
  const reading = readOrRefuse(...args);
  if (reading === null) throw new Error(`${JSON.stringify(args)} is malformed.`);
  return reading;
};
