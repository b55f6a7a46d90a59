import type { Application } from "../../lib/applications/application.ts";
import type { AppStoreQuestions } from "../../lib/customers/ask-app-store.ts";
import { refreshIosStorePurchase } from "../../lib/customers/refresh-ios-store-purchase.ts";
import { applicationId, purchaseKey } from "../../lib/identifiers.ts";
import type {
  AppStoreAnswer,
  AppStoreServer,
  SignedFacts,
} from "../../lib/stores/ios-store/app-store-server.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { fingerprintOf, makeChain, signJws, type JwsSigner } from "../../sandbox/ios-store/signing.ts";
import { createRefreshQueue } from "../../lib/table/refreshes.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import {
  aBundle,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../testing/support/ios-store.ts";
import { aCatalog, aLine, aProduct, aPurchase, DAY, NOW } from "../../testing/support/purchases.ts";
import type { TestTable } from "../../testing/support/table.ts";
import { createUseCaseTable } from "../../testing/support/use-case-table.ts";
import { aName, fromApple, queuedOf, recordedOf } from "./refreshing.ts";
import { byCredential, createWorld, device, type World } from "../../testing/support/world.ts";

const chain = makeChain();
const END = NOW + 20 * DAY;
const LATER = END + 30 * DAY;
const HOUR = DAY / 24;
/** The moment of the refreshes: just after the end. */
const ASKED = END + 5000;

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

const KEY = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };

const aWorld = (): World => {
  const world = createWorld(table);
  const application: Application = {
    ...world.application,
    identifier: applicationId(aName()),
    iosStore: [aBundle({ serverApi: KEY })],
    catalog: aCatalog(),
  };
  return world.with({ application });
};

const signed = (payload: Payload, signer: JwsSigner = chain): string => signJws(payload, signer);
const facts = (
  transactions: readonly string[],
  renewalInfos: readonly string[] = [],
): AppStoreAnswer<SignedFacts> => ({
  outcome: "answered",
  content: { signedTransactions: transactions, signedRenewalInfos: renewalInfos },
});

const nothingElse = () => Promise.reject(new Error("Nothing else is asked."));
const aStore = (answers: Partial<AppStoreServer>): AppStoreServer => ({
  subscriptionStatuses: nothingElse,
  transaction: nothingElse,
  transactionHistory: nothingElse,
  failedNotifications: nothingElse,
  ...answers,
});

/** A transaction of a lineage's next period, signed at the moment of the refresh. */
const renewed = (lineage: string, fields: Payload = {}): Payload =>
  aTransaction({
    originalTransactionId: lineage,
    transactionId: `${lineage}9`,
    purchaseDate: END,
    expiresDate: LATER,
    signedDate: ASKED,
    ...fields,
  });

const refresh = (
  world: World,
  answers: Partial<AppStoreServer>,
  { key = "1", bundle = BUNDLE, changes = {} as Partial<Application>, now = () => ASKED } = {},
) => {
  const later = world.at(ASKED);
  const refreshing: AppStoreQuestions = {
    ...later.factStore,
    now,
    directory: {
      byIdentifier: () => Promise.resolve(world.application),
      byBundle: () => Promise.resolve(world.application),
      byPackage: () => Promise.resolve(null),
    },
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set([fingerprintOf(chain.root)]),
    appStore: aStore(answers),
  };
  return refreshIosStorePurchase(
    refreshing,
    { ...world.application, ...changes },
    {
      application: world.application.identifier,
      purchase: { store: "ios-store", environment: "production", key: purchaseKey(key) },
      dueAt: ASKED,
      source: { store: "ios-store", bundleIdentifier: bundle },
    },
  );
};

/** Subscriptions of one person that end at once. */
const subscribed = async (...lineages: readonly string[]): Promise<World> => {
  const world = aWorld();
  await world.store({
    purchases: lineages.map((key) =>
      aPurchase({ key, lines: [aLine({ transactionIdentifier: key, event: key })] }),
    ),
    origin: fromApple(),
  });
  return world;
};

/** Puts a purchase's refresh into the queue at a time of its own. */
const queueAt = async (world: World, key: string, dueAt: number): Promise<void> => {
  const { identifier } = world.application;
  const reference = { store: "ios-store", environment: "production", key: purchaseKey(key) } as const;
  const { purchases } = await world.factStore.table.findFacts(identifier, [], [reference], ASKED);
  const [stored] = purchases.values();
  if (stored === undefined) throw new Error("The purchase is not stored.");
  const source = { store: "ios-store", bundleIdentifier: BUNDLE } as const;
  const queue = createRefreshQueue(table);
  // So long ago that it does not count as asked for any more.
  const askedForAt = dueAt - 2 * DAY;
  expect(await queue.set(identifier, stored, { dueAt, source, askedForAt })).toBe("written");
};

