import type { Application, IosStoreConfiguration } from "../../../applications/application.ts";
import { verifiedFactsOf } from "../../../customers/asking/ask-apple.ts";
import type { IosStoreCustomers } from "../../../customers/ios-store-request.ts";
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
import type { AskedEnvironment, Claim } from "../claim.ts";
import type { AnsweredLineage, OpenOutcome } from "../journal.ts";
import { sha256 } from "../slots.ts";
import type { ImportStores } from "./stores.ts";
import { verdictOf } from "./verdict.ts";

export type AppStoreAsking = Pick<IosStoreCustomers, "verifier" | "trustedRoots" | "now"> &
  Pick<ImportStores, "appStore">;

export interface AskedPerson {
  readonly facts: VerifiedFacts;
  readonly lineages: readonly AnsweredLineage[];
}

export type AskedOutcome<Content> =
  ({ readonly outcome: "answered" } & Content) | { readonly outcome: "unknown" | OpenOutcome | "excluded" };

/** Pages of twenty transactions: far above any person's, and a bound all the same. */
const MOST_PAGES = 500;

const wholeHistory = async (
  { appStore }: AppStoreAsking,
  app: AppStoreApp,
  transaction: string,
): Promise<AppStoreAnswer<readonly string[]>> => {
  const signed: string[] = [];
  let revision: string | null = null;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const answer = await appStore.transactionHistory(app, transaction, revision);
    if (answer.outcome !== "answered") return answer;
    signed.push(...answer.content.signedTransactions);
    revision = answer.content.next;
    if (revision === null) break;
  }
  return { outcome: "answered", content: signed };
};

/** Signed facts of a person: the app transaction, null in old apps; all transactions; the latest renewal infos. */
interface SignedPerson extends SignedFacts {
  readonly signedAppTransaction: string | null;
}

const askSigned = async (
  asking: AppStoreAsking,
  app: AppStoreApp,
  transaction: string,
): Promise<AppStoreAnswer<SignedPerson>> => {
  const history = await wholeHistory(asking, app, transaction);
  if (history.outcome !== "answered") return history;
  const statuses = await asking.appStore.subscriptionStatuses(app, transaction);
  if (statuses.outcome !== "answered" && statuses.outcome !== "unknown") return statuses;
  const appTransaction = await asking.appStore.appTransaction(app, transaction);
  if (appTransaction.outcome !== "answered" && appTransaction.outcome !== "unknown") return appTransaction;
  const latest =
    statuses.outcome === "answered" ? statuses.content : { signedTransactions: [], signedRenewalInfos: [] };
  return {
    outcome: "answered",
    content: {
      ...latest,
      signedTransactions: [...history.content, ...latest.signedTransactions],
      signedAppTransaction: appTransaction.outcome === "answered" ? appTransaction.content : null,
    },
  };
};

/** The identity in the app transaction, where it verifies and is of the configured app. */
const identityIn = async (
  { verifier, trustedRoots, now }: AppStoreAsking,
  configuration: IosStoreConfiguration,
  compact: string | null,
): Promise<VerifiedFacts["identities"]> => {
  if (compact === null) return [];
  const trust = { roots: trustedRoots, xcodeCertificates: new Set<string>() };
  const verdict = await verifier.verifyAppTransaction(compact, trust, now());
  if (verdict.outcome === "rejected") return [];
  if (checkAppTransactionClaims(verdict.payload, configuration) !== null) return [];
  return [appTransactionIdentityOf([verdict.payload])].filter((identity) => identity !== null);
};

const lineagesOf = (
  facts: VerifiedFacts,
  names: readonly TransactionNames[],
  environment: AskedEnvironment,
  verdict: (key: string) => Pick<AnsweredLineage, "state" | "isMapped">,
): readonly AnsweredLineage[] =>
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

const UNANSWERED = {
  "credential-rejected": "stopped",
  unavailable: "unanswered",
  unknown: "unknown",
} as const;

const askIn = async (
  asking: AppStoreAsking,
  application: Application,
  configuration: IosStoreConfiguration,
  app: AppStoreApp,
  transaction: string,
): Promise<AskedOutcome<AskedPerson>> => {
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
  const lineage: PurchaseReference = { store: "ios-store", environment: app.environment, key };
  const verified = await verifiedFactsOf(
    { ports: asking, configuration, app, purchase: lineage, askedAt },
    signed,
  );
  if (verified === null || verified.purchases.length === 0) return { outcome: "unverified" };
  const identities =
    verified.identities.length > 0
      ? verified.identities
      : await identityIn(asking, configuration, signedAppTransaction);
  const facts = { ...verified, identities };
  const stated = statedPurchases(facts);
  const verdict = (of: string) =>
    verdictOf(
      stated.filter((purchase) => purchase.key === of),
      application,
      askedAt,
    );
  return { outcome: "answered", facts, lineages: lineagesOf(facts, names, app.environment, verdict) };
};

/** Environments to ask in, the one that the file names first. */
export const environmentsOf = (
  accepted: readonly string[],
  named: AskedEnvironment | null,
  only: AskedEnvironment | null,
): readonly AskedEnvironment[] => {
  const order: readonly AskedEnvironment[] =
    named === "sandbox" ? ["sandbox", "production"] : ["production", "sandbox"];
  return order.filter((one) => accepted.includes(one) && (only === null || only === one));
};

/**
 * Asks the App Store about a person by one of its transactions: in production, then in the sandbox, in the named bundle or
 * in each of the application's.
 */
export const askPerson = async (
  asking: AppStoreAsking,
  application: Application,
  { app: bundle, environment: named }: Pick<Claim, "app" | "environment">,
  transaction: string,
  only: AskedEnvironment | null,
): Promise<AskedOutcome<AskedPerson>> => {
  const configurations = application.iosStore.filter(
    ({ bundleIdentifier }) => bundle === null || bundle === bundleIdentifier,
  );
  let outcome: AskedOutcome<AskedPerson> = { outcome: "unconfigured" };
  for (const configuration of configurations) {
    const { bundleIdentifier, serverApi: key, environments } = configuration;
    if (key === null) continue;
    const asked = environmentsOf(environments, named, only);
    if (asked.length === 0 && outcome.outcome === "unconfigured") outcome = { outcome: "excluded" };
    for (const environment of asked) {
      const app = { bundleIdentifier, environment, key };
      outcome = await askIn(asking, application, configuration, app, transaction);
      if (outcome.outcome !== "unknown") return outcome;
    }
  }
  return outcome;
};
