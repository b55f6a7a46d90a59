import type { Application } from "../../lib/applications/application.ts";
import { askApple, type AppStoreQuestions } from "../../lib/customers/asking/ask-apple.ts";
import { applicationId, purchaseKey } from "../../lib/identifiers.ts";
import type {
  AppStoreAnswer,
  AppStoreServer,
  SignedFacts,
} from "../../lib/stores/ios-store/server-api/app-store-server.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { fingerprintOf, makeChain, signJws, type JwsSigner } from "../../sandbox/ios-store/signing.ts";
import {
  aBundle,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../testing/support/ios-store.ts";
import { aCatalog, aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";
import { aName, fromApple, queuedOf, recordedOf } from "./refreshing.ts";
import { aUseCaseTable } from "../../testing/support/use-case-table.ts";
import { byCredential, createWorld, device, type World } from "../../testing/support/world.ts";

const chain = makeChain();
const END = NOW + 20 * DAY;
const LATER = END + 30 * DAY;
const HOUR = DAY / 24;
/** The moment of the refreshes: just after the end. */
const ASKED = END + 5000;

const table = await aUseCaseTable();

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

const DOWN = { outcome: "unavailable", retryAt: null, status: 503, reason: null } as const;
const UNKNOWN = { outcome: "unknown", status: 404, reason: "TransactionIdNotFound" } as const;

const nothingElse = () => Promise.reject(new Error("Nothing else is asked."));
const aStore = (answers: Partial<AppStoreServer>): AppStoreServer => ({
  subscriptionStatuses: nothingElse,
  transaction: nothingElse,
  transactionHistory: nothingElse,
  notificationHistory: nothingElse,
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
  return askApple(
    refreshing,
    { ...world.application, ...changes },
    {
      purchase: { store: "ios-store", environment: "production", key: purchaseKey(key) },
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

const statuses = (...payloads: readonly Payload[]): Partial<AppStoreServer> => ({
  subscriptionStatuses: () => Promise.resolve(facts(payloads.map((one) => signed(one)))),
});

const history = (...transactions: readonly string[]): Partial<AppStoreServer> => ({
  transactionHistory: () =>
    Promise.resolve({ outcome: "answered", content: { signedTransactions: transactions, next: null } }),
});
const storedLines = async (world: World): Promise<string> =>
  JSON.stringify((await world.items()).find(({ sk }) => sk === "PURCHASE")?.["lines"]);

describe("a subscription", () => {
  test("is asked about by its statuses, whose renewals move each refresh", async () => {
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
    expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR, 2: LATER - HOUR });
    expect(await recordedOf(world)).toEqual(await queuedOf(world));
  });
  test("without news moves to its next step", async () => {
    const world = await subscribed("1");
    const same = renewed("1", { transactionId: "1", purchaseDate: NOW - 10 * DAY, expiresDate: END });
    expect(await refresh(world, statuses(same))).toEqual({ outcome: "stored" });
    expect(await queuedOf(world)).toEqual({ 1: END + 120_000 });
  });
  test("leaves the question about another of the person's purchases due", async () => {
    const world = await subscribed("1", "2");
    const same = renewed("2", { transactionId: "2", purchaseDate: NOW - 10 * DAY, expiresDate: END });
    expect(await refresh(world, statuses(renewed("1"), same))).toEqual({ outcome: "stored" });
    expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR, 2: END - HOUR });
  });

  test("that the store does not know stays in the queue", async () => {
    const world = await subscribed("1");
    const outcome = await refresh(world, { subscriptionStatuses: () => Promise.resolve(UNKNOWN) });
    expect(outcome).toEqual({ outcome: "unknown" });
    expect(await queuedOf(world)).toEqual({ 1: END - HOUR });
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

describe("a payload that does not verify blocks nothing else", () => {
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
    expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR, 2: END - HOUR });
  });
  test("not even where it is of the purchase asked about", async () => {
    const world = await subscribed("1", "2");
    const answer = facts([signed(renewed("1"), forged), signed(renewed("2"))]);
    const outcome = await refresh(world, { subscriptionStatuses: () => Promise.resolve(answer) });
    expect(outcome).toEqual({ outcome: "failed" });
    expect(await queuedOf(world)).toEqual({ 1: END - HOUR, 2: LATER - HOUR });
  });
});

describe("an answer is not stored", () => {
  const forged = makeChain();
  test.each<[what: string, answer: AppStoreAnswer<SignedFacts>]>([
    ["of another bundle", facts([signed(renewed("1", { bundleId: "com.example.other" }))])],

    ["with a forged renewal info alone", facts([], [signed(aRenewalInfo(), forged)])],

    ["that is signed in the future", facts([signed(renewed("1", { signedDate: ASKED + 61_000 }))])],
  ])("%s", async (_, answer) => {
    const world = await subscribed("1", "2");
    const before = await world.items();
    const outcome = await refresh(world, { subscriptionStatuses: () => Promise.resolve(answer) });
    expect(outcome).toEqual({ outcome: "failed" });
    expect(await world.items()).toEqual(before);
  });
});

test("an answer about two persons stores the lineage asked about alone", async () => {
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
    expect(await storedLines(world)).toContain(String(ASKED - DAY));
  });
  test("whose history breaks off stores nothing of it", async () => {
    const world = await held();
    const before = await world.items();
    const outcome = await refresh(world, {
      transactionHistory: (_, __, revision) =>
        Promise.resolve(
          revision === null
            ? { outcome: "answered", content: { signedTransactions: [signed(lifetime())], next: "2" } }
            : DOWN,
        ),
    });
    expect(outcome).toEqual({ outcome: "unavailable", retryAt: null });
    expect(await world.items()).toEqual(before);
  });
});