const statuses = (...payloads: readonly Payload[]): Partial<AppStoreServer> => ({
  subscriptionStatuses: () => Promise.resolve(facts(payloads.map((one) => signed(one)))),
});

describe("a subscription", () => {
  test("is asked about by its statuses, which move all refreshes of the person", async () => {
    const world = await subscribed("1", "2");
    const infos = ["1", "2"].map((lineage) =>
      signed(
        aRenewalInfo({
          originalTransactionId: lineage,
          renewalDate: LATER,
          signedDate: ASKED,
          appTransactionId: undefined,
        }),
      ),
    );
    const transactions = [renewed("1"), renewed("2")].map((one) => signed(one));
    const outcome = await refresh(world, {
      subscriptionStatuses: (app, id) => {
        expect([app, id]).toEqual([{ bundleIdentifier: BUNDLE, environment: "production", key: KEY }, "1"]);
        return Promise.resolve(facts(transactions, infos));
      },
    });
    expect(outcome).toEqual({ outcome: "stored" });
    expect(await queuedOf(world)).toEqual({ 1: LATER - 3600_000, 2: LATER - 3600_000 });
    expect(await recordedOf(world)).toEqual(await queuedOf(world));
  });
  test("without news moves to its next step", async () => {
    const world = await subscribed("1");
    const same = renewed("1", { transactionId: "1", purchaseDate: NOW - 10 * DAY, expiresDate: END });
    expect(await refresh(world, statuses(same))).toEqual({ outcome: "stored" });
    expect(await queuedOf(world)).toEqual({ 1: END + 120_000 });
  });
  test("that is said to be over is followed sparsely", async () => {
    const world = await subscribed("1");
    const same = renewed("1", { transactionId: "1", purchaseDate: NOW - 10 * DAY, expiresDate: END });
    const over = aRenewalInfo({
      originalTransactionId: "1",
      autoRenewStatus: 0,
      renewalDate: undefined,
      expirationIntent: 1,
      signedDate: ASKED,
    });
    await refresh(world, {
      subscriptionStatuses: () => Promise.resolve(facts([signed(same)], [signed(over)])),
    });
    expect(await queuedOf(world)).toEqual({ 1: END + DAY });
  });
  test("that the store does not know stays in the queue: the store may be wrong", async () => {
    const world = await subscribed("1");
    const unknown = { outcome: "unknown", status: 404, reason: "TransactionIdNotFound" } as const;
    const outcome = await refresh(world, { subscriptionStatuses: () => Promise.resolve(unknown) });
    expect(outcome).toEqual({ outcome: "unknown" });
    expect(await queuedOf(world)).toEqual({ 1: END - 3600_000 });
  });
  test.each<
    [what: string, failure: Awaited<ReturnType<AppStoreServer["subscriptionStatuses"]>>, outcome: object]
  >([
    [
      "a rejected key",
      { outcome: "credential-rejected", status: 401, reason: null },
      { outcome: "credential-rejected" },
    ],
    [
      "a limit",
      { outcome: "unavailable", retryAt: ASKED + 1, status: 429, reason: null },
      { outcome: "unavailable", retryAt: ASKED + 1 },
    ],
  ])("meets %s", async (_, failure, outcome) => {
    const world = await subscribed("1");
    const before = await world.items();
    expect(await refresh(world, { subscriptionStatuses: () => Promise.resolve(failure) })).toEqual(outcome);
    expect(await world.items()).toEqual(before);
  });
});

describe("a payload that does not verify keeps nothing else of the answer back: Apple composes it", () => {
  /** A bundle in another group, of a type that this code does not know. */
  const bundle = (fields: Payload = {}): string =>
    signed(renewed("77", { type: "Auto-Renewable Subscription Bundle", ...fields }));
  const forged = makeChain();
  const info = (signer: JwsSigner = chain) =>
    signed(aRenewalInfo({ originalTransactionId: "1", renewalDate: LATER, signedDate: ASKED }), signer);

  test.each<[what: string, answer: AppStoreAnswer<SignedFacts>]>([
    ["of a type that is not known", facts([bundle(), signed(renewed("1"))], [info()])],
    ["that is forged", facts([signed(renewed("1")), signed(renewed("2"), forged)], [info()])],
    ["that is a renewal info", facts([signed(renewed("1"))], [info(), info(forged)])],
  ])("%s", async (_, answer) => {
    const world = await subscribed("1", "2");
    const outcome = await refresh(world, { subscriptionStatuses: () => Promise.resolve(answer) });
    expect(outcome).toEqual({ outcome: "stored" });
    expect(await queuedOf(world)).toEqual({ 1: LATER - 3600_000, 2: END - 3600_000 });
  });
  test("in the history of a lifetime purchase that was refunded", async () => {
    const world = aWorld().selling(aCatalog([aProduct({ productIdentifier: "lifetime" })]));
    const bought = {
      productIdentifier: "lifetime",
      nature: "non_consumable",
      startsAt: NOW - DAY,
      endsAt: null,
    } as const;
    await world.store(
      {
        purchases: [
          aPurchase({ key: "5", lines: [aLine({ ...bought, transactionIdentifier: "5", event: "" })] }),
        ],
        origin: fromApple(),
      },
      byCredential("a"),
    );
    const refunded = renewed("5", {
      transactionId: "5",
      productId: "lifetime",
      type: "Non-Consumable",
      purchaseDate: NOW - DAY,
      originalPurchaseDate: NOW - DAY,
      expiresDate: undefined,
      revocationDate: NOW,
      revocationReason: 0,
    });
    const transactionHistory = () =>
      Promise.resolve({
        outcome: "answered",
        content: { signedTransactions: [signed(refunded), bundle()], next: null },
      } as const);
    expect(await refresh(world, { transactionHistory }, { key: "5" })).toEqual({ outcome: "stored" });
    expect((await world.read("a")).entitlements).toMatchObject([{ status: "revoked" }]);
  });
});

