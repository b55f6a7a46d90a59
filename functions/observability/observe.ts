import { AsyncLocalStorage } from "node:async_hooks";
import type { Store } from "../../lib/contract/schemas.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { ReceivedNotification } from "../../lib/customers/notifications.ts";
import type { UngrantedProduct } from "../../lib/entitlements/catalog.ts";
import type { Failure } from "../../lib/stores/android-store/failure.ts";
import type { PushTokenRejection, PushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import type { Rejection } from "../../lib/stores/ios-store/signatures/verdict.ts";
import type { StoreFailure } from "../../lib/stores/store-client.ts";
import { count, time } from "./metrics.ts";
import type { CustomerTable } from "../../lib/customers/storing/fact-store.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AndroidStore } from "../../lib/stores/android-store/android-store.ts";
import type { AppStoreServer } from "../../lib/stores/ios-store/app-store-server.ts";
import type { NotificationVerifier } from "../../lib/stores/ios-store/notification.ts";
import type { IosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";

interface Observations {
  readonly application?: ApplicationId;
  readonly transactions?: number;
  /** Purchases that the request names. */
  readonly purchases?: number;
  readonly storeMilliseconds?: number;
  readonly storeStatus?: number;
  readonly storeReason?: string;
  readonly conflicts?: number;
  readonly acknowledgementDue?: true;
  /** Notification type in the store's own words. */
  readonly notificationType?: string;
  readonly refusedBecause?: string;
  /** The first of its purchases' products that grant nothing. */
  readonly grantsNothing?: readonly UngrantedProduct[];
}

const PRODUCTS_LOGGED = 10;

/** Observations of each request that is under way. Other invocations have none, and keep nothing. */
const requests = new AsyncLocalStorage<{ observations: Observations }>();

/** A handler whose requests have observations, each its own. */
export const keepingObservations =
  <Given extends readonly unknown[], Answer>(
    handler: (...given: Given) => Promise<Answer>,
  ): ((...given: Given) => Promise<Answer>) =>
  async (...given) =>
    requests.run({ observations: {} }, async () => handler(...given));

export const observations = (): Observations => requests.getStore()?.observations ?? {};

const keep = (more: Observations): void => {
  const request = requests.getStore();
  if (request !== undefined) request.observations = { ...request.observations, ...more };
};

/** HTTP status and one-word reason of a store's answer; null: none. */
type StoreReply = Pick<StoreFailure, "status" | "reason">;

const keepReply = ({ status, reason }: StoreReply): void =>
  keep({
    ...(status !== null && { storeStatus: status }),
    ...(reason !== null && { storeReason: reason }),
  });

const countStoreError = (store: Store, reason: "unavailable" | "credential-rejected"): void => {
  count("storeErrors", { store, reason });
  if (reason === "credential-rejected") count("storeCredentialsRejected");
};

/** Outcomes of notifications that the App Store signed. */
const REFUSED_NOTIFICATIONS: ReadonlySet<string> = new Set(["INVALID_NOTIFICATION", "PARTLY_UNDERSTOOD"]);

/**
 * Counts what happens, and keeps it for the request's log line. It is told no data of a purchase, a credential or an
 * account.
 */
export const observer = {
  /** A JWS or a push token was rejected; `push_token_keys` is not the token's fault. */
  verificationFailed: (reason: Rejection | PushTokenRejection | "push_token_keys"): void => {
    keep({ refusedBecause: reason });
    count("verificationFailures", { reason });
  },
  /** A request's distinct transactions were verified. */
  transactionsVerified: (transactions: number): void => keep({ transactions }),
  /** The application is known, and the table is asked about this many purchases. */
  factsResolved: (application: ApplicationId, purchases: number): void => keep({ application, purchases }),
  storeAsked: (
    store: Store,
    outcome: "answered" | "unavailable" | "credential-rejected",
    milliseconds: number,
    reply: StoreReply,
  ): void => {
    keep({ storeMilliseconds: milliseconds });
    keepReply(reply);
    if (outcome === "answered") time("storeLatency", milliseconds, { store });
    else countStoreError(store, outcome);
  },
  /** Google did not accept an acknowledgement. */
  acknowledgementDue: (because: Failure["outcome"], reply: StoreReply): void => {
    keep({ acknowledgementDue: true });
    keepReply(reply);
    // The queue has its own metrics, but none for a credential that may read but not acknowledge.
    if (because === "credential-rejected") countStoreError("android-store", because);
  },
  notificationReceived: (store: Store, { type, outcome }: ReceivedNotification): void => {
    if (type !== null) keep({ notificationType: type });
    if (store === "ios-store" && REFUSED_NOTIFICATIONS.has(outcome)) count("notificationsRefused");
    count("notifications", { store, outcome });
  },
  /** Verified purchases name products that grant nothing. */
  productsUngranted: (products: readonly UngrantedProduct[]): void => {
    keep({ grantsNothing: products.slice(0, PRODUCTS_LOGGED) });
    for (const { store, because } of products) count("ungrantedProducts", { store, reason: because });
  },
  conflictRetried: (): void => {
    keep({ conflicts: (observations().conflicts ?? 0) + 1 });
    count("conflictsRetried");
  },
};

export type Observer = typeof observer;

/** The same function, whose results are also reported. */
const reporting =
  <Given extends readonly unknown[], Result>(
    act: (...given: Given) => Promise<Result>,
    report: (result: Result) => void,
  ) =>
  async (...given: Given): Promise<Result> => {
    const result = await act(...given);
    report(result);
    return result;
  };

export const observedWrite = <Given extends readonly unknown[]>(
  write: (...given: Given) => Promise<"written" | "conflict">,
  observer?: Observer,
) =>
  reporting(write, (outcome) => {
    if (outcome === "conflict") observer?.conflictRetried();
  });

export const observedCustomerTable = (table: CustomerTable, observer?: Observer): CustomerTable => ({
  ...table,
  findFacts: (application, identities, purchases, moment) => {
    observer?.factsResolved(application, purchases.length);
    return table.findFacts(application, identities, purchases, moment);
  },
});

type Verdict =
  { readonly outcome: "verified" } | { readonly outcome: "rejected"; readonly reason: Rejection };

/** The same verification, whose refusals are also reported. */
const refusals =
  (observer?: Observer) =>
  <Given extends readonly unknown[], Found extends Verdict>(verify: (...given: Given) => Promise<Found>) =>
    reporting(verify, (verdict) => {
      if (verdict.outcome === "rejected") observer?.verificationFailed(verdict.reason);
    });

export const observedVerifier = (verifier: IosStoreVerifier, observer?: Observer): IosStoreVerifier => {
  const seen = refusals(observer);
  return {
    verifyAppTransaction: seen(verifier.verifyAppTransaction),
    verifyTransactions: reporting(seen(verifier.verifyTransactions), (verdict) => {
      if (verdict.outcome === "verified") observer?.transactionsVerified(verdict.payload.length);
    }),
    verifyRenewalInfos: seen(verifier.verifyRenewalInfos),
  };
};

export const observedNotifications = (
  verifier: NotificationVerifier,
  observer?: Observer,
): NotificationVerifier => {
  const seen = refusals(observer);
  return {
    verifyNotification: seen(verifier.verifyNotification),
    verifyNotificationParts: seen(verifier.verifyNotificationParts),
  };
};

export const observedPushTokens = (verifier: PushTokenVerifier, observer?: Observer): PushTokenVerifier => ({
  verify: reporting(verifier.verify, (verdict) => {
    if (verdict.outcome !== "verified")
      observer?.verificationFailed(verdict.outcome === "rejected" ? verdict.reason : "push_token_keys");
  }),
  disagreement: (...given) => {
    const reason = verifier.disagreement(...given);
    if (reason !== null) observer?.verificationFailed(reason);
    return reason;
  },
});

interface StoreAnswer {
  readonly outcome: string;
  readonly status?: number | null;
  readonly reason?: string | null;
}

/** Wraps questions to a store to time its answers and report missing ones. */
const timing =
  (store: Store, now: () => Instant, observer?: Observer) =>
  <Given extends readonly unknown[], Answer extends StoreAnswer>(ask: (...given: Given) => Promise<Answer>) =>
  async (...given: Given): Promise<Answer> => {
    const asked = now();
    const answer = await ask(...given);
    const { outcome, status = null, reason = null }: StoreAnswer = answer;
    const isMissing = outcome === "unavailable" || outcome === "credential-rejected";
    observer?.storeAsked(store, isMissing ? outcome : "answered", now() - asked, { status, reason });
    return answer;
  };

export const observedAppStore = (
  store: AppStoreServer,
  now: () => Instant,
  observer?: Observer,
): AppStoreServer => {
  const timed = timing("ios-store", now, observer);
  return {
    subscriptionStatuses: timed(store.subscriptionStatuses),
    transactionHistory: timed(store.transactionHistory),
    notificationHistory: timed(store.notificationHistory),
  };
};

export const observedAndroidStore = (
  store: AndroidStore,
  now: () => Instant,
  observer?: Observer,
): AndroidStore => {
  const timed = timing("android-store", now, observer);
  return {
    lookUp: timed(store.lookUp),
    voidedPurchases: timed(store.voidedPurchases),
    acknowledge: reporting(store.acknowledge, (answer) => {
      if (answer.outcome !== "acknowledged") observer?.acknowledgementDue(answer.outcome, answer);
    }),
  };
};
