import type { CustomerTable } from "../../lib/customers/customer-table.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { AndroidStore } from "../../lib/stores/android-store/android-store.ts";
import type { Failure } from "../../lib/stores/android-store/failure.ts";
import type { Rejection } from "../../lib/stores/ios-store/verdict.ts";
import type { IosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";

/**
 * What happens inside a request that is worth counting. No event holds anything of a purchase, of a credential, or of
 * an account.
 */
export type ServiceEvent =
  /** A JWS was refused. */
  | { readonly kind: "verification-failed"; readonly reason: Rejection }
  /** Transactions of a request that were verified, each once. */
  | { readonly kind: "transactions-verified"; readonly transactions: number }
  /** The application is known, and its table is asked about so many purchases. */
  | { readonly kind: "facts-resolved"; readonly application: ApplicationId; readonly purchases: number }
  | {
      readonly kind: "store-asked";
      readonly store: "android-store";
      readonly outcome: "answered" | "unavailable" | "credential-rejected";
      readonly milliseconds: number;
      /** What the store said where it gave no answer about the purchase: HTTP status and a single word of its own. */
      readonly status: number | null;
      readonly reason: string | null;
    }
  /** The store did not take an acknowledgement, as which of its failures, and what it said. */
  | {
      readonly kind: "acknowledgement-due";
      readonly because: Failure["outcome"];
      readonly status: number | null;
      readonly reason: string | null;
    }
  | { readonly kind: "conflict-retried" };

export type Observe = (event: ServiceEvent) => void;

/** The same writer, whose conflicts are seen. */
export const observedWrite =
  <Given extends readonly unknown[]>(
    write: (...given: Given) => Promise<"written" | "conflict">,
    observe: Observe,
  ) =>
  async (...given: Given): Promise<"written" | "conflict"> => {
    const outcome = await write(...given);
    if (outcome === "conflict") observe({ kind: "conflict-retried" });
    return outcome;
  };

/** The same table, whose questions about purchases are seen. */
export const observedCustomerTable = (table: CustomerTable, observe: Observe): CustomerTable => ({
  ...table,
  findFacts: (application, identities, purchases, moment) => {
    observe({ kind: "facts-resolved", application, purchases: purchases.length });
    return table.findFacts(application, identities, purchases, moment);
  },
});

/** The same verifier, whose refusals are seen. */
export const observedVerifier = (verifier: IosStoreVerifier, observe: Observe): IosStoreVerifier => {
  const seen = <Verdict extends { outcome: "verified" } | { outcome: "rejected"; reason: Rejection }>(
    verdict: Verdict,
  ): Verdict => {
    if (verdict.outcome === "rejected") observe({ kind: "verification-failed", reason: verdict.reason });
    return verdict;
  };
  return {
    verifyAppTransaction: async (...given) => seen(await verifier.verifyAppTransaction(...given)),
    verifyTransaction: async (...given) => seen(await verifier.verifyTransaction(...given)),
    verifyTransactions: async (...given) => {
      const verdict = seen(await verifier.verifyTransactions(...given));
      if (verdict.outcome === "verified")
        observe({ kind: "transactions-verified", transactions: verdict.payload.length });
      return verdict;
    },
  };
};

/** The same store, whose answers and silences are timed. */
export const observedAndroidStore = (
  store: AndroidStore,
  observe: Observe,
  now: () => Instant,
): AndroidStore => ({
  lookUp: async (androidPackage, request) => {
    const asked = now();
    const answer = await store.lookUp(androidPackage, request);
    const { outcome } = answer;
    observe({
      kind: "store-asked",
      store: "android-store",
      outcome: outcome === "unavailable" || outcome === "credential-rejected" ? outcome : "answered",
      milliseconds: now() - asked,
      status: answer.outcome === "verified" ? null : answer.status,
      reason: answer.outcome === "verified" ? null : answer.reason,
    });
    return answer;
  },
  acknowledge: async (androidPackage, pending) => {
    const answer = await store.acknowledge(androidPackage, pending);
    if (answer.outcome === "due") {
      const { because, status, reason } = answer;
      observe({ kind: "acknowledgement-due", because, status, reason });
    }
    return answer;
  },
});