describe("an answer is not stored", () => {
  const forged = makeChain();
  test.each<[what: string, answer: AppStoreAnswer<SignedFacts>]>([
    ["of another bundle", facts([signed(renewed("1", { bundleId: "com.example.other" }))])],
    ["of another environment", facts([signed(renewed("1", { environment: "Sandbox" }))])],
    [
      "whose transaction of the purchase is forged",
      facts([signed(renewed("1"), forged), signed(renewed("2"))]),
    ],
    ["with a forged renewal info alone", facts([], [signed(aRenewalInfo(), forged)])],
    ["with a renewal info for a transaction", facts([signed(aRenewalInfo())])],
    ["that is signed in the future", facts([signed(renewed("1", { signedDate: ASKED + 61_000 }))])],
  ])("%s", async (_, answer) => {
    const world = await subscribed("1", "2");
    const before = await world.items();
    const outcome = await refresh(world, { subscriptionStatuses: () => Promise.resolve(answer) });
    expect(outcome).toEqual({ outcome: "failed" });
    expect(await world.items()).toEqual(before);
  });
});

test("of an answer about two persons, the lineage that was asked about is stored, and names nobody", async () => {
  const world = await subscribed("1", "2");
  const before = await world.items();
  const answer = facts([signed(renewed("1")), signed(renewed("2", { appTransactionId: "704000000000099" }))]);
  expect(await refresh(world, { subscriptionStatuses: () => Promise.resolve(answer) })).toEqual({
    outcome: "stored",
  });
  const changed = (await world.items()).filter(
    (item) => !before.some((old) => JSON.stringify(old) === JSON.stringify(item)),
  );
  const purchases = changed.filter(({ sk }) => sk === "PURCHASE").map(({ key }) => key);
  expect(purchases).toEqual(["1"]);
});

describe("nothing is asked", () => {
  const KEYLESS = [aBundle()];
  test.each<[what: string, options: Parameters<typeof refresh>[2], outcome: string]>([
    ["about a bundle that is not configured any more", { bundle: "com.example.other" }, "unconfigured"],
    ["about a bundle without a key", { changes: { iosStore: KEYLESS } }, "unconfigured"],
    ["about a purchase that is not stored", { key: "7" }, "over"],
  ])("%s", async (_, options, outcome) => {
    expect(await refresh(await subscribed("1"), {}, options)).toEqual({ outcome });
  });
});