test("a slow store is asked for 15 seconds; its answers are stored", async () => {
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

describe("a subscription's history", () => {
  const EARLIER = NOW - 11 * DAY;
  const earlier = renewed("1", { transactionId: "8", purchaseDate: NOW - 40 * DAY, expiresDate: EARLIER });
  const year = aLine({
    transactionIdentifier: "1",
    event: "1",
    productIdentifier: "yearly",
    endsAt: LATER + 300 * DAY,
    verifiedAt: NOW - 7 * DAY,
  });
  const month = aLine({
    transactionIdentifier: "19",
    event: "19",
    startsAt: END - 3 * DAY,
    endsAt: LATER,
    verifiedAt: END - 3 * DAY,
  });
  const known = async (lines: readonly Line[], periodEndsAt: number | null = null): Promise<World> => {
    const world = aWorld();
    const renewal = periodEndsAt === null ? null : aRenewal({ periodEndsAt });
    await world.store({ purchases: [aPurchase({ key: "1", lines, renewal })], origin: fromApple() });
    return world;
  };
  const said = statuses(renewed("1", { transactionId: "19", purchaseDate: END - 3 * DAY }));

  test.each<[what: string, asks: boolean, lines: readonly Line[], periodEndsAt: number | null]>([
    ["an end that only the next start tells", true, [year, month], null],
    ["an end that the statuses themselves tell", true, [year], null],
    ["a renewal without its transaction", true, [aLine()], LATER + 30 * DAY],
    ["an upgrade that the statuses tell", false, [{ ...year, standing: "expired" }], null],
    ["a running period alone", false, [month], LATER],
    ["an upgrade with its mark", false, [{ ...year, standing: "expired" }, month], null],
    ["an inferred end beyond which its own has passed", false, [{ ...year, endsAt: ASKED }, month], null],
  ])("beside %s is asked for: %p", async (_, asks, lines, periodEndsAt) => {
    const world = await known(lines, periodEndsAt);
    const answers = asks ? history(signed(earlier)) : {};
    expect(await refresh(world, { ...said, ...answers })).toEqual({ outcome: "stored" });
    expect((await storedLines(world)).includes(String(EARLIER))).toBe(asks);
  });

  test.each<[what: string, answers: Partial<AppStoreServer>]>([
    ["does not come", { transactionHistory: () => Promise.resolve(DOWN) }],
    ["is unknown", { transactionHistory: () => Promise.resolve(UNKNOWN) }],
    ["does not verify", history(signed({ ...earlier, type: "Something New" }), signed(earlier, makeChain()))],
    ["lacks it", history()],
  ])("that %s blocks no status, and is asked for rarely", async (_, answers) => {
    const world = await known([year, month]);
    expect(await refresh(world, { ...said, ...answers })).toEqual({ outcome: "stored" });
    expect(await storedLines(world)).toContain(String(ASKED));
    expect(await queuedOf(world)).toEqual({ 1: END + 4 * DAY });
  });
});

test("an erased customer's purchase in the answer ends no other refresh", async () => {
  const world = await subscribed("1");
  const erased = await world.store({ purchases: [aPurchase({ key: "2" })] }, byCredential("b"));
  await world.erase(erased);
  const outcome = await refresh(world, statuses(renewed("1"), renewed("2")));
  expect(outcome).toEqual({ outcome: "stored" });
  expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR });
});

test("an erased customer's own purchase stores nothing", async () => {
  const world = await subscribed("1");
  await world.erase(await world.store({ purchases: [aPurchase({ key: "1" })] }));
  const before = await world.items();
  expect(await refresh(world, statuses(renewed("1")))).toEqual({ outcome: "over" });
  expect(await world.items()).toEqual(before);
});

test("the person that the answer names owns the purchase from then on", async () => {
  const world = await subscribed("1");
  await refresh(world, statuses(renewed("1", { appTransactionId: "704000000000001" })));
  const named = await world.store({ identities: [device("704000000000001")] });
  expect(named?.holdings.map(({ key }) => key)).toEqual(["1"]);
});

test.each([
  [4, "grace_period"],
  [3, "billing_retry"],
])("status %i beside a renewal info without a grace date: %s", async (code, status) => {
  const world = await subscribed("1");
  await world.store({ purchases: [aPurchase({ key: "1" })] }, byCredential("a"));
  const info = signed(
    aRenewalInfo({
      originalTransactionId: "1",
      renewalDate: END,
      isInBillingRetryPeriod: true,
      expirationIntent: 2,
      signedDate: ASKED,
    }),
  );
  const same = renewed("1", {
    transactionId: "1",
    productId: "monthly",
    purchaseDate: NOW - 10 * DAY,
    expiresDate: END,
  });
  const { outcome } = await refresh(world, {
    subscriptionStatuses: () =>
      Promise.resolve({
        outcome: "answered",
        content: {
          signedTransactions: [signed(same)],
          signedRenewalInfos: [info],
          ...(code === 4 && { signedInGrace: [info] }),
        },
      }),
  });
  expect(outcome).toBe("stored");
  expect((await world.at(ASKED).read("a")).entitlements).toMatchObject([{ status }]);
});
