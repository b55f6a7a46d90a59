import type { AndroidStoreConfiguration, Application } from "../../../applications/application.ts";
import type { ProductKind } from "../../../contract/schemas.ts";
import { sourceOf } from "../../../customers/storing/store-android-store-purchase.ts";
import type { AndroidOrder, AndroidOrders } from "../../../stores/android-store/orders.ts";
import { provenPurchaseOf, selecting } from "../../../stores/android-store/reading.ts";
import { sha256, type Claim } from "../claim.ts";
import { UNANSWERED, type Asked, type Asking } from "./asking.ts";
import { verdictOf } from "./verdict.ts";

interface TokenQuestion extends Pick<Claim, "kind" | "product"> {
  readonly token: string;
  /** SHA-256 of other identifiers of the purchase. */
  readonly also: readonly string[];
}

const idOfKey = (key: string): string => sha256(`android-store ${key}`);

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

/** Asks about a token of a package as either kind. Google answers 404 to one of another kind, package or application. */
const askIn = async (
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
      id: idOfKey(key),
      also: [...question.also],
      key,
      environment: environment === "sandbox" ? ("sandbox" as const) : ("production" as const),
      ...verdictOf([purchase], application, purchase.verifiedAt),
      echo: answer.accountEcho === undefined ? null : echoDigest(answer.accountEcho),
    };
    return {
      outcome: "answered",
      lineages: [lineage],
      samePerson: provenPurchaseOf(verified).mentioned.map((mentioned) => idOfKey(mentioned.key)),
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
    asked = await askIn(asking, configuration, question);
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