describe("a lifetime purchase", () => {
  const held = async () => {
    const world = aWorld();
    const line = aLine({ transactionIdentifier: "1", nature: "non_consumable", endsAt: null });
    await world.store({ purchases: [aPurchase({ key: "1", lines: [line] })], origin: fromApple() });
    return world;
  };
  const lifetime = (fields: Payload = {}): Payload =>
    renewed("1", {
      type: "Non-Consumable",
      transactionId: "1",
      purchaseDate: NOW - 10 * DAY,
      expiresDate: undefined,
      ...fields,
    });

  test("is asked about by the person's history, page by page", async () => {
    const world = await held();
    const revisions: (string | null)[] = [];
    const refund = { revocationDate: ASKED - DAY, revocationReason: 0 };
    const outcome = await refresh(world, {
      transactionHistory: (_, id, revision) => {
        expect(id).toBe("1");
        revisions.push(revision);
        const signedTransactions = revision === null ? [] : [signed(lifetime(refund))];
        return Promise.resolve({
          outcome: "answered",
          content: { signedTransactions, next: revision === null ? "page-2" : null },
        });
      },
    });
    expect(outcome).toEqual({ outcome: "stored" });
    expect(revisions).toEqual([null, "page-2"]);
    const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
    expect(JSON.stringify(purchase?.["lines"])).toContain(String(ASKED - DAY));
  });
  test("whose history has a transaction that does not verify is stored as its status says", async () => {
    const world = await subscribed("1");
    const outcome = await refresh(world, {
      ...statuses(renewed("1", { purchaseDate: END + 1000 })),
      transactionHistory: () =>
        Promise.resolve({
          outcome: "answered",
          content: { signedTransactions: [signed(lifetime({ type: "Something New" }))], next: null },
        }),
    });
    expect(outcome).toEqual({ outcome: "stored" });
    const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
    expect(JSON.stringify(purchase?.["lines"])).toContain(String(LATER));
  });
  test("whose history names a subscription is stored with its status, whose refresh the answer puts off", async () => {
    const world = await held();
    const outcome = await refresh(world, {
      transactionHistory: () =>
        Promise.resolve({
          outcome: "answered",
          content: { signedTransactions: [signed(lifetime()), signed(renewed("2"))], next: null },
        }),
      subscriptionStatuses: (_, id) => {
        expect(id).toBe("1");
        const info = aRenewalInfo({ originalTransactionId: "2", renewalDate: LATER, signedDate: ASKED });
        return Promise.resolve(facts([signed(renewed("2"))], [signed(info)]));
      },
    });
    expect(outcome).toEqual({ outcome: "stored" });
    const subscription = (await world.items()).find(({ sk, key }) => sk === "PURCHASE" && key === "2");
    expect(JSON.stringify(subscription?.["renewal"])).toContain(String(LATER));
  });
  test.each([
    [{ outcome: "unavailable", retryAt: null, status: 500, reason: null }, "unavailable"],
    [{ outcome: "unknown", status: 404, reason: null }, "stored"],
  ] as const)(
    "whose history names a subscription, with a status that is %j, is %s",
    async (answer, expected) => {
      const world = await held();
      const { outcome } = await refresh(world, {
        transactionHistory: () =>
          Promise.resolve({
            outcome: "answered",
            content: { signedTransactions: [signed(lifetime()), signed(renewed("2"))], next: null },
          }),
        subscriptionStatuses: () => Promise.resolve(answer),
      });
      expect(outcome).toBe(expected);
    },
  );
  test("whose history breaks off stores nothing of it", async () => {
    const world = await held();
    const before = await world.items();
    const outcome = await refresh(world, {
      transactionHistory: (_, __, revision) =>
        Promise.resolve(
          revision === null
            ? { outcome: "answered", content: { signedTransactions: [signed(lifetime())], next: "2" } }
            : { outcome: "unavailable", retryAt: null, status: 500, reason: null },
        ),
    });
    expect(outcome).toEqual({ outcome: "unavailable", retryAt: null });
    expect(await world.items()).toEqual(before);
  });
  test("whose history never ends is asked for a bounded number of pages", async () => {
    const world = await held();
    let pages = 0;
    await refresh(world, {
      transactionHistory: () =>
        Promise.resolve({
          outcome: "answered",
          content: { signedTransactions: [signed(lifetime())], next: String((pages += 1)) },
        }),
    });
    expect(pages).toBe(20);
  });
});

test("a store that answers slowly is asked for a quarter of a minute, and what it said is stored", async () => {
  const world = await subscribed("1");
  const line = aLine({ transactionIdentifier: "7", nature: "non_consumable", endsAt: null });
  await world.store({ purchases: [aPurchase({ key: "7", lines: [line] })], origin: fromApple() });
  let moment = ASKED;
  let pages = 0;
  const outcome = await refresh(
    world,
    {
      transactionHistory: () => {
        moment += 5000;
        const lifetime = { type: "Non-Consumable", transactionId: "7", expiresDate: undefined };
        const signedTransactions = [signed(renewed("7", lifetime))];
        return Promise.resolve({
          outcome: "answered",
          content: { signedTransactions, next: String((pages += 1)) },
        });
      },
    },
    { key: "7", now: () => moment },
  );
  expect([outcome, pages]).toEqual([{ outcome: "stored" }, 3]);
});

