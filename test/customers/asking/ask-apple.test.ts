import { HOUR } from "../../../lib/duration.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import type { AppStoreAnswer, AppStoreServer } from "../../../lib/stores/ios-store/app-store-server.ts";
import type { SignedFacts } from "../../../lib/stores/ios-store/server-answers.ts";
import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { makeChain, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import { aBundle, aRenewalInfo, BUNDLE, type Payload } from "../../../testing/support/stores/ios-store.ts";
import { aCatalog, aLine, aPurchase, aRenewal, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aName, fromApple, queuedOf, recordedOf } from "../refreshing.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { byCredential, createWorld, type World } from "../../../testing/support/world.ts";

import {
  chain,
  END,
  LATER,
  ASKED,
  KEY,
  signed,
  facts,
  DOWN,
  UNKNOWN,
  renewed,
  refresh,
  says,
  statuses,
  STORED,
  same,
  history,
  storedLines,
} from "./apple-questions.ts";

const table = await aUseCaseTable();

/** An application with Apple's key that holds these purchases of one person. */
const holding = async (...purchases: readonly Purchase[]): Promise<World> => {
  const { application, ...world } = createWorld(table);
  const [identifier, iosStore] = [applicationId(aName()), [aBundle({ serverApi: KEY })]];
  const asked = world.with({ application: { ...application, identifier, iosStore, catalog: aCatalog() } });
  await asked.store({ purchases, origin: fromApple() });
  return asked;
};

/** Subscriptions of one person that end at once. */
const subscribed = (...lineages: readonly string[]): Promise<World> =>
  holding(
    ...lineages.map((key) => aPurchase({ key, lines: [aLine({ transactionIdentifier: key, event: key })] })),
  );

describe("a subscription", () => {
  test("is asked about by its statuses, whose renewals move each refresh", async () => {
    const world = await subscribed("1", "2");
    const infos = ["1", "2"].map((lineage) => {
      const fields = { renewalDate: LATER, signedDate: ASKED, appTransactionId: undefined };
      return signed(aRenewalInfo({ originalTransactionId: lineage, ...fields }));
    });
    const transactions = [renewed("1"), renewed("2")].map((one) => signed(one));
    const outcome = await refresh(world, {
      subscriptionStatuses: (app, id) => {
        expect([app, id]).toEqual([{ bundleIdentifier: BUNDLE, environment: "production", key: KEY }, "1"]);
        return Promise.resolve(facts(transactions, infos));
      },
    });
    expect(outcome).toEqual(STORED);
    expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR, 2: LATER - HOUR });
    expect(await recordedOf(world)).toEqual(await queuedOf(world));
  });

  const limited = { outcome: "unavailable", retryAt: ASKED + 1, status: 429, reason: null } as const;
  const rejected = { outcome: "credential-rejected", status: 401, reason: null } as const;
  const failed = { outcome: "failed" };
  test.each<[what: string, answer: AppStoreAnswer<SignedFacts>, outcome: object]>([
    ["that the store does not know", UNKNOWN, { outcome: "unknown" }],
    ["whose key the store rejects", rejected, { outcome: "credential-rejected" }],
    ["that meets a limit", limited, { outcome: "unavailable", retryAt: ASKED + 1 }],
    ["in another bundle", facts([signed(renewed("1", { bundleId: "com.example.other" }))]), failed],
    ["in another environment", facts([signed(renewed("1", { environment: "Sandbox" }))]), failed],
  ])("%s stays as it is", async (_, answer, outcome) => {
    const world = await subscribed("1", "2");
    const before = await world.items();
    expect(await refresh(world, says(answer))).toEqual(outcome);
    expect(await world.items()).toEqual(before);
  });

  const forged = makeChain();
  /** A bundle in another group, of a type that this code does not know. */
  const bundle = signed(renewed("77", { type: "Auto-Renewable Subscription Bundle" }));
  const other = signed(renewed("2", { appTransactionId: "704000000000099" }));
  const info = (signer: JwsSigner = chain) =>
    signed(aRenewalInfo({ originalTransactionId: "1", renewalDate: LATER, signedDate: ASKED }), signer);
  test.each<[what: string, answer: AppStoreAnswer<SignedFacts>]>([
    ["one of a type that is not known", facts([bundle, signed(renewed("1"))], [info()])],
    ["a forged one", facts([signed(renewed("1")), signed(renewed("2"), forged)], [info()])],
    ["a forged renewal info", facts([signed(renewed("1"))], [info(), info(forged)])],
    ["another person's", facts([signed(renewed("1")), other], [info()])],
  ])("is renewed beside a payload that is left out: %s", async (_, answer) => {
    const world = await subscribed("1", "2");
    expect(await refresh(world, says(answer))).toEqual(STORED);
    expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR, 2: END - HOUR });
    const stored = (await world.items()).filter(({ sk }) => sk === "PURCHASE");
    const isRenewed = (item: object) => JSON.stringify(item).includes(String(LATER));
    expect(stored.filter(isRenewed).map(({ key }) => key)).toEqual(["1"]);
  });
});

test.each<[what: string, options: Parameters<typeof refresh>[2], outcome: string]>([
  ["a bundle that is not configured any more", { bundle: "com.example.other" }, "unconfigured"],
  ["a bundle without a key", { changes: { iosStore: [aBundle()] } }, "unconfigured"],
  ["a purchase that is not stored", { key: "7" }, "over"],
])("nothing is asked about %s", async (_, options, outcome) => {
  expect(await refresh(await subscribed("1"), {}, options)).toEqual({ outcome });
});

