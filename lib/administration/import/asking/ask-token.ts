import type { AndroidStoreConfiguration, Application } from "../../../applications/application.ts";
import type { ProductKind } from "../../../contract/schemas.ts";
import type { AndroidStoreSource } from "../../../customers/asking/ask.ts";
import { sourceOf } from "../../../customers/storing/store-android-store-purchase.ts";
import { provenPurchaseOf, selecting, type VerifiedPurchase } from "../../../stores/android-store/reading.ts";
import type { AskedOutcome } from "./ask-person.ts";
import type { AskedEnvironment, Claim } from "../claim.ts";
import type { AnsweredLineage } from "../journal.ts";
import { sha256 } from "../slots.ts";
import type { ImportStores } from "./stores.ts";
import { verdictOf } from "./verdict.ts";

export interface AskedToken {
  readonly configuration: AndroidStoreConfiguration;
  readonly verified: VerifiedPurchase;
  readonly source: AndroidStoreSource;
  readonly lineages: readonly AnsweredLineage[];
  /** SHA-256 of the identifiers of the same person's other purchases. */
  readonly samePerson: readonly string[];
}

export interface TokenQuestion extends Pick<Claim, "kind" | "product"> {
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

const answeredWith = (
  application: Application,
  configuration: AndroidStoreConfiguration,
  { token: purchaseToken, also }: TokenQuestion,
  productKind: ProductKind,
  answer: VerifiedPurchase & { readonly accountEcho?: string },
): AskedToken => {
  const verified = selecting(answer, productKind, null);
  const { purchase } = verified;
  const { key, environment, verifiedAt } = purchase;
  const proven = provenPurchaseOf(verified);
  return {
    configuration,
    verified,
    source: sourceOf(configuration, { purchaseToken, productKind }),
    lineages: [
      {
        id: idOfKey(key),
        also: [...also],
        key,
        environment: environment === "sandbox" ? "sandbox" : "production",
        ...verdictOf([purchase], application, verifiedAt),
        echo: answer.accountEcho === undefined ? null : echoDigest(answer.accountEcho),
      },
    ],
    samePerson: proven.mentioned.map((mentioned) => idOfKey(mentioned.key)),
  };
};

const UNANSWERED = {
  gone: "unknown",
  "credential-rejected": "stopped",
  unavailable: "unanswered",
} as const;

/** Asks Google about a token, as either kind. Google answers 404 to a token of another kind, package or application. */
export const askToken = async (
  { androidStore }: Pick<ImportStores, "androidStore">,
  application: Application,
  configuration: AndroidStoreConfiguration,
  question: TokenQuestion,
  only: AskedEnvironment | null,
): Promise<AskedOutcome<AskedToken>> => {
  for (const productKind of kindsOf(question, application)) {
    const answer = await androidStore.lookUp(configuration, {
      purchaseToken: question.token,
      productKind,
      productIdentifier: null,
      readsAccountEcho: true,
    });
    if (answer.outcome === "rejected") continue;
    if (answer.outcome !== "verified") return { outcome: UNANSWERED[answer.outcome] };
    const { environment } = answer.purchase;
    const isWanted = only === null || environment === only;
    if (!isWanted || !configuration.environments.includes(environment)) return { outcome: "excluded" };
    return {
      outcome: "answered",
      ...answeredWith(application, configuration, question, productKind, answer),
    };
  }
  return { outcome: "unknown" };
};

export const packagesOf = (
  application: Application,
  { app }: Pick<Claim, "app">,
): readonly AndroidStoreConfiguration[] =>
  application.androidStore.filter(({ packageName }) => app === null || app === packageName);