describe("a subscription whose statuses leave out what happened to it", () => {
  const UNREFUNDED = { refundedBy: null, revokedSince: null };
  test("is asked about by its history too, where a period is charged ahead that follows none that is known", async () => {
    const world = await subscribed("1");
    const upgrade = renewed("1", { transactionId: "18", purchaseDate: ASKED - DAY, expiresDate: LATER });
    const ahead = renewed("1", { purchaseDate: LATER, expiresDate: LATER + 30 * DAY });
    const outcome = await refresh(world, {
      ...statuses(ahead),
      transactionHistory: () =>
        Promise.resolve({
          outcome: "answered",
          content: { signedTransactions: [signed(ahead), signed(upgrade)], next: null },
        }),
    });
    expect(outcome).toEqual({ outcome: "stored" });
    const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
    expect(JSON.stringify(purchase?.["lines"])).toContain(String(ASKED - DAY));
    // The next one follows it.
    expect(await refresh(world, statuses(ahead))).toEqual({ outcome: "stored" });
  });
  test.each<[what: string, year: Partial<Line>, asks: boolean]>([
    ["of which a refund was reversed", {}, true],
    ["of which a refund was reversed, also where it was signed since", { verifiedAt: END - 3 * DAY }, true],
    ["of which one was refunded, and has not ended", { revokedAt: NOW - 8 * DAY }, true],
    ["of which a refund was reversed, also beside its own product", { productIdentifier: "plus" }, true],
    ["not where nothing was refunded", UNREFUNDED, false],
    [
      "that its own product's shorter period has overtaken, as if it were refunded",
      { ...UNREFUNDED, productIdentifier: "plus" },
      true,
    ],
    [
      "not where its own product's ends with it",
      { ...UNREFUNDED, productIdentifier: "plus", endsAt: LATER },
      false,
    ],
    [
      "not where its own product's began with it",
      { ...UNREFUNDED, productIdentifier: "plus", startsAt: END - 3 * DAY },
      false,
    ],
    ["not where the refunded one is marked as upgraded", { standing: "expired" }, false],
    ["not where the refunded one is over", { endsAt: END - 3 * DAY }, false],
    ["not where the refunded one ends now", { endsAt: ASKED }, false],
  ])("is asked about by its history too: %s", async (_, more, asks) => {
    const world = aWorld();
    const [REFUNDED, UPGRADED] = [NOW - 8 * DAY, END - 3 * DAY];
    const year = aLine({
      transactionIdentifier: "1",
      event: "1",
      endsAt: LATER + 300 * DAY,
      refundedBy: REFUNDED,
      revokedSince: REFUNDED,
      verifiedAt: NOW - 7 * DAY,
      ...more,
    });
    const plus = { transactionId: "19", productId: "plus", purchaseDate: UPGRADED, expiresDate: LATER };
    const told = aLine({
      transactionIdentifier: "19",
      event: "19",
      productIdentifier: "plus",
      startsAt: UPGRADED,
      endsAt: LATER,
      verifiedAt: UPGRADED,
    });
    await world.store({
      purchases: [aPurchase({ key: "1", lines: [year, told] })],
      origin: fromApple(),
    });
    let asked = 0;
    const marked = aTransaction({
      originalTransactionId: "1",
      transactionId: "1",
      expiresDate: LATER + 300 * DAY,
      isUpgraded: true,
      signedDate: ASKED,
    });
    const outcome = await refresh(world, {
      ...statuses(renewed("1", plus)),
      transactionHistory: () => {
        asked += 1;
        return Promise.resolve({
          outcome: "answered",
          content: { signedTransactions: [signed(marked)], next: null },
        });
      },
    });
    expect(outcome).toEqual({ outcome: "stored" });
    expect(asked).toBe(asks ? 1 : 0);
  });
  test.each<[what: string, more: Parameters<typeof aRenewalInfo>[0], asks: number]>([
    ["that is to come", {}, 1],
    ["of the period in the answer", { renewalDate: LATER }, 0],
    ["that is over", { renewalDate: ASKED }, 0],
    ["by which a failed payment was due", { isInBillingRetryPeriod: true }, 0],
    ["of another subscription", { originalTransactionId: "2" }, 0],
  ])(
    "is asked about by its history too where its renewal info names an end %s, of which nothing is told",
    async (_, more, asks) => {
      const world = await subscribed("1");
      const yearEnds = END - 3600_000 + 365 * DAY;
      const info = aRenewalInfo({
        originalTransactionId: "1",
        renewalDate: yearEnds,
        signedDate: ASKED,
        ...more,
      });
      const year = renewed("1", {
        transactionId: "10",
        productId: "yearly",
        webOrderLineItemId: "77",
        purchaseDate: END - 3600_000,
        expiresDate: yearEnds,
      });
      let asked = 0;
      const outcome = await refresh(world, {
        subscriptionStatuses: () => Promise.resolve(facts([signed(renewed("1"))], [signed(info)])),
        transactionHistory: () => {
          asked += 1;
          const signedTransactions = [signed(renewed("1")), signed(year)];
          return Promise.resolve({ outcome: "answered", content: { signedTransactions, next: null } });
        },
      });
      expect(outcome).toEqual({ outcome: "stored" });
      expect(asked).toBe(asks);
      const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
      expect(JSON.stringify(purchase?.["lines"]).includes(String(yearEnds))).toBe(asks === 1);
    },
  );
  test("is not asked about by its history where its renewal info names the end of a period that is known, and not in the answer", async () => {
    const world = aWorld();
    const known = [
      aLine({ transactionIdentifier: "1", event: "1" }),
      aLine({ transactionIdentifier: "20", event: "20", startsAt: LATER, endsAt: LATER + 30 * DAY }),
    ];
    await world.store({ purchases: [aPurchase({ key: "1", lines: known })], origin: fromApple() });
    const info = aRenewalInfo({
      originalTransactionId: "1",
      renewalDate: LATER + 30 * DAY,
      signedDate: ASKED,
    });
    const answer = facts([signed(renewed("1"))], [signed(info)]);
    let asked = 0;
    const transactionHistory: AppStoreServer["transactionHistory"] = () => {
      asked += 1;
      return Promise.resolve({ outcome: "answered", content: { signedTransactions: [], next: null } });
    };
    await refresh(world, { subscriptionStatuses: () => Promise.resolve(answer), transactionHistory });
    expect(asked).toBe(0);
  });
  describe("whose renewal info names the end of a period of which nothing is told", () => {
    type History = Awaited<ReturnType<AppStoreServer["transactionHistory"]>>;
    const unavailable = { outcome: "unavailable", retryAt: null, status: 503, reason: null } as const;
    const NAMED = ASKED + 80 * DAY;
    const [startsAt, endsAt] = [ASKED - 100 * DAY, ASKED - 70 * DAY];
    const REFUNDED = endsAt - DAY;
    const old = renewed("1", { transactionId: "1", purchaseDate: startsAt, expiresDate: endsAt });
    const info = aRenewalInfo({ originalTransactionId: "1", renewalDate: NAMED, signedDate: ASKED });
    const statusesSay = (...payloads: readonly Payload[]): Partial<AppStoreServer> => ({
      subscriptionStatuses: () =>
        Promise.resolve(
          facts(
            payloads.map((one) => signed(one)),
            [signed(info)],
          ),
        ),
    });
    /** It ended 70 days ago, and is due now. */
    const longOver = async (line: Partial<Line> = {}): Promise<World> => {
      const world = aWorld();
      const known = { transactionIdentifier: "1", event: "1", startsAt, endsAt, verifiedAt: endsAt };
      const lines = [aLine({ ...known, ...line })];
      await world.store({ purchases: [aPurchase({ key: "1", lines })], origin: fromApple() });
      await queueAt(world, "1", ASKED);
      return world;
    };

    test.each<[what: string, history: History, now: number]>([
      ["is not answered", unavailable, ASKED],
      ["is unknown", { outcome: "unknown", status: 404, reason: null }, ASKED],
      ["lacks it", { outcome: "answered", content: { signedTransactions: [], next: null } }, ASKED],
      [
        "is too long to be read whole",
        { outcome: "answered", content: { signedTransactions: [], next: "more" } },
        ASKED + 60_000,
      ],
    ])(
      "is stored as its status says, and asked about daily until that end, where the history %s",
      async (_, history, now) => {
        const world = await longOver();
        const refunded = { ...old, revocationDate: REFUNDED, revocationReason: 0 };
        const answers = { ...statusesSay(refunded), transactionHistory: () => Promise.resolve(history) };
        expect(await refresh(world, answers, { now: () => now })).toEqual({ outcome: "stored" });
        const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
        expect(JSON.stringify(purchase?.["lines"])).toContain(String(REFUNDED));
        const next = (await queuedOf(world))["1"];
        expect(next).toBeGreaterThan(now + HOUR);
        expect(next).toBeLessThanOrEqual(now + DAY);
      },
    );
    test("is asked about daily, too, where the known period is marked as upgraded", async () => {
      const world = await longOver({ endsAt: ASKED + 200 * DAY, standing: "expired" });
      const marked = { ...old, expiresDate: ASKED + 200 * DAY, isUpgraded: true };
      const answers = {
        ...statusesSay(marked),
        transactionHistory: (): Promise<History> =>
          Promise.resolve({ outcome: "answered", content: { signedTransactions: [], next: null } }),
      };
      expect(await refresh(world, answers)).toEqual({ outcome: "stored" });
      expect((await queuedOf(world))["1"]).toBeLessThanOrEqual(ASKED + DAY);
    });
    test("is asked about daily, too, where its next period is charged already", async () => {
      const world = aWorld();
      const month = {
        transactionIdentifier: "1",
        event: "1",
        startsAt: ASKED - 29 * DAY,
        endsAt: ASKED + DAY,
      };
      await world.store({ purchases: [aPurchase({ key: "1", lines: [aLine(month)] })], origin: fromApple() });
      await queueAt(world, "1", ASKED);
      const ahead = renewed("1", {
        transactionId: "2",
        purchaseDate: month.endsAt,
        expiresDate: month.endsAt + 365 * DAY,
        signedDate: ASKED,
      });
      const answers = { ...statusesSay(ahead), transactionHistory: () => Promise.resolve(unavailable) };
      expect(await refresh(world, answers)).toEqual({ outcome: "stored" });
      expect((await queuedOf(world))["1"]).toBeLessThanOrEqual(ASKED + DAY);
    });
    test("leaves what the person has beside it to its own refresh, where the history is not answered", async () => {
      const world = await longOver();
      const year = { startsAt: NOW, endsAt: NOW + 365 * DAY };
      const lines = [aLine({ transactionIdentifier: "2", event: "2", ...year })];
      await world.store({ purchases: [aPurchase({ key: "2", lines })], origin: fromApple() });
      const { 2: before } = await queuedOf(world);
      const other = renewed("2", {
        transactionId: "2",
        purchaseDate: year.startsAt,
        expiresDate: year.endsAt,
        signedDate: ASKED,
      });
      await refresh(world, {
        ...statusesSay(old, other),
        transactionHistory: () => Promise.resolve(unavailable),
      });
      expect((await queuedOf(world))["2"]).toBe(before);
    });
  });
  test("is stored as its status says where the history about an old refund is not answered, but not where periods are missing", async () => {
    const unavailable = { outcome: "unavailable", retryAt: null, status: 503, reason: null } as const;
    const history = { transactionHistory: () => Promise.resolve(unavailable) };
    const world = aWorld();
    const refunded = aLine({
      transactionIdentifier: "1",
      event: "1",
      productIdentifier: "yearly",
      endsAt: LATER + 300 * DAY,
      revokedAt: NOW - 8 * DAY,
      refundedBy: NOW - 8 * DAY,
      revokedSince: NOW - 8 * DAY,
    });
    const month = aLine({ transactionIdentifier: "18", event: "18", endsAt: END });
    await world.store({
      purchases: [aPurchase({ key: "1", lines: [refunded, month] })],
      origin: fromApple(),
    });
    expect(await refresh(world, { ...statuses(renewed("1")), ...history })).toEqual({ outcome: "stored" });
    const ahead = renewed("1", {
      purchaseDate: LATER + DAY,
      expiresDate: LATER + 31 * DAY,
      transactionId: "20",
    });
    expect(await refresh(world, { ...statuses(ahead), ...history })).toMatchObject({
      outcome: "unavailable",
    });
  });
});

