import { PutCommand } from "@aws-sdk/lib-dynamodb";
import type { QueueReference } from "../../lib/customers/ask-queue.ts";
import { HEALTHY } from "../../lib/queues/health.ts";
import type { DueAsk } from "../../lib/customers/ask.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { storedPurchase } from "../../lib/table/customers.ts";
import { refreshPartition } from "../../lib/table/keys.ts";
import { createAskQueues } from "../../lib/table/asks.ts";
import { aName, createRefreshing, fromApple, queuedOf, recordedOf } from "../customers/refreshing.ts";
import { meetingAWriteAt, owned, type World } from "../../testing/support/world.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import { DAY, NOW } from "../../testing/support/purchases.ts";
import { createTestTable, type TestTable } from "../../testing/support/table.ts";

let table: TestTable;
const changedByHand = new Set<string>();
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(async () => {
  await assertInvariants(table, { except: changedByHand });
  await table.remove();
});

const JUST_AFTER = 5000;

/** An application with these subscriptions, by their ends. */
const holding = async (ends: Readonly<Record<string, number>>) => {
  const application = aName();
  const refreshing = createRefreshing(table, [application]);
  for (const [key, endsAt] of Object.entries(ends)) await refreshing.hold(key, endsAt);
  const reference: QueueReference = { application, store: "ios-store", environment: "production" };
  return {
    queue: createAskQueues(table),
    reference,
    world: refreshing.worldOf(application),
    refreshing,
  };
};

const storedOf = async (world: World, key: string) => {
  const { table: customers } = world.factStore;
  const known = await customers.findFacts(world.application.identifier, [], [owned(key)], NOW);
  const [stored] = known.purchases.values();
  if (stored === undefined) throw new Error("The purchase is not stored.");
  return stored;
};

describe("what is due", () => {
  test("comes oldest first, up to the limit", async () => {
    const { queue, reference } = await holding({ 1: NOW - 1000, 2: NOW - 3000, 3: NOW - 2000 });
    const due = async (limit: number) =>
      (await queue.due(reference, NOW + DAY, limit)).map(({ purchase }) => purchase.key);
    expect(await due(10)).toEqual(["2", "3", "1"]);
    expect(await due(2)).toEqual(["2", "3"]);
  });
  test("is due at its own millisecond and not before", async () => {
    const { queue, reference } = await holding({ 1: NOW });
    expect(await queue.due(reference, NOW + JUST_AFTER - 1, 10)).toEqual([]);
    expect(await queue.due(reference, NOW + JUST_AFTER, 10)).toEqual([
      {
        application: reference.application,
        purchase: { store: "ios-store", environment: "production", key: "1" },
        dueAt: NOW + JUST_AFTER,
        source: fromApple().source,
      },
    ]);
  });
  test("is of one environment, and of one store", async () => {
    const { queue, reference, refreshing } = await holding({ 1: NOW });
    await refreshing.hold("2", NOW, [], "sandbox");
    const due = async (changes: Partial<QueueReference>) =>
      (await queue.due({ ...reference, ...changes }, NOW + DAY, 10)).map(({ purchase }) => purchase.key);
    expect(await due({})).toEqual(["1"]);
    expect(await due({ environment: "sandbox" })).toEqual(["2"]);
    expect(await due({ store: "android-store" })).toEqual([]);
  });
  test("is found behind more items of an unknown shape than a page has", async () => {
    const { queue, reference } = await holding({ 1: NOW });
    changedByHand.add(reference.application);
    for (const index of [1, 2, 3, 4, 5])
      await table.client.send(
        new PutCommand({
          TableName: table.name,
          Item: { pk: refreshPartition(reference), sk: `2026-01-01T00:00:0${index}.000Z#later`, kind: "new" },
        }),
      );
    expect(await queue.due(reference, NOW + DAY, 2)).toMatchObject([{ purchase: { key: "1" } }]);
  });
});

