import type { IosStoreConfiguration } from "../../../applications/application.ts";
import { askHistory, verifiedFactsOf } from "../../../customers/asking/ask-apple.ts";
import { appStoreTrust } from "../../../customers/ios-store-customers.ts";
import { statedPurchases, type VerifiedFacts } from "../../../customers/storing/verified-facts.ts";
import type { PurchaseReference } from "../../../entitlements/purchase.ts";
import { purchaseKey } from "../../../identifiers.ts";
import type {
  AppStoreAnswer,
  AppStoreApp,
  SignedFacts,
} from "../../../stores/ios-store/server-api/app-store-server.ts";
import { checkAppTransactionClaims } from "../../../stores/ios-store/app-transaction.ts";
import { appTransactionIdentityOf } from "../../../stores/ios-store/purchases.ts";
import { transactionNamesIn, type TransactionNames } from "../../../stores/ios-store/transaction.ts";
import { sha256, type AskedEnvironment, type Claim } from "../claim.ts";
import type { AnsweredLineage } from "../journal.ts";
import { UNANSWERED, type Asked, type Asking } from "./asking.ts";
import { verdictOf } from "./verdict.ts";

type AskingApple = Pick<
  Asking,
  "appStore" | "application" | "storing" | "only" | "verifier" | "trustedRoots" | "now"
>;

/** Pages of a person's history, of twenty transactions: far more than any has. One without an end must not fill the memory. */
const MOST_PAGES = 500;

/** Signed facts of a person: the app transaction, null in old apps; all transactions; the latest renewal infos. */
interface SignedPerson extends SignedFacts {
  readonly signedAppTransaction: string | null;
}

const NO_STATUSES = { signedTransactions: [], signedRenewalInfos: [] };

const askSigned = async (
  { appStore }: AskingApple,
  app: AppStoreApp,
  transaction: string,
): Promise<AppStoreAnswer<SignedPerson>> => {
  const history = await askHistory(appStore, app, transaction, (pages) => pages >= MOST_PAGES);
  if (history.outcome !== "answered") return history;
  const statuses = await appStore.subscriptionStatuses(app, transaction);
  if (statuses.outcome !== "answered" && statuses.outcome !== "unknown") return statuses;
  const own = await appStore.appTransaction(app, transaction);
  if (own.outcome !== "answered" && own.outcome !== "unknown") return own;
  const latest = statuses.outcome === "answered" ? statuses.content : NO_STATUSES;
  return {
    outcome: "answered",
    content: {
      ...latest,
      signedTransactions: [...history.content.signedTransactions, ...latest.signedTransactions],
      signedAppTransaction: own.outcome === "answered" ? own.content : null,
    },
  };
};

const identityIn = async (
  { verifier, trustedRoots, now }: AskingApple,
  configuration: IosStoreConfiguration,
  compact: string | null,
): Promise<VerifiedFacts["identities"]> => {
  if (compact === null) return [];
  const verdict = await verifier.verifyAppTransaction(compact, appStoreTrust({ trustedRoots }), now());
  if (verdict.outcome === "rejected") return [];
  if (checkAppTransactionClaims(verdict.payload, configuration) !== null) return [];
  return [appTransactionIdentityOf([verdict.payload])].filter((identity) => identity !== null);
};

const lineagesOf = (
  facts: VerifiedFacts,
  names: readonly TransactionNames[],
  environment: AskedEnvironment,
  verdict: (key: string) => Pick<AnsweredLineage, "state" | "isMapped">,
): AnsweredLineage[] =>
  facts.purchases.map(({ purchase: { key } }) => {
    const own = names.filter((one) => one.originalTransactionIdentifier === key);
    const token = own.find(({ accountToken }) => accountToken !== null)?.accountToken ?? null;
    return {
      id: sha256(`ios-store ${key}`),
      also: [...new Set(own.map((one) => sha256(`ios-store ${one.transactionIdentifier}`)))],
      key,
      environment,
      ...verdict(key),
      echo: token === null ? null : sha256(token),
    };
  });

const askIn = async (
  asking: AskingApple,
  configuration: IosStoreConfiguration,
  app: AppStoreApp,
  transaction: string,
): Promise<Asked> => {
  const askedAt = asking.now();
  const answer = await askSigned(asking, app, transaction);
  if (answer.outcome !== "answered") return { outcome: UNANSWERED[answer.outcome] };
  const { signedAppTransaction, ...signed } = answer.content;
  const names = signed.signedTransactions.flatMap((jws) => transactionNamesIn(jws) ?? []);
  // A server of both environments answers in either.
  if (names.length > 0 && names.every((one) => one.environment !== app.environment))
    return { outcome: "unknown" };
  const named = names.find(({ transactionIdentifier }) => transactionIdentifier === transaction);
  const key = purchaseKey(named?.originalTransactionIdentifier ?? transaction);
  const purchase: PurchaseReference = { store: "ios-store", environment: app.environment, key };
  const verified = await verifiedFactsOf({ ports: asking, configuration, app, purchase, askedAt }, signed);
  if (verified === null || verified.purchases.length === 0) return { outcome: "unverified" };
  const identities =
    verified.identities.length > 0
      ? verified.identities
      : await identityIn(asking, configuration, signedAppTransaction);
  const facts = { ...verified, identities };
  const stated = Map.groupBy(statedPurchases(facts), ({ key: of }) => of);
  return {
    outcome: "answered",
    lineages: lineagesOf(facts, names, app.environment, (of) =>
      verdictOf(stated.get(purchaseKey(of)) ?? [], asking.application, askedAt),
    ),
    samePerson: [],
    stored: await asking.storing.appStoreFacts(facts),
  };
};

/** Environments to ask in, the one that the file names first. */
const environmentsOf = (
  accepted: readonly string[],
  named: AskedEnvironment | null,
  only: AskedEnvironment | null,
): readonly AskedEnvironment[] => {
  const order: readonly AskedEnvironment[] =
    named === "sandbox" ? ["sandbox", "production"] : ["production", "sandbox"];
  return order.filter((one) => accepted.includes(one) && (only === null || only === one));
};

/** Asks the App Store about a person by one of its transactions, in the named bundle or in each of the application's. */
export const askPerson = async (asking: AskingApple, claim: Claim): Promise<Asked> => {
  const transaction = claim.lineage ?? claim.name?.value ?? "";
  let outcome: Asked = { outcome: "unconfigured" };
  for (const configuration of asking.application.iosStore) {
    const { bundleIdentifier, serverApi: key, environments } = configuration;
    if (key === null || (claim.app !== null && claim.app !== bundleIdentifier)) continue;
    const asked = environmentsOf(environments, claim.environment, asking.only);
    if (asked.length === 0 && outcome.outcome === "unconfigured") outcome = { outcome: "excluded" };
    for (const environment of asked) {
      outcome = await askIn(asking, configuration, { bundleIdentifier, environment, key }, transaction);
      if (outcome.outcome !== "unknown") return outcome;
    }
  }
  return outcome;
};
