import type { Store } from "../../lib/contract/schemas.ts";
import type { CustomerTable } from "../../lib/customers/storing/customer-table.ts";
import type { ReceivedNotification } from "../../lib/customers/notifications/notification-use.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { UngrantedProduct } from "../../lib/entitlements/ungranted.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { AndroidStore } from "../../lib/stores/android-store/android-store.ts";
import type { Failure } from "../../lib/stores/android-store/failure.ts";
import type { PushTokenRejection, PushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import type { AppStoreServer } from "../../lib/stores/ios-store/server-api/app-store-server.ts";
import type { Rejection } from "../../lib/stores/ios-store/signatures/verdict.ts";
import type { IosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";

/** Why a JWS or a push token was not accepted; `push_token_keys` is not the token's fault. */
type RefusalReason = Rejection | PushTokenRejection | "push_token_keys";

/** Event worth counting. It holds no data of a purchase, a credential or an account. */
export type ServiceEvent =
  /** A JWS or a push token was rejected. */
  | { readonly kind: "verification-failed"; readonly reason: RefusalReason }
  /** A request's distinct transactions were verified. */
  | { readonly kind: "transactions-verified"; readonly transactions: number }
  /** The application is known, and the table is asked about this many purchases. */
  | { readonly kind: "facts-resolved"; readonly application: ApplicationId; readonly purchases: number }
  | {
      readonly kind: "store-asked";
      readonly store: Store;
      readonly outcome: "answered" | "unavailable" | "credential-rejected";
      readonly milliseconds: number;
      /** HTTP status and one-word reason; null for a successful answer. */
      readonly status: number | null;
      readonly reason: string | null;
    }
  /** The store did not accept an acknowledgement: kind of failure, HTTP status and reason. */
  | {
      readonly kind: "acknowledgement-due";
      readonly because: Failure["outcome"];
      readonly status: number | null;
      readonly reason: string | null;
    }
  /** A store's notification was received. */
  | ({ readonly kind: "notification"; readonly store: Store } & ReceivedNotification)
  /** Verified purchases name products that grant nothing. */
  | { readonly kind: "grants-nothing"; readonly products: readonly UngrantedProduct[] }
  | { readonly kind: "conflict-retried" };

export type Observe = (event: ServiceEvent) => void;

/** Wraps a writer to report its conflicts. */
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

/** Wraps a customer table to report its reads of facts. */
export const observedCustomerTable = (table: CustomerTable, observe: Observe): CustomerTable => ({
  ...table,
  findFacts: (application, identities, purchases, moment) => {
    observe({ kind: "facts-resolved", application, purchases: purchases.length });
    return table.findFacts(application, identities, purchases, moment);
  },
});

type Verdict =
  { readonly outcome: "verified" } | { readonly outcome: "rejected"; readonly reason: Rejection };

/** Wraps a verifier to report rejections and verified transactions. */
export const observedVerifier = (verifier: IosStoreVerifier, observe: Observe): IosStoreVerifier => {
  const seen =
    <Given extends readonly unknown[], Found extends Verdict>(verify: (...given: Given) => Promise<Found>) =>
    async (...given: Given): Promise<Found> => {
      const verdict = await verify(...given);
      if (verdict.outcome === "rejected") observe({ kind: "verification-failed", reason: verdict.reason });
      return verdict;
    };
  const verifyTransactions = seen(verifier.verifyTransactions);
  return {
    verifyAppTransaction: seen(verifier.verifyAppTransaction),
    verifyTransaction: seen(verifier.verifyTransaction),
    verifyTransactions: async (...given) => {
      const verdict = await verifyTransactions(...given);
      if (verdict.outcome === "verified")
        observe({ kind: "transactions-verified", transactions: verdict.payload.length });
      return verdict;
    },
    verifyRenewalInfos: seen(verifier.verifyRenewalInfos),
    verifyNotification: seen(verifier.verifyNotification),
    verifyNotificationParts: seen(verifier.verifyNotificationParts),
  };
};

/** Wraps a verifier of push tokens to report rejections. */
export const observedPushTokens = (verifier: PushTokenVerifier, observe: Observe): PushTokenVerifier => ({
  verify: async (...given) => {
    const verdict = await verifier.verify(...given);
    if (verdict.outcome !== "verified")
      observe({
        kind: "verification-failed",
        reason: verdict.outcome === "rejected" ? verdict.reason : "push_token_keys",
      });
    return verdict;
  },
  disagreement: (...given) => {
    const reason = verifier.disagreement(...given);
    if (reason !== null) observe({ kind: "verification-failed", reason });
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
  (store: Store, observe: Observe, now: () => Instant) =>
  <Given extends readonly unknown[], Answer extends StoreAnswer>(ask: (...given: Given) => Promise<Answer>) =>
  async (...given: Given): Promise<Answer> => {
    const asked = now();
    const answer = await ask(...given);
    const { outcome, status = null, reason = null }: StoreAnswer = answer;
    observe({
      kind: "store-asked",
      store,
      outcome: outcome === "unavailable" || outcome === "credential-rejected" ? outcome : "answered",
      milliseconds: now() - asked,
      status,
      reason,
    });
    return answer;
  };

export const observedAppStore = (
  store: AppStoreServer,
  observe: Observe,
  now: () => Instant,
): AppStoreServer => {
  const timed = timing("ios-store", observe, now);
  return {
    subscriptionStatuses: timed(store.subscriptionStatuses),
    transaction: timed(store.transaction),
    transactionHistory: timed(store.transactionHistory),
    notificationHistory: timed(store.notificationHistory),
  };
};

/** Also reports acknowledgements that stay due. */
export const observedAndroidStore = (
  store: AndroidStore,
  observe: Observe,
  now: () => Instant,
): AndroidStore => {
  const timed = timing("android-store", observe, now);
  return {
    lookUp: timed(store.lookUp),
    voidedPurchases: timed(store.voidedPurchases),
    acknowledge: async (androidPackage, pending) => {
      const answer = await store.acknowledge(androidPackage, pending);
      if (answer.outcome !== "acknowledged") {
        const { outcome: because, status, reason } = answer;
        observe({ kind: "acknowledgement-due", because, status, reason });
      }
      return answer;
    },
  };
};