describe("a lease", () => {
  const TAKEN = { ...HEALTHY, byName: new Map() };
  const lease = (worker: string, until: number) => ({ worker, until });

  test("is refused to another worker until it ends", async () => {
    const { queue, reference } = await holding({});
    expect(await queue.take(reference, lease("a", NOW + 60), NOW)).toEqual(TAKEN);
    expect(await queue.take(reference, lease("b", NOW + 119), NOW + 59)).toBeNull();
    expect(await queue.take(reference, lease("b", NOW + 120), NOW + 60)).toEqual(TAKEN);
    expect(await queue.take(reference, lease("a", NOW + 121), NOW + 61)).toBeNull();
  });
  test("is extended by its own worker, also after it ran out", async () => {
    const { queue, reference } = await holding({});
    await queue.take(reference, lease("a", NOW + 60), NOW);
    expect(await queue.take(reference, lease("a", NOW + 90), NOW + 30)).toEqual(TAKEN);
    expect(await queue.take(reference, lease("b", NOW + 149), NOW + 89)).toBeNull();
    expect(await queue.take(reference, lease("a", NOW + 200), NOW + 140)).toEqual(TAKEN);
  });
  test("that is released is free at once", async () => {
    const { queue, reference } = await holding({});
    await queue.take(reference, lease("a", NOW + 60), NOW);
    await queue.release(reference, lease("a", NOW + 60), TAKEN);
    expect(await queue.take(reference, lease("b", NOW + 60), NOW)).toEqual(TAKEN);
  });
  test("is not released by a worker that has lost it", async () => {
    const { queue, reference } = await holding({});
    await queue.take(reference, lease("a", NOW + 60), NOW);
    await queue.take(reference, lease("b", NOW + 120), NOW + 60);
    const failing = { ...TAKEN, failures: 1, because: "unavailable" as const, pausedUntil: NOW + 1000 };
    await queue.release(reference, lease("a", NOW + 60), failing);
    expect(await queue.healthOf(reference)).toEqual(TAKEN);
    expect(await queue.take(reference, lease("c", NOW + 121), NOW + 61)).toBeNull();
  });
  test("is refused while the queue is paused, and shows then why it was", async () => {
    const { queue, reference } = await holding({});
    const paused = {
      failures: 2,
      because: "credential-rejected",
      failingSince: NOW,
      pausedUntil: NOW + 1000,
    } as const;
    await queue.take(reference, lease("a", NOW + 60), NOW);
    await queue.release(reference, lease("a", NOW + 60), { ...TAKEN, ...paused });
    expect(await queue.healthOf(reference)).toEqual({ ...TAKEN, ...paused });
    expect(await queue.take(reference, lease("a", NOW + 2000), NOW + 999)).toBeNull();
    expect(await queue.take(reference, lease("b", NOW + 2000), NOW + 1000)).toEqual({ ...TAKEN, ...paused });
  });
  test("keeps the health of each bundle that fails, until an operator ends its pause", async () => {
    const { queue, reference } = await holding({});
    const failing = {
      failures: 1,
      because: "unavailable",
      failingSince: NOW,
      pausedUntil: NOW + 1000,
    } as const;
    const byName = new Map([["com.example.other", failing]]);
    const taken = async () => queue.take(reference, lease("a", NOW + 60), NOW);
    await taken();
    await queue.release(reference, lease("a", NOW + 60), { ...TAKEN, byName });
    expect(await taken()).toEqual({ ...TAKEN, byName });
    await queue.resume(reference);
    expect(await taken()).toEqual(TAKEN);
    await queue.release(reference, lease("a", NOW + 60), { ...TAKEN, byName });
    await queue.release(reference, lease("a", NOW + 60), TAKEN);
    expect(await taken()).toEqual(TAKEN);
  });
});

/** The due refresh of a purchase of {@link holding}. */
const dueOf = ({ application }: QueueReference, key: string, dueAt: number): DueAsk => ({
  application,
  purchase: { store: "ios-store", environment: "production", key: purchaseKey(key) },
  dueAt,
  source: fromApple().source,
});

describe("a refresh that is moved", () => {
  test("moves with its purchase's record of it", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    await queue.move(dueOf(reference, "1", NOW + JUST_AFTER), NOW + DAY, null);
    expect(await queuedOf(world)).toEqual({ 1: NOW + DAY });
    expect(await recordedOf(world)).toEqual({ 1: NOW + DAY });
  });
  test("out of the queue leaves nothing", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    await queue.move(dueOf(reference, "1", NOW + JUST_AFTER), null, null);
    expect([await queuedOf(world), await recordedOf(world)]).toEqual([{}, {}]);
  });
  test("stays where new facts have moved it meanwhile", async () => {
    const { queue, reference, world, refreshing } = await holding({ 1: NOW });
    await refreshing.hold("1", NOW + 30 * DAY);
    await queue.move(dueOf(reference, "1", NOW + JUST_AFTER), NOW + DAY, null);
    expect(await queuedOf(world)).toEqual({ 1: NOW + 30 * DAY + JUST_AFTER });
    expect(await recordedOf(world)).toEqual(await queuedOf(world));
  });
  test("stays where somebody has asked for it since the store was asked, and says so", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    const at = NOW + JUST_AFTER;
    const { source } = fromApple();
    const due = dueOf(reference, "1", at);
    await queue.set(reference.application, await storedOf(world, "1"), {
      dueAt: at,
      source,
      askedForAt: NOW,
    });
    for (const move of [
      () => queue.move(due, NOW + DAY, NOW - 1),
      () => queue.move(due, null, NOW - 1),
      () => queue.putOff(due, NOW + DAY, NOW - 1),
    ]) {
      expect(await move()).toBe("asked-again");
      expect([await queuedOf(world), await recordedOf(world)]).toEqual([{ 1: at }, { 1: at }]);
    }
    expect(await queue.move(due, NOW + DAY, NOW)).toBe("settled");
    expect(await queuedOf(world)).toEqual({ 1: NOW + DAY });
    expect(await queue.move(dueOf(reference, "1", NOW + DAY), NOW + 2 * DAY, null)).toBe("settled");
    expect(await queue.move(dueOf(reference, "1", NOW + 2 * DAY), null, null)).toBe("settled");
    expect([await queuedOf(world), await recordedOf(world)]).toEqual([{}, {}]);
  });
  test("is deleted where its purchase was erased", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    const left = dueOf(reference, "1", NOW + JUST_AFTER);
    const item = (await world.items()).find(({ sk }) => String(sk).endsWith("#1"));
    await world.erase(await world.store({ purchases: [owned("1")] }));
    await table.client.send(new PutCommand({ TableName: table.name, Item: item }));
    await queue.move(left, NOW + DAY, null);
    expect(await queuedOf(world)).toEqual({});
  });
  test("fails whole when it meets another write, and can be moved again", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    const due = dueOf(reference, "1", NOW + JUST_AFTER);
    await expect(meetingAWriteAt(table, 0, () => queue.move(due, NOW + DAY, null))).rejects.toThrow(Error);
    expect(await queuedOf(world)).toEqual({ 1: NOW + JUST_AFTER });
    expect(await recordedOf(world)).toEqual({ 1: NOW + JUST_AFTER });
  });
});

