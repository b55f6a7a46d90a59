import type { Store } from "../../lib/contract/schemas.ts";
import type { CustomerTable } from "../../lib/customers/storing/customer-table.ts";
import type { ReceivedNotification } from "../../lib/customers/notifications/notification-use.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { UngrantedProduct } from "../../lib/entitlements/ungranted.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { AndroidStore } from "../../lib/stores/android-store/android-store.ts";
import type { Failure } from "../../lib/stores/android-store/failure.ts";
import type { PushTokenRejection, PushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import type {
  AppStoreAnswer,
  AppStoreServer,
} from "../../lib/stores/ios-store/server-api/app-store-server.ts";
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

/** Wraps a verifier to report rejections and verified transactions. */
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
    verifyRenewalInfos: async (...given) => seen(await verifier.verifyRenewalInfos(...given)),
    verifyNotification: async (...given) => seen(await verifier.verifyNotification(...given)),
    verifyNotificationParts: async (...given) => seen(await verifier.verifyNotificationParts(...given)),
  };
};

/** Wraps a verifier of push tokens to report rejections. */
export const observedPushTokens = (verifier: PushTokenVerifier, observe: Observe): PushTokenVerifier => ({
  verify: async (...given) => {
    const verdict = await verifier.verify(...given);
    if (verdict.outcome === "rejected") observe({ kind: "verification-failed", reason: verdict.reason });
    if (verdict.outcome === "unavailable")
      observe({ kind: "verification-failed", reason: "push_token_keys" });
    return verdict;
  },
  disagreement: (...given) => {
    const reason = verifier.disagreement(...given);
    if (reason !== null) observe({ kind: "verification-failed", reason });
    return reason;
  },
});

/** Wraps the App Store Server API to time its answers and report missing ones. */
export const observedAppStore = (
  store: AppStoreServer,
  observe: Observe,
  now: () => Instant,
): AppStoreServer => {
  const seen =
    <Given extends readonly unknown[], Content>(
      ask: (...given: Given) => Promise<AppStoreAnswer<Content>>,
    ): ((...given: Given) => Promise<AppStoreAnswer<Content>>) =>
    async (...given) => {
      const asked = now();
      const answer = await ask(...given);
      const { outcome } = answer;
      observe({
        kind: "store-asked",
        store: "ios-store",
        outcome: outcome === "unavailable" || outcome === "credential-rejected" ? outcome : "answered",
        milliseconds: now() - asked,
        status: outcome === "answered" ? null : answer.status,
        reason: outcome === "answered" ? null : answer.reason,
      });
      return answer;
    };
  return {
    subscriptionStatuses: seen(store.subscriptionStatuses),
    transaction: seen(store.transaction),
    transactionHistory: seen(store.transactionHistory),
    notificationHistory: seen(store.notificationHistory),
  };
};

/** Wraps a store to time its lookups and report acknowledgements that stay due. */
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
  voidedPurchases: async (...given) => {
    const asked = now();
    const answer = await store.voidedPurchases(...given);
    observe({
      kind: "store-asked",
      store: "android-store",
      outcome: answer.outcome,
      milliseconds: now() - asked,
      status: answer.outcome === "answered" ? null : answer.status,
      reason: answer.outcome === "answered" ? null : answer.reason,
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
