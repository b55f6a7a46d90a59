import type { ApplicationDirectory } from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { AndroidStoreNotificationRequest, NotificationResponse } from "../contract/schemas.ts";
import { readNotification, type AndroidStoreNotification } from "../stores/android-store/notification.ts";
import type {
  ExpectedSender,
  PushTokenClaims,
  PushTokenVerifier,
} from "../stores/android-store/push-token.ts";
import { selecting } from "../stores/android-store/reading.ts";
import { androidStoreConfigurationOf, applicationOfPackage } from "./application-of.ts";
import { storeAndroidStorePurchase, type AndroidStorePurchases } from "./store-android-store-purchase.ts";

/** What became of a notification. `STORED`: its facts were stored or known already; `UNUSED`: it can never be used. */
type Use = "STORED" | "UNUSED";

export interface AndroidStoreReception extends AndroidStorePurchases {
  readonly directory: ApplicationDirectory;
  readonly pushTokens: PushTokenVerifier;
  /**
   * Takes what became of each notification, once; `INTERNAL_ERROR` where this service failed. `type`: Google's; null where
   * the token is refused or no type can be read.
   */
  readonly onReceived: (received: {
    readonly outcome: Use | ErrorCode;
    readonly type: string | null;
  }) => void;
}

/** A push, and where it came from and to. */
export interface AndroidStorePush {
  readonly request: AndroidStoreNotificationRequest;
  /** `Authorization` header; null: there is none. */
  readonly authorization: string | null;
  /** URL that the push was sent to. */
  readonly address: string;
}

const claimsOf = async (
  { pushTokens }: AndroidStoreReception,
  authorization: string | null,
): Promise<PushTokenClaims> => {
  const verdict = await pushTokens.verify(authorization);
  switch (verdict.outcome) {
    case "verified":
      return verdict.claims;
    case "rejected":
      throw new ServiceError("INVALID_CREDENTIAL");
    case "unavailable":
      throw new ServiceError("STORE_UNAVAILABLE");
  }
};

const requireSender = (
  { pushTokens }: AndroidStoreReception,
  claims: PushTokenClaims,
  expected: ExpectedSender | null,
): void => {
  if (pushTokens.disagreement(claims, expected) !== null) throw new ServiceError("INVALID_CREDENTIAL");
};

/** An erased customer's purchase can never be used; only a link with a credential lifts the erasure. */
const unusedIfErased = (error: unknown): Use => {
  if (error instanceof ServiceError && error.code === "CUSTOMER_NOT_FOUND") return "UNUSED";
  throw error;
};

/** Asks the store about the purchase, and stores the answer. A contradiction's facts went to their owners. */
const use = async (
  reception: AndroidStoreReception,
  claims: PushTokenClaims,
  notification: AndroidStoreNotification | null,
  address: string,
): Promise<Use> => {
  if (notification === null) {
    // It names no package, so only this route's own address can be expected.
    requireSender(reception, claims, { audience: address });
    return "UNUSED";
  }
  const { packageName, purchase } = notification;
  const application = await applicationOfPackage(reception.directory, packageName);
  const configuration = androidStoreConfigurationOf(application, packageName);
  requireSender(reception, claims, configuration.notifications);
  if (purchase === null) return "UNUSED";
  const answer = await reception.androidStore.lookUp(configuration, { ...purchase, productIdentifier: null });
  switch (answer.outcome) {
    case "rejected":
    case "gone":
      return "UNUSED";
    case "unavailable":
      throw new ServiceError("STORE_UNAVAILABLE", { retryAfterSeconds: answer.retryAfterSeconds });
    case "credential-rejected":
      throw new ServiceError("STORE_REJECTED_CREDENTIAL");
    case "verified":
      if (!configuration.environments.includes(answer.purchase.environment)) return "UNUSED";
      // A notification never widens what a link asked for.
      return storeAndroidStorePurchase(
        reception,
        application,
        configuration,
        selecting(answer, purchase.productKind, []),
        null,
      ).then(() => "STORED", unusedIfErased);
  }
};

/**
 * Takes a Real-time Developer Notification: a hint that a purchase has changed. The store is asked, its answer is stored,
 * and nothing is linked.
 *
 * @throws ServiceError the errors of the endpoint; an unexpected failure is `STORE_UNAVAILABLE`, so that the push is sent
 * again
 */
export const receiveAndroidStoreNotification = async (
  reception: AndroidStoreReception,
  { request, authorization, address }: AndroidStorePush,
): Promise<NotificationResponse> => {
  const failed =
    (type: string | null) =>
    (error: unknown): never => {
      const isExpected = error instanceof ServiceError;
      reception.onReceived({ outcome: isExpected ? error.code : "INTERNAL_ERROR", type });
      throw isExpected ? error : new ServiceError("STORE_UNAVAILABLE", { cause: error });
    };

  const claims = await claimsOf(reception, authorization).catch(failed(null));
  const notification = readNotification(request.message.data ?? "");
  const type = notification?.type ?? null;
  const outcome = await use(reception, claims, notification, address).catch(failed(type));
  reception.onReceived({ outcome, type });
  return {};
};
