import type { StoreRequest } from "../../contract/store-request.ts";
import { HOUR } from "../../duration.ts";
import type { Notification, NotificationParts } from "./notification.ts";

/**
 * Notification types with a question to the developer, and the milliseconds within which the App Store accepts an
 * answer; null: no deadline.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
 * @see https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
 */
const QUESTIONS: ReadonlyMap<string, number | null> = new Map([
  ["CONSUMPTION_REQUEST", 12 * HOUR],
  ["RESCIND_CONSENT", null],
]);

/** A verified notification's question to the developer; null: none. */
export const questionIn = (
  { identifier, kind, bundleIdentifier, environment, signedAt, consumptionRequestReason }: Notification,
  { transaction, appTransaction }: NotificationParts,
) => {
  const within = QUESTIONS.get(kind);
  if (within === undefined) return null;
  const unnamed = [
    kind,
    bundleIdentifier,
    String(signedAt),
    transaction?.transactionIdentifier ?? appTransaction?.appTransactionIdentifier ?? "",
  ];
  return {
    names: ["ios-store", environment, ...(identifier === null ? unnamed : [identifier])],
    askedAt: signedAt,
    answerBy: within === null ? null : signedAt + within,
    content: {
      store: "ios-store",
      kind,
      productIdentifier: transaction?.productIdentifier ?? null,
      transactionIdentifier: transaction?.transactionIdentifier ?? null,
      environment,
      bundleIdentifier,
      ...(consumptionRequestReason !== null && { reason: consumptionRequestReason }),
    } satisfies Partial<StoreRequest>,
  };
};