test("an answer without the whole history leaves the refresh of the person's other disagreement due, and one with it does not", async () => {
  const PERIOD = { startsAt: NOW - 10 * DAY, endsAt: NOW + 355 * DAY };
  const yearly = (id: string, more = {}) =>
    aLine({ event: "w21", transactionIdentifier: id, ...PERIOD, ...more });
  const refunded = { revokedAt: END - 3 * DAY, verifiedAt: END - 3 * DAY };
  const world = aWorld();
  const purchases = [
    aPurchase({ key: "1", lines: [aLine({ transactionIdentifier: "1", event: "1" })] }),
    // Signed without its refund since, under another id.
    aPurchase({ key: "2", lines: [yearly("21", refunded), yearly("22", { verifiedAt: END })] }),
  ];
  await world.at(END).store({ purchases, origin: fromApple() });
  expect((await queuedOf(world))["2"]).toBe(END + 5000);
  const other = (transactionId: string) =>
    renewed("2", {
      transactionId,
      webOrderLineItemId: "w21",
      purchaseDate: PERIOD.startsAt,
      expiresDate: PERIOD.endsAt,
    });
  const told = statuses(renewed("1"), other("22"));
  const page = (ids: readonly string[], next: string | null = null, more = {}) =>
    Promise.resolve({
      outcome: "answered" as const,
      content: { signedTransactions: ids.map((id) => signed({ ...other(id), ...more })), next },
    });
  let clock = ASKED;
  const late = (): Promise<Awaited<ReturnType<typeof page>>> => {
    clock += 16_000;
    return page(["22"], "2");
  };
  const unavailable = { outcome: "unavailable", retryAt: null, status: 503, reason: null } as const;
  for (const transactionHistory of [
    () => Promise.resolve(unavailable),
    late,
    () => page(["21"], null, { type: "Something New" }),
  ]) {
    clock = ASKED;
    const answers = { ...told, transactionHistory };
    expect(await refresh(world, answers, { now: () => clock })).toEqual({ outcome: "stored" });
    const queued = await queuedOf(world);
    expect(queued["2"]).toBe(END + 5000);
    // What was asked about is answered.
    expect(queued["1"]).toBeGreaterThan(ASKED + DAY);
  }

  const transactionHistory = () => page(["21", "22"]);
  expect(await refresh(world, { ...told, transactionHistory })).toEqual({ outcome: "stored" });
  expect((await queuedOf(world))["2"]).toBeGreaterThan(ASKED + DAY);
});

