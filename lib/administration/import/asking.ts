import type {
  AndroidStoreConfiguration,
  Application,
  IosStoreConfiguration,
} from "../../applications/application.ts";
import type { ProductKind } from "../../contract/schemas.ts";
import { askHistory, verifiedFactsOf } from "../../customers/asking/ask-apple.ts";
import { appStoreTrust, type IosStoreCustomers } from "../../customers/ios-store-customers.ts";
import { sourceOf } from "../../customers/storing/store-android-store-purchase.ts";
import { statedPurchases, type VerifiedFacts } from "../../customers/storing/verified-facts.ts";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";
import type { AndroidOrders } from "../../stores/android-store/android-store.ts";
import type { AndroidOrder } from "../../stores/android-store/answers.ts";
import { provenPurchaseOf, selecting } from "../../stores/android-store/reading.ts";
import { checkAppTransactionClaims } from "../../stores/ios-store/claims.ts";
import type { AppStoreApp } from "../../stores/ios-store/app-store-server.ts";
import { transactionNamesIn, type TransactionNames } from "../../stores/ios-store/payloads.ts";
import { appTransactionIdentityOf } from "../../stores/ios-store/purchases.ts";
import type { SignedFacts } from "../../stores/ios-store/server-answers.ts";
import { type AskedEnvironment, type Claim, sha256 } from "./claim.ts";
import { type AnsweredEntry, type AnsweredLineage, idOfKey, type UnansweredOutcome } from "./join.ts";
import type { ImportStores } from "./pace.ts";
import { type Storing, verdictOf } from "./storing.ts";

export interface Asking extends ImportStores, Pick<IosStoreCustomers, "verifier" | "trustedRoots" | "now"> {
  readonly application: Application;
  readonly storing: Storing;
  /** Only purchases of this environment; null: of each that the manifest accepts. */
  readonly only: AskedEnvironment | null;
}
type AskingApple = Omit<Asking, "androidStore" | "orders">;

/** A store's answer about a person or a purchase, which is stored; or why there is none. */
export type Asked = Omit<AnsweredEntry, "id"> | { readonly outcome: UnansweredOutcome };

/** Outcomes by the stores' answers that tell nothing of a purchase. */
const UNANSWERED = {
  "credential-rejected": "stopped",
  unavailable: "unanswered",
  unknown: "unknown",
  gone: "unknown",
} as const;

/** Pages of a person's history, of twenty transactions: one without an end must not fill the memory. */
const MOST_PAGES = 500;

interface SignedPerson {
  readonly signed: SignedFacts;
  /** Null in old apps. */
  readonly appTransaction: string | null;
}

