import type { Store } from "../../lib/contract/schemas.ts";
import type { CustomerTable } from "../../lib/customers/storing/customer-table.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AndroidStore } from "../../lib/stores/android-store/android-store.ts";
import type { PushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import type { AppStoreServer } from "../../lib/stores/ios-store/server-api/app-store-server.ts";
import type { Rejection } from "../../lib/stores/ios-store/signatures/verdict.ts";
import type { IosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import type { Observer } from "./observe.ts";

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

export const observedVerifier = (verifier: IosStoreVerifier, observer?: Observer): IosStoreVerifier => {
  const seen = <Given extends readonly unknown[], Found extends Verdict>(
    verify: (...given: Given) => Promise<Found>,
  ) =>
    reporting(verify, (verdict) => {
      if (verdict.outcome === "rejected") observer?.verificationFailed(verdict.reason);
    });
  return {
    verifyAppTransaction: seen(verifier.verifyAppTransaction),
    verifyTransaction: seen(verifier.verifyTransaction),
    verifyTransactions: reporting(seen(verifier.verifyTransactions), (verdict) => {
      if (verdict.outcome === "verified") observer?.transactionsVerified(verdict.payload.length);
    }),
    verifyRenewalInfos: seen(verifier.verifyRenewalInfos),
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
    transaction: timed(store.transaction),
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
