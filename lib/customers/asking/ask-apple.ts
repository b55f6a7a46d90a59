import type { Application, IosStoreConfiguration } from "../../applications/application.ts";
import { joinAll } from "../../entitlements/join.ts";
import { unsettledSince } from "../../entitlements/next-ask.ts";
import { referenceText, type Purchase, type PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { disagreement } from "../../stores/ios-store/claims.ts";
import type { AppStoreAnswer, AppStoreApp, AppStoreServer } from "../../stores/ios-store/app-store-server.ts";
import type { SignedFacts } from "../../stores/ios-store/server-answers.ts";
import { distinctJws } from "../../stores/ios-store/signatures/jws.ts";
import type { StatedRenewalInfo, Transaction } from "../../stores/ios-store/payloads.ts";
import type { Trust } from "../../stores/ios-store/signatures/chain.ts";
import type { VerifyAll } from "../../stores/ios-store/verifier.ts";
import type { AskOutcome, DueAsk } from "./ask.ts";
import { appStoreTrust, type IosStoreCustomers } from "../ios-store-customers.ts";
import { orIfErased, storeFacts } from "../storing/store-facts.ts";
import { iosStoreFacts, statedPurchases, type VerifiedFacts } from "../storing/verified-facts.ts";

export interface AppStoreQuestions extends IosStoreCustomers {
  readonly appStore: AppStoreServer;
}

export interface AnswerContext {
  readonly ports: Pick<IosStoreCustomers, "verifier" | "trustedRoots" | "now">;
  readonly configuration: IosStoreConfiguration;
  readonly app: Pick<AppStoreApp, "bundleIdentifier" | "environment">;
  readonly purchase: PurchaseReference;
  readonly askedAt: Instant;
}

interface AppleContext extends AnswerContext {
  readonly ports: AppStoreQuestions;
  readonly app: AppStoreApp;
  readonly purchase: Purchase;
}

/** Time after which nothing more is asked and the answers so far are stored. One question takes up to 10 seconds. */
const ASKING_MILLISECONDS = 15_000;

const isSame = (one: PurchaseReference, other: PurchaseReference): boolean =>
  referenceText(one) === referenceText(other);

/** All transactions of a person, or of the first pages that are enough. */
export const askHistory = async (
  appStore: Pick<AppStoreServer, "transactionHistory">,
  app: AppStoreApp,
  transaction: string,
  isEnough: (pages: number) => boolean,
): Promise<AppStoreAnswer<SignedFacts>> => {
  const signedTransactions: string[] = [];
  let [revision, pages]: [string | null, number] = [null, 0];
  do {
    const answer: Awaited<ReturnType<AppStoreServer["transactionHistory"]>> =
      await appStore.transactionHistory(app, transaction, revision);
    if (answer.outcome !== "answered") return answer;
    signedTransactions.push(...answer.content.signedTransactions);
    revision = answer.content.next;
    pages += 1;
  } while (revision !== null && !isEnough(pages));
  return { outcome: "answered", content: { signedTransactions, signedRenewalInfos: [] } };
};

/** One lineage alone, without identities: the person's other purchases may be an erased customer's. */
const ofLineage = (facts: VerifiedFacts, lineage: PurchaseReference): VerifiedFacts => ({
  ...facts,
  identities: [],
  purchases: facts.purchases
    .filter(({ purchase }) => isSame(purchase, lineage))
    .map((proven) => ({ ...proven, identity: null })),
  renewals: facts.renewals.filter((renewal) => isSame(renewal, lineage)),
});

/** Payloads that verify. Others must not block them: Apple composes the answer. */
const verifyEach = async <Payload>(
  verify: VerifyAll<Payload>,
  compacts: readonly string[],
  { trust, moment }: { readonly trust: Trust; readonly moment: Instant },
): Promise<readonly { readonly jws: string; readonly payload: Payload }[]> => {
  const verified: { readonly jws: string; readonly payload: Payload }[] = [];
  for (const jws of distinctJws(compacts)) {
    const verdict = await verify([jws], trust, moment);
    const payloads = verdict.outcome === "verified" ? verdict.payload : [];
    verified.push(...payloads.map((payload) => ({ jws, payload })));
  }
  return verified;
};

/**
 * Null: of another app, or nothing of the purchase verifies. Of several persons, as after a migration of an Apple
 * Account, only the lineage asked about counts.
 */
export const verifiedFactsOf = async (
  { ports, configuration, app, purchase, askedAt }: AnswerContext,
  { signedTransactions, signedRenewalInfos, signedInGrace = [] }: SignedFacts,
): Promise<VerifiedFacts | null> => {
  const { bundleIdentifier, environment } = app;
  const by = { trust: appStoreTrust(ports), moment: ports.now() };
  const signed = await verifyEach(ports.verifier.verifyTransactions, signedTransactions, by);
  const infos = await verifyEach(ports.verifier.verifyRenewalInfos, signedRenewalInfos, by);
  const transactions = signed.map(({ payload }) => payload);
  const renewalInfos = infos.map(({ jws, payload }) => ({
    ...payload,
    isInGrace: signedInGrace.includes(jws),
  }));
  const factsOf = (
    transactions: readonly Transaction[],
    renewalInfos: readonly StatedRenewalInfo[],
  ): VerifiedFacts | null => {
    const first = { bundleId: bundleIdentifier, environment, appTransactionId: null };
    if (disagreement(first, [...transactions, ...renewalInfos]) !== null) return null;
    const facts = iosStoreFacts(configuration, { environment, transactions, renewalInfos, askedAt });
    return { ...facts, origin: facts.origin && { ...facts.origin, askedAbout: purchase.key } };
  };
  const isOf = ({ originalTransactionId }: Pick<Transaction, "originalTransactionId">): boolean =>
    originalTransactionId === purchase.key;
  const all = factsOf(transactions, renewalInfos);
  if (all !== null) return all;
  const alone = factsOf(transactions.filter(isOf), renewalInfos.filter(isOf));
  return alone === null || alone.purchases.length === 0 ? null : ofLineage(alone, purchase);
};

const isUnsettled = ({ purchase, askedAt }: AppleContext, facts: VerifiedFacts): boolean =>
  joinAll([purchase, ...statedPurchases(facts).filter((one) => isSame(one, purchase))]).some(
    (one) => unsettledSince(one, askedAt) !== null,
  );

/**
 * Null: as in {@link verifiedFactsOf}. Statuses carry the latest transactions alone: what they leave unsettled is
 * asked of the history too, which has the mark of an upgrade.
 */
const askAppStore = async (context: AppleContext): Promise<AppStoreAnswer<VerifiedFacts | null>> => {
  const { ports, app, purchase, askedAt } = context;
  const isLate = (): boolean => ports.now() >= askedAt + ASKING_MILLISECONDS;
  const history = () => askHistory(ports.appStore, app, purchase.key, isLate);
  const isSubscription = purchase.lines.some(({ nature }) => nature === "auto_renewable");
  const answer = isSubscription
    ? await ports.appStore.subscriptionStatuses(app, purchase.key)
    : await history();
  if (answer.outcome !== "answered") return answer;
  const facts = await verifiedFactsOf(context, answer.content);
  const isEnough = !isSubscription || facts === null || !isUnsettled(context, facts);
  const all = isEnough ? null : await history();
  // A history that does not come does not block what the statuses tell.
  if (all?.outcome !== "answered") return { outcome: "answered", content: facts };
  const signedTransactions = [...answer.content.signedTransactions, ...all.content.signedTransactions];
  const content = await verifiedFactsOf(context, { ...answer.content, signedTransactions });
  return { outcome: "answered", content };
};

/** Stores an answer: for an erased customer only the purchases of the lineage that was asked about. */
const storeAnswer = async (
  { ports, purchase }: AppleContext,
  application: Application,
  facts: VerifiedFacts,
): Promise<AskOutcome> => {
  const own = ofLineage(facts, purchase);
  // An answer about others, as of a lineage that has moved, moves only their questions.
  const isAbout = own.purchases.length + own.renewals.length > 0;
  const storing = orIfErased(storeFacts(ports, application, facts, null), () =>
    storeFacts(ports, application, own, null),
  );
  // A buried purchase has left the queue; one that only mentions it stays.
  const stored = await orIfErased(storing, () => null);
  return { outcome: stored !== null && isAbout ? "stored" : "failed" };
};

export const askApple = async (
  ports: AppStoreQuestions,
  application: Application,
  { purchase: reference, source }: Pick<DueAsk, "purchase" | "source">,
): Promise<AskOutcome> => {
  const { environment } = reference;
  if (source.store !== "ios-store" || environment === "xcode") return { outcome: "failed" };
  const { bundleIdentifier } = source;
  const configuration = application.iosStore.find((one) => one.bundleIdentifier === bundleIdentifier);
  if (configuration == null || configuration.serverApi === null) return { outcome: "unconfigured" };
  if (!configuration.environments.includes(environment)) return { outcome: "failed" };

  const askedAt = ports.now();
  const known = await ports.table.findFacts(application.identifier, [], [reference], askedAt);
  const purchase = known.purchases.get(referenceText(reference))?.purchase;
  if (purchase === undefined) return { outcome: "over" };
  const app: AppStoreApp = { bundleIdentifier, environment, key: configuration.serverApi };
  const context: AppleContext = { ports, configuration, app, purchase, askedAt };
  const answer = await askAppStore(context);
  switch (answer.outcome) {
    case "unknown":
    case "credential-rejected":
      return { outcome: answer.outcome };
    case "unavailable":
      // An answer that cannot be parsed concerns only this purchase.
      return answer.status === 200
        ? { outcome: "failed" }
        : { outcome: "unavailable", retryAt: answer.retryAt };
    case "answered":
      return answer.content === null
        ? { outcome: "failed" }
        : storeAnswer(context, application, answer.content);
  }
};
