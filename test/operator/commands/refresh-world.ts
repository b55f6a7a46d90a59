import { v7 as uuid } from "uuid";
import { STORES, type Store } from "../../../lib/contract/schemas.ts";
import { askDuePurchases, pausesOf, type AskRun } from "../../../lib/customers/asking/ask-due-purchases.ts";
import type { PauseReason, DueAsk } from "../../../lib/customers/asking/ask.ts";
import { MINUTE } from "../../../lib/duration.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { afterFailure, HEALTHY } from "../../../lib/queues/health.ts";
import type { AskSource } from "../../../lib/customers/storing/records.ts";
import { applicationId, customerId } from "../../../lib/identifiers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { applied } from "../../../testing/support/application.ts";
import { aLine, aPurchase, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { byCredential, createWorld } from "../../../testing/support/world.ts";
import type { Given } from "../telling-world.ts";

const pause = () => Promise.resolve();

/** The purchases of these tests are of Apple's sandbox, and of production at Google. */
const environmentOf = (store: Store): "production" | "sandbox" =>
  store === "ios-store" ? "sandbox" : "production";

/** An application with an app in each store, or two at Google. */
export const anApplication = async ({ table }: Given, { isTwice = false }: { isTwice?: boolean } = {}) => {
  const identifier = applicationId(uuid());
  const bundleIdentifier = `com.example.t${identifier.replaceAll("-", "")}`;
  const serverApi = { issuerIdentifier: uuid(), keyIdentifier: "ABC123DEFG", secret: "trails/app-store-key" };
  const packages = [bundleIdentifier, ...(isTwice ? [`${bundleIdentifier}.lite`] : [])];
  const credential = { secret: "trails/play" };
  const application = await applied(table, {
    application: { identifier, name: "Trails" },
    stores: {
      "ios-store": [{ bundleIdentifier, environments: ["sandbox"], serverApi }],
      "android-store": packages.map((packageName) => ({ packageName, credential })),
    },
    entitlements: { premium: {} },
    products: STORES.map((store) => ({ store, productIdentifier: "monthly", grants: ["premium"] })),
  });

  const world = createWorld(table, { application, pause });
  const apple: AskSource = { store: "ios-store", bundleIdentifier };
  const google = (purchaseToken: string, packageName = bundleIdentifier): AskSource => ({
    store: "android-store",
    packageName,
    purchaseToken,
    productKind: "subscription",
  });
  /** Stores a purchase as a request does, or, with `askedAt`, as the answer of a store. */
  const store = async (
    purchase: Purchase,
    source: AskSource,
    { account = null, askedAt = null }: { account?: string | null; askedAt?: Instant | null } = {},
  ) => {
    const { environment } = purchase;
    const facts = { environment, purchases: [purchase], origin: { source, canAsk: true, askedAt } };
    const customer = await world.store(facts, account === null ? null : byCredential(account));
    return customer?.identifier ?? customerId("");
  };

  const queueIn = (ofStore: Store) =>
    createAskQueues(table).of({
      application: identifier,
      store: ofStore,
      environment: environmentOf(ofStore),
      bundleOrPackage: bundleIdentifier,
    });
  const timesIn = async (ofStore: Store): Promise<readonly Instant[]> =>
    (await queueIn(ofStore).due(NOW + DAY, 100)).map(({ ask }) => ask.at);
  const asked: DueAsk[] = [];
  const work = async (ask: AskRun["ask"]): Promise<void> => {
    for (const ofStore of STORES)
      await askDuePurchases(
        {
          store: ofStore,
          directory: { byIdentifier: () => Promise.resolve(application) },
          queues: createAskQueues(table),
          table: createCustomerTable(table),
          applications: () => Promise.resolve([identifier]),
          ask: (own, due) => {
            asked.push(due);
            return ask(own, due);
          },
          newWorker: uuid,
          now: () => NOW,
          wait: pause,
          onFailure: (error) => {
            throw error;
          },
        },
        NOW + MINUTE,
      );
  };
  /** The store answers what is due with a purchase. */
  const answer = (purchase: Purchase, source: AskSource): Promise<void> =>
    work(async () => {
      await store(purchase, source, { askedAt: NOW });
      return { outcome: "stored" };
    });
  /** Pauses a queue as a worker does. */
  const fail = async (ofStore: Store, because: PauseReason, moment: Instant): Promise<void> => {
    const queue = queueIn(ofStore);
    const lease = { worker: uuid(), until: moment + MINUTE };
    await queue.take(lease, moment);
    await queue.release(lease, afterFailure(HEALTHY, { because, retryAt: null }, pausesOf, moment));
  };
  return { identifier, application, apple, google, store, work, answer, asked, fail, timesIn };
};

export const onIos = (key: string, line: Parameters<typeof aLine>[0] = {}): Purchase =>
  aPurchase({ environment: "sandbox", key, lines: [aLine({ transactionIdentifier: key, ...line })] });
export const onAndroid = (token: string, line: Parameters<typeof aLine>[0] = {}): Purchase =>
  aPurchase({
    store: "android-store",
    key: purchaseKeyOfToken(token),
    lines: [aLine({ transactionIdentifier: null, verifiedAt: NOW - 10 * MINUTE, ...line })],
  });
