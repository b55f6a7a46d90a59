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

// An execution environment serves one request at a time.
let current: Observations = {};

/** Returns the observations since the last call and clears them. */
export const takeObservations = (): Observations => {
  const taken = current;
  current = {};
  return taken;
};

/** The store's failure, as observations. */
const saidBy = ({ status, reason }: { readonly status: number | null; readonly reason: string | null }) => ({
  ...(status !== null && { storeStatus: status }),
  ...(reason !== null && { storeReason: reason }),
});

/** Counts an event, and keeps it for the request's log line. */
export const observe: Observe = (event) => {
  switch (event.kind) {
    case "verification-failed":
      current = { ...current, refusedBecause: event.reason };
      return count("verificationFailures", { reason: event.reason });
    case "transactions-verified":
      current = { ...current, transactions: event.transactions };
      return;
    case "facts-resolved":
      current = { ...current, application: event.application, purchases: event.purchases };
      return;
    case "store-asked":
      current = { ...current, storeMilliseconds: event.milliseconds, ...saidBy(event) };
      if (event.outcome === "answered")
        return time("storeLatency", event.milliseconds, { store: event.store });
      return count("storeErrors", { store: event.store, reason: event.outcome });
    case "acknowledgement-due":
      current = { ...current, acknowledgementDue: true, ...saidBy(event) };
      // The queue has its own metrics, but none for a credential that may read but not acknowledge.
      if (event.because === "credential-rejected")
        count("storeErrors", { store: "android-store", reason: event.because });
      return;
    case "notification":
      if (event.type !== null) current = { ...current, notificationType: event.type };
      return count("notifications", { store: event.store, outcome: event.outcome });
    case "grants-nothing":
      current = { ...current, grantsNothing: event.products.slice(0, PRODUCTS_LOGGED) };
      for (const { store, because } of event.products) count("ungrantedProducts", { store, reason: because });
      return;
    case "conflict-retried":
      current = { ...current, conflicts: (current.conflicts ?? 0) + 1 };
      return count("conflictsRetried");
  }
};