describe("a lifetime purchase", () => {
  const line = aLine({ transactionIdentifier: "1", nature: "non_consumable", endsAt: null });
  const held = () => holding(aPurchase({ key: "1", lines: [line] }));
  const bought = { type: "Non-Consumable", transactionId: "1", purchaseDate: NOW - 10 * DAY };
  const lifetime = (fields: Payload = {}): string =>
    signed(renewed("1", { ...bought, expiresDate: undefined, ...fields }));

  test("is asked about by the person's history, page by page", async () => {
    const world = await held();
    const revisions: (string | null)[] = [];
    const refund = { revocationDate: ASKED - DAY, revocationReason: 0 };
    const outcome = await refresh(world, {
      transactionHistory: (_, id, revision) => {
        revisions.push(id, revision);
        const signedTransactions = revision === null ? [] : [lifetime(refund)];
        const next = revision === null ? "page-2" : null;
        return Promise.resolve({ outcome: "answered", content: { signedTransactions, next } });
      },
    });
    expect(outcome).toEqual(STORED);
    expect(revisions).toEqual(["1", null, "1", "page-2"]);
    expect(await storedLines(world)).toContain(String(ASKED - DAY));
  });

  test("whose history breaks off stores nothing of it", async () => {
    const world = await held();
    const before = await world.items();
    const content = { signedTransactions: [lifetime()], next: "2" };
    const outcome = await refresh(world, {
      transactionHistory: (_, __, revision) =>
        Promise.resolve(revision === null ? { outcome: "answered", content } : DOWN),
    });
    expect(outcome).toEqual({ outcome: "unavailable", retryAt: null });
    expect(await world.items()).toEqual(before);
  });
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
  const BEGUN = { startsAt: END - 3 * DAY, endsAt: LATER, verifiedAt: END - 3 * DAY };
  const month = aLine({ transactionIdentifier: "19", event: "19", ...BEGUN });
  const upgraded = { ...year, standing: "expired" } as const;
  const known = (lines: readonly Line[], periodEndsAt: number | null = null): Promise<World> =>
    holding(
      aPurchase({ key: "1", lines, renewal: periodEndsAt === null ? null : aRenewal({ periodEndsAt }) }),
    );
  const said = statuses(renewed("1", { transactionId: "19", purchaseDate: END - 3 * DAY }));

  test.each<[what: string, asks: boolean, lines: readonly Line[], periodEndsAt: number | null]>([
    ["an end that only the next start tells", true, [year, month], null],
    ["an end that the statuses themselves tell", true, [year], null],
    ["a renewal without its transaction", true, [aLine()], LATER + 30 * DAY],
    ["an upgrade that the statuses tell", false, [upgraded], null],
    ["an upgrade with its mark", false, [upgraded, month], null],
  ])("beside %s is asked for: %p", async (_, asks, lines, periodEndsAt) => {
    const world = await known(lines, periodEndsAt);
    const answers = asks ? history(signed(earlier)) : {};
    expect(await refresh(world, { ...said, ...answers })).toEqual(STORED);
    expect((await storedLines(world)).includes(String(EARLIER))).toBe(asks);
  });
  test.each<[what: string, answers: Partial<AppStoreServer>]>([
    ["does not come", { transactionHistory: () => Promise.resolve(DOWN) }],
    ["does not verify", history(signed({ ...earlier, type: "Something New" }), signed(earlier, makeChain()))],
  ])("that %s blocks no status, and is asked for rarely", async (_, answers) => {
    const world = await known([year, month]);
    expect(await refresh(world, { ...said, ...answers })).toEqual(STORED);
    expect(await storedLines(world)).toContain(String(ASKED));
    expect(await queuedOf(world)).toEqual({ 1: END + 4 * DAY });
  });
});

test("an erased customer's purchase in the answer ends no other refresh", async () => {
  const world = await subscribed("1");
  await world.erase(await world.store({ purchases: [aPurchase({ key: "2" })] }, byCredential("b")));
  expect(await refresh(world, statuses(renewed("1"), renewed("2")))).toEqual(STORED);
  expect(await queuedOf(world)).toEqual({ 1: LATER - HOUR });
});

test("an erased customer's own purchase stores nothing", async () => {
  const world = await subscribed("1");
  await world.erase(await world.store({ purchases: [aPurchase({ key: "1" })] }));
  const before = await world.items();
  expect(await refresh(world, statuses(renewed("1")))).toEqual({ outcome: "over" });
  expect(await world.items()).toEqual(before);
});

test.each([
  [true, "grace_period"],
  [false, "billing_retry"],
])("a renewal info without a grace date, in grace by its status: %s", async (isInGrace, status) => {
  const world = await subscribed("1");
  await world.store({ purchases: [aPurchase({ key: "1" })] }, byCredential("a"));
  const failing = { isInBillingRetryPeriod: true, expirationIntent: 2, renewalDate: END, signedDate: ASKED };
  const info = signed(aRenewalInfo({ originalTransactionId: "1", ...failing }));
  const content: SignedFacts = {
    signedTransactions: [signed({ ...same("1"), productId: "monthly" })],
    signedRenewalInfos: [info],
    ...(isInGrace && { signedInGrace: [info] }),
  };
  expect(await refresh(world, says({ outcome: "answered", content }))).toEqual(STORED);
  expect((await world.at(ASKED).read("a")).entitlements).toMatchObject([{ status }]);
});
