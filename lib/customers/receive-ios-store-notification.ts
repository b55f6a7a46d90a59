import { forwardsTo, type Application, type IosStoreConfiguration } from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { IosStoreNotificationRequest, NotificationResponse } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { checkAppTransactionClaims } from "../stores/ios-store/claims.ts";
import {
  questionIn,
  type Notification,
  type NotificationParts,
  type NotificationVerifier,
} from "../stores/ios-store/notification.ts";
import { appTransactionIdentityOf, purchasesOf } from "../stores/ios-store/purchases.ts";
import { isForgery } from "../stores/ios-store/signatures/verdict.ts";
import { applicationOfStore, iosStoreConfigurationOf } from "./application-stores.ts";
import { appStoreTrust, type IosStoreCustomers } from "./ios-store-customers.ts";
import {
  failNotification,
  storeNotified,
  type NotificationUse,
  type Reception,
  passOn,
} from "./notifications.ts";
import { storeFacts } from "./storing/store-facts.ts";
import { iosStoreFacts, type VerifiedFacts } from "./storing/verified-facts.ts";

export interface IosStoreReception extends Omit<IosStoreCustomers, "verifier">, Reception {
  readonly notificationVerifier: NotificationVerifier;
  /** Queues the notification, as it came, for the service that takes the bundle's. Unset: none does. */
  readonly forward?: (application: ApplicationId, bundleIdentifier: string) => Promise<void>;
}

interface NotificationContext {
  readonly ports: IosStoreReception;
  readonly application: Application;
  readonly configuration: IosStoreConfiguration;
  readonly notification: Notification;
  readonly moment: Instant;
}

/** Errors that the same notification would get again. */
const ANSWERED: ReadonlySet<ErrorCode> = new Set(["INVALID_NOTIFICATION", "APPLICATION_NOT_FOUND"]);

const factsOf = (
  { configuration, notification: { environment, isInGrace } }: NotificationContext,
  { transaction, renewalInfo }: NotificationParts,
): VerifiedFacts | null => {
  if (transaction === null && renewalInfo === null) return null;
  const transactions = transaction === null ? [] : [transaction];
  const renewalInfos = renewalInfo === null ? [] : [{ ...renewalInfo, isInGrace }];
  return iosStoreFacts(configuration, { environment, transactions, renewalInfos, askedAt: null });
};

/** Passes on what the store asks. Reads the owner after the facts were stored, so that a new purchase has one. */
const passOnQuestion = async (
  { ports, application, notification }: NotificationContext,
  parts: NotificationParts,
): Promise<boolean> => {
  const question = questionIn(notification, parts);
  if (question === null) return false;
  const { transaction, appTransaction } = parts;
  const identity = appTransactionIdentityOf(
    [transaction, appTransaction].filter((payload) => payload !== null),
  );
  return passOn(ports, application, question, {
    purchases: transaction === null ? [] : purchasesOf([transaction]).map(({ purchase }) => purchase),
    identities: identity === null ? [] : [identity],
  });
};

/** Comes before the facts are stored: what this service cannot store, the other one may need all the more. */
const forward = async ({ ports, application, configuration }: NotificationContext): Promise<void> => {
  if (forwardsTo(configuration) !== null)
    await ports.forward?.(application.identifier, configuration.bundleIdentifier);
};

const use = async (context: NotificationContext): Promise<NotificationUse> => {
  const { ports, application, notification, moment } = context;
  const parts = await ports.notificationVerifier.verifyNotificationParts(
    notification,
    appStoreTrust(ports),
    moment,
  );
  if (parts.outcome === "rejected") throw new ServiceError("INVALID_NOTIFICATION");
  await forward(context);
  const facts = factsOf(context, parts.payload);
  // Facts that contradict each other's owners went to the owner of each.
  const stored = facts === null ? "UNUSED" : await storeNotified(storeFacts(ports, application, facts, null));
  const isPassedOn = await passOnQuestion(context, parts.payload);
  if (parts.payload.isPartlyUnderstood) return "PARTLY_UNDERSTOOD";
  return isPassedOn ? "STORED" : stored;
};

/** Finds the app of an authentic notification, uses the notification, and notes it. A refused one writes nothing. */
const receive = async (
  ports: IosStoreReception,
  notification: Notification,
  moment: Instant,
): Promise<NotificationUse> => {
  const { bundleId: bundleOrPackage, environment, signedAt } = notification;
  const reference = { store: "ios-store", bundleOrPackage } as const;
  const application = await applicationOfStore(ports.directory, reference);
  const configuration = iosStoreConfigurationOf(application, bundleOrPackage);
  const context = { ports, application, configuration, notification, moment };
  const refused = checkAppTransactionClaims(notification, configuration);
  if (refused?.code === "ENVIRONMENT_NOT_ACCEPTED") {
    await forward(context);
    return "UNUSED";
  }
  if (refused !== null) throw new ServiceError("INVALID_NOTIFICATION", { because: refused.because });
  const outcome = await use(context);
  await ports.note({ application: application.identifier, environment, ...reference }, signedAt);
  return outcome;
};

/**
 * Takes an App Store Server Notification: verifies it, stores its facts, links nothing, and passes on what the store
 * asks. Its type decides no fact, so a replay writes none. Each part counts by itself.
 *
 * @throws ServiceError the errors of the endpoint; an unexpected failure is `STORE_UNAVAILABLE`: it is sent again
 */
export const receiveIosStoreNotification = async (
  ports: IosStoreReception,
  { signedPayload }: IosStoreNotificationRequest,
): Promise<NotificationResponse> => {
  const failed = (type: string | null) => failNotification(ports, ANSWERED, type);
  const moment = ports.now();
  const verdict = await ports.notificationVerifier.verifyNotification(
    signedPayload,
    appStoreTrust(ports),
    moment,
  );
  if (verdict.outcome === "rejected") {
    if (!isForgery(verdict.reason)) return failed(null)(new ServiceError("INVALID_NOTIFICATION"));
    ports.onReceived({ outcome: "FORGED", type: null });
    throw new ServiceError("INVALID_NOTIFICATION");
  }
  const { type } = verdict.payload;
  const outcome = await receive(ports, verdict.payload, moment).catch(failed(type));
  ports.onReceived({ outcome, type });
  return {};
};
