import type { DueAsk } from "../../../lib/customers/asking/ask.ts";
import type { StoreInEnvironment } from "../../../lib/customers/application-stores.ts";
import { MINUTE } from "../../../lib/duration.ts";
import type { NextAsk } from "../../../lib/entitlements/next-ask.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import { HEALTHY } from "../../../lib/queues/health.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { assertInvariants } from "../../../testing/support/table/invariants.ts";
import { BUNDLE } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable } from "../../../testing/support/table/table.ts";
import { owned, type World } from "../../../testing/support/world.ts";
import {
  aName,
  createRefreshing,
  fromApple,
  OTHER_BUNDLE,
  queuedOf,
  recordedOf,
} from "../../customers/refreshing.ts";

const table = await createTestTable();
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

const JUST_AFTER = 5000;
const { source } = fromApple();
const asked = (at: number, because: NextAsk["because"] = "no-answer"): NextAsk => ({ at, because });

/** An application with these subscriptions, by their ends. */
const holding = async (ends: Readonly<Record<string, number>>) => {
  const application = aName();
  const refreshing = createRefreshing(table, [application]);
  for (const [key, endsAt] of Object.entries(ends)) await refreshing.hold(key, endsAt);
  const reference: StoreInEnvironment = {
    application,
    store: "ios-store",
    environment: "production",
    bundleOrPackage: BUNDLE,
  };
  const queues = createAskQueues(table);
  const dueIn = async (changes: Partial<StoreInEnvironment> = {}, limit = 10) =>
    (await queues.of({ ...reference, ...changes }).due(NOW + DAY, limit)).map(({ purchase }) => purchase.key);
  return {
    application,
    queues,
    queue: queues.of(reference),
    reference,
    dueIn,
    world: refreshing.world,
    refreshing,
    /** A purchase's question that is due just after its end, now. */
    due: (key: string, dueAt = NOW + JUST_AFTER): DueAsk => ({
      application,
      purchase: { store: "ios-store", environment: "production", key: purchaseKey(key) },
      ask: { at: dueAt, because: "renewal" },
      source,
      acknowledgement: null,
    }),
  };
};

const storedOf = async (world: World, purchase: Purchase = owned("1")) => {
  const { table: customers } = world.factStore;
  const known = await customers.findFacts(world.application.identifier, [], [purchase], NOW);
  const [stored] = known.purchases.values();
  if (stored === undefined) throw new Error("The purchase is not stored.");
  return stored;
};

/** What the queue and the purchases say of the times of the questions, which is the same. */
const timesIn = async (world: World): Promise<Record<string, number>> => {
  const queued = await queuedOf(world);
  expect(await recordedOf(world)).toEqual(queued);
  return queued;
};

describe("what is due", () => {
  test("comes oldest first, up to the limit", async () => {
    const { dueIn } = await holding({ 1: NOW - 1000, 2: NOW - 3000, 3: NOW - 2000 });
    expect(await dueIn()).toEqual(["2", "3", "1"]);
    expect(await dueIn({}, 2)).toEqual(["2", "3"]);
  });
  test("is due at its own millisecond and not before", async () => {
    const { queue, due } = await holding({ 1: NOW });
    expect(await queue.due(NOW + JUST_AFTER - 1, 10)).toEqual([]);
    expect(await queue.due(NOW + JUST_AFTER, 10)).toEqual([due("1")]);
  });
  test("is of one bundle or package, one environment and one store", async () => {
    const { dueIn, refreshing } = await holding({ 1: NOW });
    await refreshing.hold("2", NOW, { environment: "sandbox" });
    await refreshing.hold("3", NOW, { bundleIdentifier: OTHER_BUNDLE });
    expect(await dueIn()).toEqual(["1"]);
    expect(await dueIn({ environment: "sandbox" })).toEqual(["2"]);
    expect(await dueIn({ bundleOrPackage: OTHER_BUNDLE })).toEqual(["3"]);
    expect(await dueIn({ store: "android-store" })).toEqual([]);
  });
});

describe("a lease", () => {
  const lease = (worker: string, until: number) => ({ worker, until });
  const paused = {
    failures: 2,
    because: "credential-rejected",
    failingSince: NOW,
    pausedUntil: NOW + 1000,
  } as const;

  test("is refused to another worker until it ends", async () => {
    const { queue } = await holding({});
    expect(await queue.take(lease("a", NOW + 60), NOW)).toEqual(HEALTHY);
    expect(await queue.take(lease("b", NOW + 119), NOW + 59)).toBeNull();
    expect(await queue.take(lease("b", NOW + 120), NOW + 60)).toEqual(HEALTHY);
    expect(await queue.take(lease("a", NOW + 121), NOW + 61)).toBeNull();
  });

  test("is not released by a worker that has lost it", async () => {
    const { queues, queue, reference } = await holding({});
    await queue.take(lease("a", NOW + 60), NOW);
    await queue.take(lease("b", NOW + 120), NOW + 60);
    await queue.release({ worker: "a" }, paused);
    expect(await queues.healthOf(reference)).toEqual(HEALTHY);
    expect(await queue.take(lease("c", NOW + 121), NOW + 61)).toBeNull();
  });
  test("is refused while the queue is paused, until an operator resumes it", async () => {
    const { queues, queue, reference } = await holding({});
    await queue.take(lease("a", NOW + 60), NOW);
    await queue.release({ worker: "a" }, paused);
    expect(await queues.healthOf(reference)).toEqual(paused);
    expect(await queue.take(lease("a", NOW + 2000), NOW + 999)).toBeNull();
    await queues.resume({ ...reference, bundleOrPackage: OTHER_BUNDLE });
    expect(await queue.take(lease("a", NOW + 2000), NOW + 999)).toBeNull();
    await queues.resume(reference);
    expect(await queue.take(lease("a", NOW + 2000), NOW + 999)).toEqual({ ...paused, pausedUntil: 0 });
  });
});

