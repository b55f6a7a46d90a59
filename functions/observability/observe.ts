import { AsyncLocalStorage } from "node:async_hooks";
import type { Store } from "../../lib/contract/schemas.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { UngrantedProduct } from "../../lib/entitlements/ungranted.ts";
import { count, time } from "./metrics.ts";
import type { Observe } from "./observation.ts";

/** Observations of the current request. */
export interface Observations {
  readonly application?: ApplicationId;
  /** Distinct signed transactions that were verified. */
  readonly transactions?: number;
  /** Purchases that the request names. */
  readonly purchases?: number;
  readonly storeMilliseconds?: number;
  /** The store's failure: HTTP status and its one-word reason. */
  readonly storeStatus?: number;
  readonly storeReason?: string;
  readonly conflicts?: number;
  readonly acknowledgementDue?: true;
  /** Notification type in the store's own words. */
  readonly notificationType?: string;
  /** Why a JWS or a push token was rejected. */
  readonly refusedBecause?: string;
  /** The first of its purchases' products that grant nothing. */
  readonly grantsNothing?: readonly UngrantedProduct[];
}

const PRODUCTS_LOGGED = 10;

/** Observations of each request that is under way. Other invocations have none, and keep nothing. */
const requests = new AsyncLocalStorage<{ observations: Observations }>();

/** A handler whose requests keep their observations, each its own. */
export const keepingObservations =
  <Given extends readonly unknown[], Answer>(
    handler: (...given: Given) => Promise<Answer>,
  ): ((...given: Given) => Promise<Answer>) =>
  async (...given) =>
    requests.run({ observations: {} }, async () => handler(...given));

/** Observations of the request that is under way here. */
export const observations = (): Observations => requests.getStore()?.observations ?? {};

const keep = (more: Observations): void => {
  const request = requests.getStore();
  if (request !== undefined) request.observations = { ...request.observations, ...more };
};

/** The store's failure, as observations. */
const saidBy = ({ status, reason }: { readonly status: number | null; readonly reason: string | null }) => ({
  ...(status !== null && { storeStatus: status }),
  ...(reason !== null && { storeReason: reason }),
});

const countStoreError = (store: Store, reason: "unavailable" | "credential-rejected"): void => {
  count("storeErrors", { store, reason });
  if (reason === "credential-rejected") count("storeCredentialsRejected");
};

/** Outcomes of notifications that the App Store signed. */
const REFUSED_NOTIFICATIONS: ReadonlySet<string> = new Set(["INVALID_NOTIFICATION", "PARTLY_UNDERSTOOD"]);

/** Counts an event, and keeps it for the request's log line. */
export const observe: Observe = (event) => {
  switch (event.kind) {
    case "verification-failed":
      keep({ refusedBecause: event.reason });
      return count("verificationFailures", { reason: event.reason });
    case "transactions-verified":
      keep({ transactions: event.transactions });
      return;
    case "facts-resolved":
      keep({ application: event.application, purchases: event.purchases });
      return;
    case "store-asked":
      keep({ storeMilliseconds: event.milliseconds, ...saidBy(event) });
      if (event.outcome === "answered")
        return time("storeLatency", event.milliseconds, { store: event.store });
      return countStoreError(event.store, event.outcome);
    case "acknowledgement-due":
      keep({ acknowledgementDue: true, ...saidBy(event) });
      // The queue has its own metrics, but none for a credential that may read but not acknowledge.
      if (event.because === "credential-rejected") countStoreError("android-store", event.because);
      return;
    case "notification":
      if (event.type !== null) keep({ notificationType: event.type });
      if (event.store === "ios-store" && REFUSED_NOTIFICATIONS.has(event.outcome))
        count("notificationsRefused");
      return count("notifications", { store: event.store, outcome: event.outcome });
    case "grants-nothing":
      keep({ grantsNothing: event.products.slice(0, PRODUCTS_LOGGED) });
      for (const { store, because } of event.products) count("ungrantedProducts", { store, reason: because });
      return;
    case "conflict-retried":
      keep({ conflicts: (observations().conflicts ?? 0) + 1 });
      return count("conflictsRetried");
  }
};
