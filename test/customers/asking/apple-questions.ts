import type { Application } from "../../../lib/applications/application.ts";
import { askApple, type AppStoreQuestions } from "../../../lib/customers/asking/ask-apple.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import type { AppStoreAnswer, AppStoreServer } from "../../../lib/stores/ios-store/app-store-server.ts";
import type { SignedFacts } from "../../../lib/stores/ios-store/server-answers.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { fingerprintOf, makeChain, signJws, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import { aTransaction, BUNDLE, type Payload } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { type World } from "../../../testing/support/world.ts";

export const chain = makeChain();
export const END = NOW + 20 * DAY;
export const LATER = END + 30 * DAY;
/** The moment of the refreshes: just after the end. */
export const ASKED = END + 5000;

export const KEY = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };

export const signed = (payload: Payload, signer: JwsSigner = chain): string => signJws(payload, signer);
export const facts = (
  transactions: readonly string[],
  renewalInfos: readonly string[] = [],
): AppStoreAnswer<SignedFacts> => ({
  outcome: "answered",
  content: { signedTransactions: transactions, signedRenewalInfos: renewalInfos },
});

export const DOWN = { outcome: "unavailable", retryAt: null, status: 503, reason: null } as const;
export const UNKNOWN = { outcome: "unknown", status: 404, reason: "TransactionIdNotFound" } as const;

const nothingElse = () => Promise.reject(new Error("Nothing else is asked."));
/** A store that answers only these questions. */
export const aStore = (answers: Partial<AppStoreServer>): AppStoreServer => ({
  subscriptionStatuses: nothingElse,
  transactionHistory: nothingElse,
  notificationHistory: nothingElse,
  ...answers,
});

/** A transaction of a lineage's next period, signed at the moment of the refresh. */
export const renewed = (lineage: string, fields: Payload = {}): Payload =>
  aTransaction({
    originalTransactionId: lineage,
    transactionId: `${lineage}9`,
    purchaseDate: END,
    expiresDate: LATER,
    signedDate: ASKED,
    ...fields,
  });

export const refresh = (
  world: World,
  answers: Partial<AppStoreServer>,
  { key = "1", bundle = BUNDLE, changes = {} as Partial<Application>, now = () => ASKED } = {},
) => {
  const later = world.at(ASKED);
  const refreshing: AppStoreQuestions = {
    ...later.factStore,
    now,
    directory: world.directory,
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set([fingerprintOf(chain.root)]),
    appStore: aStore(answers),
  };
  return askApple(
    refreshing,
    { ...world.application, ...changes },
    {
      purchase: { store: "ios-store", environment: "production", key: purchaseKey(key) },
      source: { store: "ios-store", bundleIdentifier: bundle },
    },
  );
};

/** A store that answers with these statuses. */
export const says = (answer: AppStoreAnswer<SignedFacts>): Partial<AppStoreServer> => ({
  subscriptionStatuses: () => Promise.resolve(answer),
});
export const statuses = (...payloads: readonly Payload[]): Partial<AppStoreServer> =>
  says(facts(payloads.map((one) => signed(one))));
export const STORED = { outcome: "stored" };
/** The first period again, without news. */
export const same = (lineage: string): Payload =>
  renewed(lineage, { transactionId: lineage, purchaseDate: NOW - 10 * DAY, expiresDate: END });

export const history = (...transactions: readonly string[]): Partial<AppStoreServer> => ({
  transactionHistory: () =>
    Promise.resolve({ outcome: "answered", content: { signedTransactions: transactions, next: null } }),
});
export const storedLines = async (world: World): Promise<string> =>
  JSON.stringify((await world.items()).find(({ sk }) => sk === "PURCHASE")?.["lines"]);
