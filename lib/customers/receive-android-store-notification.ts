import type { Application, ApplicationDirectory } from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { AndroidStoreNotificationRequest, NotificationResponse } from "../contract/schemas.ts";
import { HOUR } from "../duration.ts";
import {
  questionIn,
  readNotification,
  type AndroidStoreNotification,
} from "../stores/android-store/notification.ts";
import type {
  ExpectedSender,
  PushTokenClaims,
  PushTokenVerifier,
} from "../stores/android-store/push-token.ts";
import { selecting } from "../stores/android-store/reading.ts";
import {
  androidStoreConfigurationOf,
  applicationOfStore,
  packageInEnvironment,
} from "./application-stores.ts";
import {
  failNotification,
  storeNotified,
  type NotificationUse,
  type Reception,
  passOn,
} from "./notifications.ts";
import {
  lookUpVoided,
  sourceOf,
  storeAndroidStorePurchase,
  UnansweredLookUpError,
  UNKNOWN_STATUSES,
  type AndroidStorePurchases,
  type PackageContext,
} from "./storing/store-android-store-purchase.ts";

export interface AndroidStoreReception extends AndroidStorePurchases, Reception {
  readonly directory: ApplicationDirectory;
  readonly pushTokens: PushTokenVerifier;
}

const ANSWERED: ReadonlySet<ErrorCode> = new Set([
  "INVALID_CREDENTIAL",
  "APPLICATION_NOT_FOUND",
  "STORE_UNAVAILABLE",
  "STORE_REJECTED_CREDENTIAL",
]);

/** Age up to which a notification of an unknown purchase is sent again: longer than most outages. */
const UNKNOWN_MILLISECONDS = 6 * HOUR;

export interface AndroidStorePush {
  readonly request: AndroidStoreNotificationRequest;
  /** `Authorization` header; null: there is none. */
  readonly authorization: string | null;
  readonly address: string;
}

const claimsOf = async (
  { pushTokens }: AndroidStoreReception,
  authorization: string | null,
): Promise<PushTokenClaims> => {
  const verdict = await pushTokens.verify(authorization);
  if (verdict.outcome === "verified") return verdict.claims;
  throw new ServiceError(verdict.outcome === "rejected" ? "INVALID_CREDENTIAL" : "STORE_UNAVAILABLE");
};

const requireSender = (
  { pushTokens }: AndroidStoreReception,
  claims: PushTokenClaims,
  expected: ExpectedSender | null,
): void => {
  if (pushTokens.disagreement(claims, expected) !== null) throw new ServiceError("INVALID_CREDENTIAL");
};

const ask = async (
  context: PackageContext,
  { sentAt, fullyVoidedAt }: AndroidStoreNotification,
  purchase: NonNullable<AndroidStoreNotification["purchase"]>,
): Promise<NotificationUse> => {
  const { ports, configuration } = context;
  const answer = await lookUpVoided(context, { ...purchase, productIdentifier: null }, fullyVoidedAt);
  switch (answer.outcome) {
    case "rejected":
    case "gone": {
      // A recent purchase may not be known yet, and no other message names it. Clocks may differ either way.
      const age = sentAt === null ? Infinity : Math.abs(ports.now() - sentAt);
      if (UNKNOWN_STATUSES.has(answer.status) && age < UNKNOWN_MILLISECONDS)
        throw new ServiceError("STORE_UNAVAILABLE", { retryAfterSeconds: 60 });
      return "UNUSED";
    }
    case "unavailable":
    case "credential-rejected":
      throw new UnansweredLookUpError(answer, ports.now());
    case "verified": {
      if (!configuration.environments.includes(answer.purchase.environment)) return "UNUSED";
      // A notification never widens what a link asked for.
      const verified = selecting(answer, purchase.productKind, []);
      const asked = { source: sourceOf(configuration, purchase), askedAt: null, isNotified: true };
      return storeNotified(storeAndroidStorePurchase(context, verified, asked, null));
    }
  }
};

const passOnQuestion = async (
  reception: AndroidStoreReception,
  application: Application,
  notification: AndroidStoreNotification,
): Promise<NotificationUse> => {
  const asked = questionIn(notification, reception.now());
  if (asked === null) return "UNUSED";
  const { question, purchases } = asked;
  const isPassedOn = await passOn(reception, application, question, { purchases, identities: [] });
  return isPassedOn ? "STORED" : "UNUSED";
};

const use = async (
  reception: AndroidStoreReception,
  claims: PushTokenClaims,
  notification: AndroidStoreNotification | null,
  address: string,
): Promise<NotificationUse> => {
  if (notification === null) {
    // Without a package, only this route's own address can be its audience.
    requireSender(reception, claims, { audience: address });
    return "UNUSED";
  }
  const { packageName, purchase, sentAt } = notification;
  const reference = { store: "android-store", bundleOrPackage: packageName } as const;
  const application = await applicationOfStore(reception.directory, reference);
  const configuration = androidStoreConfigurationOf(application, packageName);
  requireSender(reception, claims, configuration.notifications);
  const outcome =
    purchase === null
      ? await passOnQuestion(reception, application, notification)
      : await ask({ ports: reception, application, configuration }, notification, purchase);
  const notified = packageInEnvironment(application.identifier, packageName);
  // A future time would suppress later notes.
  if (sentAt !== null) await reception.note(notified, Math.min(sentAt, reception.now()));
  return outcome;
};

/**
 * Takes a Real-time Developer Notification, a hint: the store is asked, its answer is stored, nothing is linked. What
 * the store asks of the application is passed on.
 *
 * @throws ServiceError the errors of the endpoint; an unexpected failure is `STORE_UNAVAILABLE`: it is pushed again
 */
export const receiveAndroidStoreNotification = async (
  reception: AndroidStoreReception,
  { request, authorization, address }: AndroidStorePush,
): Promise<NotificationResponse> => {
  const failed = (type: string | null) => failNotification(reception, ANSWERED, type);
  const claims = await claimsOf(reception, authorization).catch(failed(null));
  const notification = readNotification(request.message.data ?? "");
  const type = notification?.type ?? null;
  const outcome = await use(reception, claims, notification, address).catch(failed(type));
  reception.onReceived({ outcome, type });
  return {};
};