describe("transaction ids that disagree", () => {
  const disputed = async (ids: number) => {
    const world = aWorld();
    const copy = { event: "e", nature: "non_consumable", endsAt: null } as const;
    const lines = Array.from({ length: ids }, (_, index) =>
      aLine({
        ...copy,
        transactionIdentifier: String(index + 1),
        purchasedAt: NOW - 10 * DAY,
        verifiedAt: NOW - (ids - index) * DAY,
        ...(index === 0 && {
          revokedAt: NOW - ids * DAY,
          refundedBy: NOW - ids * DAY,
          revokedSince: NOW - ids * DAY,
        }),
      }),
    );
    await world.store({ purchases: [aPurchase({ key: "1", lines })], origin: fromApple() });
    return world;
  };
  const asking = (asked: string[]): Partial<AppStoreServer> => ({
    transactionHistory: () =>
      Promise.resolve({ outcome: "answered", content: { signedTransactions: [], next: null } }),
    transaction: (_, id) => {
      asked.push(id);
      return Promise.resolve({ outcome: "unknown", status: 404, reason: null });
    },
  });
  test("are each asked about, and one that the store forgot says nothing", async () => {
    const asked: string[] = [];
    // The answer names nothing of the purchase.
    expect(await refresh(await disputed(3), asking(asked))).toEqual({ outcome: "failed" });
    expect(asked.toSorted()).toEqual(["1", "2", "3"]);
  });
  test("are asked about twenty at a time, those heard of longest ago first", async () => {
    const asked: string[] = [];
    await refresh(await disputed(25), asking(asked));
    expect(asked).toEqual(Array.from({ length: 20 }, (_, index) => String(index + 1)));
  });
});