describe("a refresh that is set", () => {
  const to = { dueAt: NOW + 2 * DAY, source: fromApple().source, askedForAt: NOW + DAY };

  test("takes the place of the one before", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    expect(await queue.set(reference.application, await storedOf(world, "1"), to)).toBe("written");
    expect(await queuedOf(world)).toEqual({ 1: NOW + 2 * DAY });
    expect(await recordedOf(world)).toEqual({ 1: NOW + 2 * DAY });
  });
  test("at the time that it has keeps its item, with the time since which it has been due", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    await queue.putOff(dueOf(reference, "1", NOW + JUST_AFTER), NOW + DAY, null);
    const same = { ...to, dueAt: NOW + DAY };
    expect(await queue.set(reference.application, await storedOf(world, "1"), same)).toBe("written");
    expect(await queuedOf(world)).toEqual({ 1: NOW + DAY });
    expect(await storedOf(world, "1")).toMatchObject({ refreshAt: NOW + DAY, askedForAt: NOW + DAY });
    expect(await queue.due(reference, NOW + DAY, 9)).toMatchObject([{ dueSince: NOW + JUST_AFTER }]);
  });
  test("says for when it was asked, until it is taken away", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    await queue.set(reference.application, await storedOf(world, "1"), to);
    expect(await storedOf(world, "1")).toMatchObject({ askedForAt: NOW + DAY });
    await queue.move(dueOf(reference, "1", to.dueAt), NOW + 3 * DAY, NOW + DAY);
    expect(await storedOf(world, "1")).toMatchObject({ askedForAt: NOW + DAY, refreshAt: NOW + 3 * DAY });
    await queue.move(dueOf(reference, "1", NOW + 3 * DAY), null, NOW + DAY);
    expect(await storedOf(world, "1")).toMatchObject({ askedForAt: null, refreshAt: null });
  });
  test("is not asked for where a version without the mark took it away, and left the mark", async () => {
    const { queue, reference, world } = await holding({ 1: NOW });
    await queue.set(reference.application, await storedOf(world, "1"), to);
    const item = (await world.items()).find(({ sk }) => sk === "PURCHASE");
    const { refreshAt: _, ...left } = item ?? {};
    expect(left).toHaveProperty("askedForAt");
    expect(storedPurchase(left)).toMatchObject({ ask: null, askedForAt: null });
  });
  test("conflicts where the purchase has changed since", async () => {
    const { queue, reference, world, refreshing } = await holding({ 1: NOW });
    const stored = await storedOf(world, "1");
    await refreshing.hold("1", NOW + 30 * DAY);
    const before = await world.items();
    expect(await queue.set(reference.application, stored, to)).toBe("conflict");
    expect(await world.items()).toEqual(before);
  });
});

test("a queue's state of a later version keeps what this one does not know", async () => {
  const { queue, reference, world } = await holding({});
  const state = { pk: refreshPartition(reference), sk: "STATE", later: "kept" };
  await table.client.send(new PutCommand({ TableName: table.name, Item: state }));
  await queue.take(reference, { worker: "a", until: NOW + 60 }, NOW);
  expect(await world.items()).toMatchObject([{ later: "kept", worker: "a" }]);
});
