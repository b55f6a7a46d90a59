import { forwardsTo, type Application, type IosStoreConfiguration } from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { IosStoreNotificationRequest, NotificationResponse } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { checkAppTransactionClaims, whyRefused } from "../stores/ios-store/app-transaction.ts";
import type { Notification, NotificationParts } from "../stores/ios-store/notification.ts";
import { appTransactionIdentityOf, purchasesOf } from "../stores/ios-store/purchases.ts";
import { questionIn } from "../stores/ios-store/question.ts";
import { renewalsOf } from "../stores/ios-store/renewal-info.ts";
import type { Trust } from "../stores/ios-store/trust.ts";
import { isForgery } from "../stores/ios-store/verdict.ts";
import { applicationOfBundle, iosStoreConfigurationOf } from "./application-of.ts";
import type { IosStoreCustomers } from "./ios-store-request.ts";
import type { NoteNotification } from "./notification-log.ts";
import {
  failNotification,
  unusedIfErased,
  type NotificationUse,
  type ReceivedNotification,
} from "./notification-use.ts";
import { storeFacts } from "./store-facts.ts";
import { passOn, type RequestPassing } from "./store-request.ts";
import { iosStoreOrigin, type VerifiedFacts } from "./verified-facts.ts";

export interface IosStoreReception extends IosStoreCustomers, Pick<RequestPassing, "requests"> {
  readonly note: NoteNotification;
  /**
   * Queues the notification for the service that a bundle's notifications are forwarded to, as it came. Unset: nothing is
   * forwarded.
   */
  readonly forward?: (application: ApplicationId, bundleIdentifier: string) => Promise<void>;
  /** Takes the outcome of each notification, once. */
  readonly onReceived: (received: ReceivedNotification) => void;
}

/** Errors that the same notification would get again. */
const ANSWERED: ReadonlySet<ErrorCode> = new Set(["INVALID_NOTIFICATION", "APPLICATION_NOT_FOUND"]);

const invalidNotification = (because?: string): ServiceError =>
  new ServiceError("INVALID_NOTIFICATION", because === undefined ? {} : { because });

/** Null: it contains no fact. */
const factsOf = (
  configuration: IosStoreConfiguration,
  { environment, isInGrace }: Notification,
  { transaction, renewalInfo }: NotificationParts,
): VerifiedFacts | null => {
  if (transaction === null && renewalInfo === null) return null;
  const transactions = transaction === null ? [] : [transaction];
  const identity = appTransactionIdentityOf(transactions);
  return {
    environment,
    identities: identity === null ? [] : [identity],
    purchases: purchasesOf(transactions),
    renewals: renewalsOf(renewalInfo === null ? [] : [{ ...renewalInfo, isInGrace }], transactions),
    acknowledgementDue: null,
    origin: iosStoreOrigin(configuration, null),
  };
};

/** Reads the owner after the facts were stored, so that a new purchase has one. */
const passOnQuestion = async (
  reception: IosStoreReception,
  application: Application,
  notification: Notification,
  parts: NotificationParts,
): Promise<boolean> => {
  const question = questionIn(notification, parts);
  if (question === null) return false;
  const { transaction, appTransaction } = parts;
  const identity = appTransactionIdentityOf(
    [transaction, appTransaction].filter((payload) => payload !== null),
  );
  return passOn(reception, application, question, {
    purchases: transaction === null ? [] : purchasesOf([transaction]).map(({ purchase }) => purchase),
    identities: identity === null ? [] : [identity],
  });
};

/** Comes before the facts are stored: what this service cannot store, the other one may need all the more. */
const forward = async (
  reception: IosStoreReception,
  { identifier }: Application,
  configuration: IosStoreConfiguration,
): Promise<void> => {
  if (forwardsTo(configuration) !== null)
    await reception.forward?.(identifier, configuration.bundleIdentifier);
};

const use = async (
  reception: IosStoreReception,
  application: Application,
  configuration: IosStoreConfiguration,
  notification: Notification,
  trust: Trust,
  moment: Instant,
): Promise<NotificationUse> => {
  const parts = await reception.verifier.verifyNotificationParts(notification, trust, moment);
  if (parts.outcome === "rejected") throw invalidNotification();
  await forward(reception, application, configuration);
  const facts = factsOf(configuration, notification, parts.payload);
  const stored =
    facts === null
      ? "UNUSED"
      : // Facts that contradict each other's owners went to the owner of each.
        await storeFacts(reception, application, facts, null).then(() => "STORED" as const, unusedIfErased);
  const isPassedOn = await passOnQuestion(reception, application, notification, parts.payload);
  if (parts.payload.notUnderstood.length > 0) return "PARTLY_UNDERSTOOD";
  return isPassedOn ? "STORED" : stored;
};

/** Finds the app of an authentic notification, uses the notification, and notes it. A refused one writes nothing. */
const receive = async (
  reception: IosStoreReception,
  notification: Notification,
  trust: Trust,
  moment: Instant,
): Promise<NotificationUse> => {
  const { bundleIdentifier, environment, signedAt } = notification;
  const application = await applicationOfBundle(reception.directory, bundleIdentifier);
  const configuration = iosStoreConfigurationOf(application, bundleIdentifier);
  switch (checkAppTransactionClaims(notification, configuration)) {
    case "INVALID_APP_TRANSACTION":
      throw invalidNotification(whyRefused(notification, configuration));
    case "ENVIRONMENT_NOT_ACCEPTED":
      await forward(reception, application, configuration);
      return "UNUSED";
    case null: {
      const outcome = await use(reception, application, configuration, notification, trust, moment);
      const { identifier } = application;
      await reception.note(
        { application: identifier, store: "ios-store", environment, bundleOrPackage: bundleIdentifier },
        signedAt,
      );
      return outcome;
    }
  }
};

/**
 * Takes an App Store Server Notification: verifies the envelope and what it carries, stores the facts, and links nothing.
 * The type decides no fact, so a replay writes none. What the store asks of the application is passed on. Each part counts
 * by itself: one in a new form loses no other.
 *
 * @throws ServiceError the errors of the endpoint; an unexpected failure is `STORE_UNAVAILABLE`, so that the App Store
 * sends the notification again
 */
export const receiveIosStoreNotification = async (
  reception: IosStoreReception,
  { signedPayload }: IosStoreNotificationRequest,
): Promise<NotificationResponse> => {
  const failed = (type: string | null) => failNotification(reception.onReceived, ANSWERED, type);

  const moment = reception.now();
  const trust: Trust = { roots: reception.trustedRoots, xcodeCertificates: new Set() };
  const verdict = await reception.verifier.verifyNotification(signedPayload, trust, moment);
  if (verdict.outcome === "rejected") {
    if (!isForgery(verdict.reason)) return failed(null)(invalidNotification());
    reception.onReceived({ outcome: "FORGED", type: null });
    throw invalidNotification();
  }
  const notification = verdict.payload;
  const { type } = notification;
  const outcome = await receive(reception, notification, trust, moment).catch(failed(type));
  reception.onReceived({ outcome, type });
  return {};
};