test("an erased customer's purchase in the answer does not end the refresh of another", async () => {
  const world = await subscribed("1");
  const erased = await world.store({ purchases: [aPurchase({ key: "2" })] }, byCredential("b"));
  await world.erase(erased);
  const outcome = await refresh(world, statuses(renewed("1"), renewed("2")));
  expect(outcome).toEqual({ outcome: "stored" });
  expect(await queuedOf(world)).toEqual({ 1: LATER - 3600_000 });
});

test("an erased customer's own purchase stores nothing", async () => {
  const world = await subscribed("1");
  await world.erase(await world.store({ purchases: [aPurchase({ key: "1" })] }));
  const before = await world.items();
  expect(await refresh(world, statuses(renewed("1")))).toEqual({ outcome: "over" });
  expect(await world.items()).toEqual(before);
});

test("the person that the answer names is the one that owns the purchase from then on", async () => {
  const world = await subscribed("1");
  await refresh(world, statuses(renewed("1", { appTransactionId: "704000000000001" })));
  const named = await world.store({ identities: [device("704000000000001")] });
  expect(named?.holdings.map(({ key }) => key)).toEqual(["1"]);
});

describe("app transaction ids that differ within the lineage", () => {
  const [FIRST, SECOND] = ["704000000000001", "704000000000002"];
  const periods = [
    renewed("1", {
      transactionId: "1",
      purchaseDate: NOW - 10 * DAY,
      expiresDate: END,
      appTransactionId: FIRST,
    }),
    renewed("1", { appTransactionId: SECOND }),
    renewed("1", {
      transactionId: "12",
      purchaseDate: LATER,
      expiresDate: LATER + 30 * DAY,
      appTransactionId: SECOND,
    }),
  ];

  test.each([
    ["alone", []],
    ["beside another person's", [renewed("2", { appTransactionId: "704000000000099" })]],
  ])("do not refuse what its store says of it, %s", async (_, others) => {
    const world = await subscribed("1");
    const latest = periods.slice(-1);
    const outcome = await refresh(world, {
      ...statuses(...latest, ...others),
      transactionHistory: () =>
        Promise.resolve({
          outcome: "answered",
          content: { signedTransactions: periods.map((one) => signed(one)), next: null },
        }),
    });
    expect(outcome).toEqual({ outcome: "stored" });
    const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
    expect(JSON.stringify(purchase)).toContain(`${LATER + 30 * DAY}`);
  });
});

test.each([
  [4, true],
  [3, false],
])("status %i beside a renewal info without a grace period's end: in grace %p", async (_, isInGrace) => {
  const world = await subscribed("1");
  const info = signed(
    aRenewalInfo({
      originalTransactionId: "1",
      renewalDate: END,
      isInBillingRetryPeriod: true,
      expirationIntent: 2,
      signedDate: ASKED,
    }),
  );
  const outcome = await refresh(world, {
    subscriptionStatuses: () =>
      Promise.resolve({
        outcome: "answered",
        content: {
          signedTransactions: [
            signed(renewed("1", { transactionId: "1", purchaseDate: NOW - 10 * DAY, expiresDate: END })),
          ],
          signedRenewalInfos: [info],
          ...(isInGrace && { signedInGrace: [info] }),
        },
      }),
  });
  expect(outcome).toEqual({ outcome: "stored" });
  const purchase = (await world.items()).find(({ sk }) => sk === "PURCHASE");
  expect(purchase).toMatchObject({
    renewal: [END, true, expect.any(String), null, true, 2, ASKED, isInGrace],
  });
});
