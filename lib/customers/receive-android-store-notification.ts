import type {
  AndroidStoreConfiguration,
  Application,
  ApplicationDirectory,
} from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { AndroidStoreNotificationRequest, NotificationResponse } from "../contract/schemas.ts";
import { HOUR } from "../duration.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { AndroidStoreAnswer } from "../stores/android-store/android-store.ts";
import { readNotification, type AndroidStoreNotification } from "../stores/android-store/notification.ts";
import type {
  ExpectedSender,
  PushTokenClaims,
  PushTokenVerifier,
} from "../stores/android-store/push-token.ts";
import { questionIn } from "../stores/android-store/question.ts";
import { selecting } from "../stores/android-store/reading.ts";
import { androidStoreConfigurationOf, applicationOfPackage } from "./application-of.ts";
import { lookUpVoided, UNKNOWN_STATUSES } from "./look-up-voided.ts";
import type { NoteNotification } from "./notification-log.ts";
import { packageInEnvironment } from "./store-in-environment.ts";
import {
  failNotification,
  unusedIfErased,
  type NotificationUse,
  type ReceivedNotification,
} from "./notification-use.ts";
import {
  sourceOf,
  storeAndroidStorePurchase,
  type AndroidStorePurchases,
} from "./store-android-store-purchase.ts";
import { passOn, type RequestPassing } from "./store-request.ts";
import { UnansweredLookUpError } from "./unanswered-look-up.ts";

export interface AndroidStoreReception extends AndroidStorePurchases, Pick<RequestPassing, "requests"> {
  readonly directory: ApplicationDirectory;
  readonly pushTokens: PushTokenVerifier;
  readonly note: NoteNotification;
  /** Takes the outcome of each notification, once. */
  readonly onReceived: (received: ReceivedNotification) => void;
}

const ANSWERED: ReadonlySet<ErrorCode> = new Set([
  "INVALID_CREDENTIAL",
  "APPLICATION_NOT_FOUND",
  "STORE_UNAVAILABLE",
  "STORE_REJECTED_CREDENTIAL",
]);

/**
 * Age up to which a notification is sent again if the store does not know its purchase: longer than most outages,
 * during which it waits too.
 */
const UNKNOWN_MILLISECONDS = 6 * HOUR;

/** A push, its credential and its address. */
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

/** Notes the time, at most now: a future one would suppress later notes. */
const noteLast = async (
  { note, now }: AndroidStoreReception,
  application: ApplicationId,
  { packageName, sentAt }: AndroidStoreNotification,
): Promise<void> => {
  if (sentAt === null) return;
  await note(packageInEnvironment(application, packageName), Math.min(sentAt, now()));
};

/**
 * Whether the store does not know the purchase of its own recent notification: by mistake, or not yet. Unless the app sends
 * the purchase, no other message names it. Clock skew counts in both directions.
 */
const mayBecomeKnown = (
  { now }: AndroidStoreReception,
  { sentAt }: AndroidStoreNotification,
  { status }: AndroidStoreAnswer & { outcome: "rejected" | "gone" },
): boolean =>
  UNKNOWN_STATUSES.has(status) && sentAt !== null && Math.abs(now() - sentAt) < UNKNOWN_MILLISECONDS;

/** Asks the store about the purchase, and stores the answer. Conflicting facts are stored for each owner. */
const ask = async (
  reception: AndroidStoreReception,
  application: Application,
  configuration: AndroidStoreConfiguration,
  notification: AndroidStoreNotification,
  purchase: NonNullable<AndroidStoreNotification["purchase"]>,
): Promise<NotificationUse> => {
  const question = { ...purchase, productIdentifier: null };
  const { fullyVoidedAt } = notification;
  const answer = await lookUpVoided(reception, application, configuration, question, fullyVoidedAt);
  switch (answer.outcome) {
    case "rejected":
    case "gone":
      if (mayBecomeKnown(reception, notification, answer))
        throw new ServiceError("STORE_UNAVAILABLE", { retryAfterSeconds: 60 });
      return "UNUSED";
    case "unavailable":
    case "credential-rejected":
      throw new UnansweredLookUpError(answer);
    case "verified": {
      if (!configuration.environments.includes(answer.purchase.environment)) return "UNUSED";
      // A notification never widens what a link asked for.
      return storeAndroidStorePurchase(
        reception,
        application,
        configuration,
        selecting(answer, purchase.productKind, []),
        {
          source: sourceOf(configuration, purchase),
          askedAt: null,
          isNotified: true,
        },
        null,
      ).then(() => "STORED", unusedIfErased);
    }
  }
};

/** Passes the store's question on to the application; a notification without one is unused. */
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

/** Uses a notification with an authentic token, then notes it. */
const use = async (
  reception: AndroidStoreReception,
  claims: PushTokenClaims,
  notification: AndroidStoreNotification | null,
  address: string,
): Promise<NotificationUse> => {
  if (notification === null) {
    // Without a package, only this route's own address can be the audience.
    requireSender(reception, claims, { audience: address });
    return "UNUSED";
  }
  const { packageName, purchase } = notification;
  const application = await applicationOfPackage(reception.directory, packageName);
  const configuration = androidStoreConfigurationOf(application, packageName);
  requireSender(reception, claims, configuration.notifications);
  const outcome =
    purchase === null
      ? await passOnQuestion(reception, application, notification)
      : await ask(reception, application, configuration, notification, purchase);
  await noteLast(reception, application.identifier, notification);
  return outcome;
};

/**
 * Takes a Real-time Developer Notification: a hint that a purchase has changed. The store is asked, its answer is stored,
 * and nothing is linked. What the store asks of the application is passed on.
 *
 * @throws ServiceError the errors of the endpoint; an unexpected failure is `STORE_UNAVAILABLE`, so that the push is sent
 * again
 */
export const receiveAndroidStoreNotification = async (
  reception: AndroidStoreReception,
  { request, authorization, address }: AndroidStorePush,
): Promise<NotificationResponse> => {
  const failed = (type: string | null) => failNotification(reception.onReceived, ANSWERED, type);

  const claims = await claimsOf(reception, authorization).catch(failed(null));
  const notification = readNotification(request.message.data ?? "");
  const type = notification?.type ?? null;
  const outcome = await use(reception, claims, notification, address).catch(failed(type));
  reception.onReceived({ outcome, type });
  return {};
};
