import type { IosStoreConfiguration } from "../applications/application.ts";
import { joinAll } from "../entitlements/join.ts";
import { unsettledSince } from "../entitlements/next-ask.ts";
import { referenceText, type Purchase, type PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { disagreement } from "../stores/ios-store/agreement.ts";
import type {
  AppStoreAnswer,
  AppStoreApp,
  AppStoreServer,
  SignedFacts,
} from "../stores/ios-store/app-store-server.ts";
import { distinctJws } from "../stores/ios-store/jws.ts";
import { appTransactionIdentityOf, purchasesOf } from "../stores/ios-store/purchases.ts";
import { renewalsOf, type StatedRenewalInfo } from "../stores/ios-store/renewal-info.ts";
import type { Transaction } from "../stores/ios-store/transaction.ts";
import type { Trust } from "../stores/ios-store/trust.ts";
import type { VerifyAll } from "../stores/ios-store/verifier.ts";
import type { IosStoreCustomers } from "./ios-store-request.ts";
import { iosStoreOrigin, statedPurchases, type VerifiedFacts } from "./verified-facts.ts";

export interface AppStoreQuestions extends IosStoreCustomers {
  readonly appStore: AppStoreServer;
}

type Asked = AppStoreAnswer<SignedFacts>;

/** Maximum number of history pages read. The latest changes come first, refunds among them. */
const HISTORY_PAGES = 20;

/** Time after which a refresh asks nothing more and stores the answers it has. One question takes up to 10 seconds. */
const ASKING_MILLISECONDS = 15_000;

/** All transactions of a person, including copies of one purchase that restores made. */
const askHistory = async (
  { appStore, now }: AppStoreQuestions,
  app: AppStoreApp,
  transactionIdentifier: string,
  until: Instant,
): Promise<Asked> => {
  const signedTransactions: string[] = [];
  let revision: string | null = null;
  for (let page = 1; page <= HISTORY_PAGES; page += 1) {
    const answer = await appStore.transactionHistory(app, transactionIdentifier, revision);
    if (answer.outcome !== "answered") return answer;
    signedTransactions.push(...answer.content.signedTransactions);
    revision = answer.content.next;
    if (revision === null || now() >= until) break;
  }
  return {
    outcome: "answered",
    content: { signedTransactions, signedRenewalInfos: [] },
  };
};

const isSubscription = ({ lines }: Purchase): boolean =>
  lines.some(({ nature }) => nature === "auto_renewable");

/** The facts of one lineage alone, without identities: the person's other purchases may be an erased customer's. */
export const ofLineage = (facts: VerifiedFacts, lineage: PurchaseReference): VerifiedFacts => {
  const isOf = (purchase: PurchaseReference): boolean => referenceText(purchase) === referenceText(lineage);
  return {
    ...facts,
    identities: [],
    purchases: facts.purchases
      .filter(({ purchase }) => isOf(purchase))
      .map((proven) => ({ ...proven, identity: null })),
    renewals: facts.renewals.filter(isOf),
  };
};

/**
 * Payloads that verify, each with its JWS. One that does not, such as a transaction of an unknown product type, must not
 * block the others: Apple composes the answer, so nobody can leave it out.
 */
const verifyEach = async <Payload>(
  verify: VerifyAll<Payload>,
  compacts: readonly string[],
  trust: Trust,
  moment: Instant,
): Promise<readonly { readonly jws: string; readonly payload: Payload }[]> => {
  const distinct = distinctJws(compacts);
  const together = await verify(distinct, trust, moment);
  const payloads =
    together.outcome !== "rejected"
      ? together.payload
      : await Promise.all(
          distinct.map(async (one) => {
            const alone = await verify([one], trust, moment);
            return alone.outcome === "rejected" ? undefined : alone.payload[0];
          }),
        );
  return distinct.flatMap((jws, index) => {
    const payload = payloads[index];
    return payload === undefined ? [] : [{ jws, payload }];
  });
};

/**
 * The verified facts of an answer; null: it says nothing that verifies about the purchase that was asked about, or is of
 * another app. If an answer is about several persons, as after a migration of an Apple Account, only the lineage that was
 * asked about counts.
 */
export const verifiedFactsOf = async (
  { verifier, trustedRoots, now }: Pick<AppStoreQuestions, "verifier" | "trustedRoots" | "now">,
  configuration: IosStoreConfiguration,
  { bundleIdentifier, environment }: AppStoreApp,
  lineage: PurchaseReference,
  { signedTransactions, signedRenewalInfos, signedInGrace = [] }: SignedFacts,
  askedAt: Instant,
): Promise<VerifiedFacts | null> => {
  const trust: Trust = { roots: trustedRoots, xcodeCertificates: new Set() };
  const moment = now();
  const signed = await verifyEach(verifier.verifyTransactions, signedTransactions, trust, moment);
  const transactions = signed.map(({ payload }) => payload);
  const infos = await verifyEach(verifier.verifyRenewalInfos, signedRenewalInfos, trust, moment);
  const renewalInfos = infos.map(({ jws, payload }): StatedRenewalInfo => ({
    ...payload,
    isInGrace: signedInGrace.includes(jws),
  }));
  const origin = { ...iosStoreOrigin(configuration, askedAt), askedAbout: lineage.key };
  const first = { bundleIdentifier, environment, appTransactionIdentifier: null };
  const factsOf = (
    told: readonly Transaction[],
    infos: readonly StatedRenewalInfo[],
  ): VerifiedFacts | null => {
    if (disagreement(first, [...told, ...infos]) !== null) return null;
    const identity = appTransactionIdentityOf(told);
    return {
      environment,
      identities: identity === null ? [] : [identity],
      purchases: purchasesOf(told),
      renewals: renewalsOf(infos, told),
      acknowledgementDue: null,
      origin,
    };
  };
  const isOf = ({ originalTransactionIdentifier }: { originalTransactionIdentifier: string }): boolean =>
    originalTransactionIdentifier === lineage.key;
  const all = factsOf(transactions, renewalInfos);
  if (all !== null) return all;
  const alone = factsOf(transactions.filter(isOf), renewalInfos.filter(isOf));
  return alone === null || alone.purchases.length === 0 ? null : ofLineage(alone, lineage);
};

/** Whether a purchase stays unsettled with these facts. */
const isUnsettled = (purchase: Purchase, facts: VerifiedFacts, askedAt: Instant): boolean => {
  const isOf = (one: Purchase): boolean => referenceText(one) === referenceText(purchase);
  const joined = joinAll([purchase, ...[...statedPurchases(facts), ...facts.renewals].filter(isOf)]);
  return joined.some((one) => unsettledSince(one, askedAt) !== null);
};

/**
 * Asks about a purchase and verifies the answer; null: as in {@link verifiedFactsOf}. For a subscription, the statuses of
 * all the person's subscriptions; otherwise the person's history. Statuses carry each subscription's latest transaction
 * alone: what they leave unsettled is asked of the history too, which carries the mark of an upgrade.
 */
export const askAppStore = async (
  questions: AppStoreQuestions,
  configuration: IosStoreConfiguration,
  app: AppStoreApp,
  purchase: Purchase,
  askedAt: Instant,
): Promise<AppStoreAnswer<VerifiedFacts | null>> => {
  const history = (): Promise<Asked> =>
    askHistory(questions, app, purchase.key, askedAt + ASKING_MILLISECONDS);
  const verified = (signed: SignedFacts): Promise<VerifiedFacts | null> =>
    verifiedFactsOf(questions, configuration, app, purchase, signed, askedAt);
  const answer = isSubscription(purchase)
    ? await questions.appStore.subscriptionStatuses(app, purchase.key)
    : await history();
  if (answer.outcome !== "answered") return answer;
  const facts = await verified(answer.content);
  if (!isSubscription(purchase) || facts === null || !isUnsettled(purchase, facts, askedAt))
    return { outcome: "answered", content: facts };
  const all = await history();
  // What the statuses tell is not blocked by a history that does not come.
  if (all.outcome !== "answered") return { outcome: "answered", content: facts };
  const signedTransactions = [...answer.content.signedTransactions, ...all.content.signedTransactions];
  return { outcome: "answered", content: await verified({ ...answer.content, signedTransactions }) };
};
