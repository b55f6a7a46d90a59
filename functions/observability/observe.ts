import type { ApplicationId } from "../../lib/identifiers.ts";
import { count, time } from "./metrics.ts";
import type { Observe } from "./observation.ts";

/** What was seen of the request that is being served. */
export interface Observations {
  readonly application?: ApplicationId;
  /** Signed transactions that were verified, each once. */
  readonly transactions?: number;
  /** Purchases that the request is about. */
  readonly purchases?: number;
  readonly storeMilliseconds?: number;
  /** What the store said where it did not do as it was asked: HTTP status and a single word of its own. */
  readonly storeStatus?: number;
  readonly storeReason?: string;
  readonly conflicts?: number;
  readonly acknowledgementDue?: true;
  /** Why a JWS was refused. */
  readonly refusedBecause?: string;
}

// An environment serves one request at a time.
let current: Observations = {};

/** What was seen since it was taken last. */
export const takeObservations = (): Observations => {
  const taken = current;
  current = {};
  return taken;
};

/** What the store said where it did not do as it was asked. */
const saidBy = ({ status, reason }: { readonly status: number | null; readonly reason: string | null }) => ({
  ...(status !== null && { storeStatus: status }),
  ...(reason !== null && { storeReason: reason }),
});

/** Counts what happens in the library, and keeps it for the request's line in the log. */
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
      // It stays in the queue, which has metrics of its own; but nobody else tells of a credential that may only read.
      if (event.because === "credential-rejected")
        count("storeErrors", { store: "android-store", reason: event.because });
      return;
    case "conflict-retried":
      current = { ...current, conflicts: (current.conflicts ?? 0) + 1 };
      return count("conflictsRetried");
  }
};