describe("a question that is moved", () => {
  test("moves with its purchase's record of it, and with its reason", async () => {
    const { queues, due, world } = await holding({ 1: NOW });
    await queues.move(due("1"), asked(NOW + DAY));
    expect(await timesIn(world)).toEqual({ 1: NOW + DAY });
    expect((await storedOf(world)).ask).toEqual(asked(NOW + DAY));
  });
  test("out of the queue leaves nothing", async () => {
    const { queues, due, world } = await holding({ 1: NOW });
    await queues.move(due("1"), null);
    expect(await timesIn(world)).toEqual({});
    expect(await queues.sourceOf(world.application.identifier, await storedOf(world))).toBeNull();
  });
  test("stays where new facts, or an operator, have moved it meanwhile", async () => {
    const { queues, application, due, world, refreshing } = await holding({ 1: NOW, 2: NOW });
    await refreshing.hold("1", NOW + 30 * DAY);
    await queues.set(application, await storedOf(world, owned("2")), asked(NOW, "requested"), source);
    await queues.move(due("1"), asked(NOW + DAY));
    await queues.move(due("2"), null);
    expect(await timesIn(world)).toEqual({ 1: NOW + 30 * DAY + JUST_AFTER, 2: NOW });
  });
});

describe("a question that is set", () => {
  test("takes the place of the one before", async () => {
    const { queues, application, world } = await holding({ 1: NOW });
    const set = async (at: number) =>
      queues.set(application, await storedOf(world), asked(at, "requested"), source);
    for (const at of [NOW + 2 * DAY, NOW, NOW]) {
      expect(await set(at)).toBe("written");
      expect(await timesIn(world)).toEqual({ 1: at });
      expect((await storedOf(world)).ask).toEqual(asked(at, "requested"));
    }
    expect(await queues.sourceOf(application, await storedOf(world))).toEqual(source);
  });

  test("conflicts where the purchase has changed since", async () => {
    const { queues, application, world, refreshing } = await holding({ 1: NOW });
    const stored = await storedOf(world);
    await refreshing.hold("1", NOW + 30 * DAY);
    const before = await world.items();
    expect(await queues.set(application, stored, asked(NOW), source)).toBe("conflict");
    expect(await world.items()).toEqual(before);
  });
});

describe("a pending acknowledgement", () => {
  const pending = { dueSince: NOW, deadline: NOW + 3 * DAY };
  const google = {
    store: "android-store",
    packageName: "com.example.trails",
    purchaseToken: "the-token",
    productKind: "subscription",
  } as const;
  /** A purchase at Google that waits for its acknowledgement. */
  const waiting = async () => {
    const held = await holding({});
    const { application, queues, world } = held;
    const purchase = { ...owned("1"), store: "android-store" } as const;
    await world.store({
      purchases: [purchase],
      origin: { source: google, canAsk: true, askedAt: null },
      acknowledgementDue: { ...google, purchase, productIdentifier: "monthly", deadline: pending.deadline },
    });
    const queue = queues.of({
      application,
      store: "android-store",
      environment: "production",
      bundleOrPackage: google.packageName,
    });
    return { ...held, queue, stored: async () => storedOf(world, purchase) };
  };

  test("is in the purchase and in its question, and moves with it", async () => {
    const { queues, queue, stored } = await waiting();
    const [due] = await queue.due(NOW + MINUTE, 1);
    expect(due).toMatchObject({ ask: { because: "acknowledgement" }, acknowledgement: pending });
    if (due !== undefined) await queues.move(due, asked(NOW + DAY));
    expect(await queue.due(NOW + DAY, 1)).toMatchObject([{ acknowledgement: pending }]);
    expect(await stored()).toMatchObject({ acknowledgement: pending, ask: asked(NOW + DAY) });
  });
  test.each([
    ["the question that the facts give", asked(NOW + DAY, "renewal"), [{ acknowledgement: null }]],
    ["none", null, []],
  ])("that is made leaves %s", async (_, to, due) => {
    const { queues, queue, stored, application } = await waiting();
    await queues.acknowledged(application, await stored(), google, to);
    expect(await stored()).toMatchObject({ acknowledgement: null, ask: to });
    expect(await queue.due(NOW + 9 * DAY, 1)).toMatchObject(due);
  });
  test("that is made stays pending where the question has moved since", async () => {
    const { queues, stored, application } = await waiting();
    const before = await stored();
    await queues.set(application, before, asked(NOW, "requested"), google);
    await queues.acknowledged(application, before, google, null);
    expect(await stored()).toMatchObject({ acknowledgement: pending, ask: asked(NOW, "requested") });
  });
});