const askSigned = async (
  { appStore }: AskingApple,
  app: AppStoreApp,
  transaction: string,
): Promise<SignedPerson | UnansweredOutcome> => {
  const history = await askHistory(appStore, app, transaction, (pages) => pages >= MOST_PAGES);
  if (history.outcome !== "answered") return UNANSWERED[history.outcome];
  const statuses = await appStore.subscriptionStatuses(app, transaction);
  if (statuses.outcome !== "answered" && statuses.outcome !== "unknown") return UNANSWERED[statuses.outcome];
  const own = await appStore.appTransaction(app, transaction);
  if (own.outcome !== "answered" && own.outcome !== "unknown") return UNANSWERED[own.outcome];
  const { signedTransactions } = history.content;
  const latest =
    statuses.outcome === "answered" ? statuses.content : { signedTransactions: [], signedRenewalInfos: [] };
  return {
    signed: { ...latest, signedTransactions: [...signedTransactions, ...latest.signedTransactions] },
    appTransaction: own.outcome === "answered" ? own.content : null,
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
  verdict: (key: PurchaseKey) => ReturnType<typeof verdictOf>,
): AnsweredLineage[] =>
  facts.purchases.map(({ purchase: { key } }) => {
    const own = names.filter((one) => one.originalTransactionId === key);
    const token = own.find(({ appAccountToken }) => appAccountToken !== null)?.appAccountToken ?? null;
    return {
      id: idOfKey("ios-store", key),
      also: [...new Set(own.map((one) => idOfKey("ios-store", one.transactionId)))],
      key,
      environment,
      ...verdict(key),
      echo: token === null ? null : sha256(token),
    };
  });

const askBundle = async (
  asking: AskingApple,
  configuration: IosStoreConfiguration,
  app: AppStoreApp,
  transaction: string,
): Promise<Asked> => {
  const askedAt = asking.now();
  const answer = await askSigned(asking, app, transaction);
  if (typeof answer === "string") return { outcome: answer };
  const { signed, appTransaction } = answer;
  const names = signed.signedTransactions.flatMap((jws) => transactionNamesIn(jws) ?? []);
  // A server of both environments answers in either.
  if (names.length > 0 && names.every((one) => one.environment.toLowerCase() !== app.environment))
    return { outcome: "unknown" };
  const named = names.find(({ transactionId }) => transactionId === transaction);
  const key = purchaseKey(named?.originalTransactionId ?? transaction);
  const purchase: PurchaseReference = { store: "ios-store", environment: app.environment, key };
  const verified = await verifiedFactsOf({ ports: asking, configuration, app, purchase, askedAt }, signed);
  if (verified === null || verified.purchases.length === 0) return { outcome: "unverified" };
  const identities =
    verified.identities.length > 0
      ? verified.identities
      : await identityIn(asking, configuration, appTransaction);
  const facts = { ...verified, identities };
  const stated = Map.groupBy(statedPurchases(facts), ({ key: of }) => of);
  return {
    outcome: "answered",
    lineages: lineagesOf(facts, names, app.environment, (of) =>
      verdictOf(stated.get(of) ?? [], asking.application, askedAt),
    ),
    samePerson: [],
    stored: await asking.storing.appStoreFacts(facts),
  };
};

/** Asks the App Store about a person by one of its transactions, in the named bundle or in each of the application's. */
export const askPerson = async (asking: AskingApple, claim: Claim): Promise<Asked> => {
  const transaction = claim.lineage ?? claim.name?.value ?? "";
  const { application, only } = asking;
  // First the environment that the file names.
  const order: AskedEnvironment[] = ["production", "sandbox"];
  if (claim.environment === "sandbox") order.reverse();
  let outcome: Asked = { outcome: "unconfigured" };
  for (const configuration of application.iosStore) {
    const { bundleIdentifier, serverApi: key, environments } = configuration;
    if (key === null || (claim.app !== null && claim.app !== bundleIdentifier)) continue;
    const asked = order.filter((one) => environments.includes(one) && (only === null || only === one));
    if (asked.length === 0 && outcome.outcome === "unconfigured") outcome = { outcome: "excluded" };
    for (const environment of asked) {
      outcome = await askBundle(asking, configuration, { bundleIdentifier, environment, key }, transaction);
      if (outcome.outcome !== "unknown") return outcome;
    }
  }
  return outcome;
};

interface TokenQuestion extends Pick<Claim, "kind" | "product"> {
  readonly token: string;
  /** SHA-256 of other identifiers of the purchase. */
  readonly also: readonly string[];
}

/** SHA-256 of an echo. Apps give Google the account, or the SHA-256 of it. */
const echoDigest = (echo: string): string =>
  /^[0-9a-f]{64}$/i.test(echo) ? echo.toLowerCase() : sha256(echo);

/** The kinds to ask for, the likelier first: a file may be wrong, or not say. */
const kindsOf = ({ kind, product }: TokenQuestion, { catalog }: Application): readonly ProductKind[] => {
  const mapped = product === null ? undefined : catalog.productOf("android-store", product);
  const isOneTime =
    kind === null ? mapped !== undefined && mapped.accessDuration !== null : kind === "one_time_product";
  return isOneTime ? ["one_time_product", "subscription"] : ["subscription", "one_time_product"];
};

/** Asks about a token as either kind. Google answers 404 to one of another kind, package or application. */
const askPackage = async (
  { androidStore, application, only, storing }: Asking,
  configuration: AndroidStoreConfiguration,
  question: TokenQuestion,
): Promise<Asked> => {
  const { token: purchaseToken } = question;
  for (const productKind of kindsOf(question, application)) {
    const asked = { purchaseToken, productKind, productIdentifier: null, readsAccountEcho: true } as const;
    const answer = await androidStore.lookUp(configuration, asked);
    if (answer.outcome === "rejected") continue;
    if (answer.outcome !== "verified") return { outcome: UNANSWERED[answer.outcome] };
    const verified = selecting(answer, productKind, null);
    const { purchase } = verified;
    const { key, environment } = purchase;
    const isWanted = only === null || environment === only;
    if (!isWanted || !configuration.environments.includes(environment)) return { outcome: "excluded" };
    const source = sourceOf(configuration, { purchaseToken, productKind });
    const lineage = {
      id: idOfKey("android-store", key),
      also: [...question.also],
      key,
      environment: environment === "sandbox" ? environment : ("production" as const),
      ...verdictOf([purchase], application, purchase.verifiedAt),
      echo: answer.accountEcho === undefined ? null : echoDigest(answer.accountEcho),
    };
    return {
      outcome: "answered",
      lineages: [lineage],
      samePerson: provenPurchaseOf(verified).mentioned.map((other) => idOfKey("android-store", other.key)),
      stored: await storing.androidPurchase(configuration, verified, source),
    };
  }
  return { outcome: "unknown" };
};

export const packagesOf = (
  { androidStore }: Application,
  { app }: Pick<Claim, "app">,
): readonly AndroidStoreConfiguration[] =>
  androidStore.filter(({ packageName }) => app === null || app === packageName);

/** Asks Google about a token in the named package, or in each of the application's until one knows it. */
export const askToken = async (asking: Asking, claim: Claim, question: TokenQuestion): Promise<Asked> => {
  let asked: Asked = { outcome: "unconfigured" };
  for (const configuration of packagesOf(asking.application, claim)) {
    asked = await askPackage(asking, configuration, question);
    if (asked.outcome !== "unknown") return asked;
  }
  return asked.outcome === "unknown" ? { outcome: "dropped" } : asked;
};

export const ORDERS_AT_ONCE = 100;

interface ResolvedOrders {
  readonly found: readonly AndroidOrder[];
  /** Why the others were not resolved; null: all were. */
  readonly failed: "stopped" | "unanswered" | null;
}

/** Finds the purchases of orders. One unknown order fails a whole request, so such a request is halved. */
export const resolveOrders = async (
  orders: AndroidOrders,
  configuration: AndroidStoreConfiguration,
  identifiers: readonly string[],
): Promise<ResolvedOrders> => {
  const answer = await orders.find(configuration, identifiers);
  if (answer.outcome === "answered") return { found: answer.orders, failed: null };
  if (answer.outcome === "credential-rejected" || answer.outcome === "unavailable")
    return { found: [], failed: UNANSWERED[answer.outcome] };
  if (identifiers.length === 1) return { found: [], failed: null };
  const half = Math.ceil(identifiers.length / 2);
  const first = await resolveOrders(orders, configuration, identifiers.slice(0, half));
  const second = await resolveOrders(orders, configuration, identifiers.slice(half));
  return { found: [...first.found, ...second.found], failed: first.failed ?? second.failed };
};
