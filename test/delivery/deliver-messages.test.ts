import { setTimeout } from "node:timers/promises";
import type { Destination } from "../../lib/applications/application.ts";
import type { WaitingRequest } from "../../lib/customers/notifications.ts";
import type { DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { MESSAGES_AT_ONCE } from "../../lib/delivery/target.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createDeliveryQueue, createStoreRequestQueue } from "../../lib/table/telling/delivery-queue.ts";
import { undocumentedMessage } from "../../testing/support/openapi.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { byCredential, createToldWorld, createWorld, owned, refunded } from "../../testing/support/world.ts";
import { delivererOf, RETRIES, retriesOf } from "./delivering.ts";
import { startReceiver, type Receiver } from "./receiver.ts";

const table = await aUseCaseTable();
let receivers: Receiver[] = [];
afterEach(async () => {
  await Promise.all(receivers.splice(0).map(({ close }) => close()));
});

/** An application with webhooks of this machine, of which so many accounts' messages wait, and its deliverer. */
const aSetting = async ({ destinations = 1, accounts = 0 } = {}) => {
  receivers = await Promise.all(Array.from({ length: destinations }, startReceiver));
  const webhooks = receivers.map(({ url }, index): Destination => ({
    name: `hook-${index}`,
    url,
    secretEpochs: [],
  }));
  const told = createToldWorld(table, createWorld(table), webhooks);
  const buy = (index: number) =>
    told.world.store({ purchases: [owned(`p${index}`)] }, byCredential(`account-${index}`));
  const refund = (index: number) => told.world.store({ purchases: [refunded(`p${index}`)] });
  /** Publishes what an account has bought, or its refund. */
  const publishing =
    (act: (index: number) => Promise<unknown>) =>
    async (index: number, moment: Instant = NOW) => {
      await act(index);
      await told.tell(moment);
    };
  for (let index = 0; index < accounts; index += 1) await buy(index);
  await told.tell();
  const waiting = async () => (await told.itemsOf("#DESTINATION#")).filter(({ sk }) => sk !== "HEALTH");
  const [receiver] = receivers;
  if (receiver === undefined) throw new Error("no receiver");
  const [publish, change] = [publishing(buy), publishing(refund)];
  return { told, deliver: delivererOf(table, told), publish, change, waiting, receiver };
};

test("a version is delivered to each destination once, few at a time", async () => {
  const { told, deliver, waiting } = await aSetting({ destinations: 2, accounts: 45 });
  expect(await deliver()).toEqual({ delivered: 90, failed: 0, oldest: 0, failing: [] });
  expect(await deliver()).toEqual({ delivered: 0, failed: 0, oldest: 0, failing: [] });
  for (const { got, bodies, most } of receivers) {
    expect(new Set(got.map(({ account }) => account)).size).toBe(45);
    expect(got.every(({ version }) => version === 1)).toBe(true);
    expect(got[0]?.identifier).toMatch(`msg_${told.world.application.identifier}_`);
    expect(bodies.flatMap(undocumentedMessage)).toEqual([]);
    expect(most).toBeLessThanOrEqual(MESSAGES_AT_ONCE);
  }
  expect(await waiting()).toEqual([]);
});

test("a failed attempt is repeated after 5 s, then ever later", async () => {
  const { deliver, receiver, waiting } = await aSetting({ accounts: 1 });
  receiver.answer = () => 503;
  const next = async () => (await waiting())[0]?.["nextTryAt"];
  expect(await retriesOf(deliver, next, () => receiver.attempts)).toEqual(RETRIES);
  // The first repetition is in the invocation of the first attempt.
  expect(receiver.attempts).toBe(RETRIES.length + 1);
});

test("a destination that is down gets one message a try", async () => {
  const { deliver, change, receiver } = await aSetting({ accounts: 30 });
  receiver.answer = () => 500;
  const { failing } = await deliver();
  expect(failing).toMatchObject([{ destination: "hook-0", because: "status 500", failingSince: NOW }]);
  expect(receiver.attempts).toBe(MESSAGES_AT_ONCE + 1);
  await change(0, NOW + MINUTE);
  receiver.answer = () => 403;
  const later = await deliver(NOW + 6 * MINUTE);
  expect(later.failing).toMatchObject([{ because: "status 403", failingSince: NOW }]);
  expect(receiver.attempts).toBe(MESSAGES_AT_ONCE + 2);
  receiver.answer = () => 200;
  expect(await deliver(NOW + HOUR)).toMatchObject({ delivered: 30, oldest: 0, failing: [] });
  // Each account's newest.
  expect(receiver.got.filter(({ version }) => version === 2)).toMatchObject([{ account: "account-0" }]);
});

test("while one destination does not answer, others get what comes meanwhile", async () => {
  const { deliver, publish } = await aSetting({ destinations: 5, accounts: 1 });
  const [slow, ...others] = receivers;
  if (slow === undefined) throw new Error("no receiver");
  const asked = Promise.withResolvers<null>();
  const answered = Promise.withResolvers<number>();
  slow.answer = () => {
    asked.resolve(null);
    return answered.promise;
  };
  const running = deliver(NOW, { untilNextLook: async () => setTimeout(10) });
  await asked.promise;
  for (let index = 1; index < 25; index += 1) await publish(index);
  while (!others.every(({ got }) => got.length === 25)) await setTimeout(10);
  expect(slow.got).toEqual([]);
  answered.resolve(204);
  expect(await running).toMatchObject({ delivered: 125, failing: [] });
});

test("a destination without a readable secret is reported, and delays no other", async () => {
  const { deliver } = await aSetting({ destinations: 2, accounts: 1 });
  const failures: unknown[] = [];
  const without = new Error("no secret");
  const changes: Partial<DeliveryRun> = {
    send: async (_, { name }) => {
      if (name === "hook-0") throw without;
      return { outcome: "delivered" };
    },
    onFailure: (error) => failures.push(error),
  };
  const until = NOW + 5 * SECOND + 5 * MINUTE;
  expect(await deliver(NOW, changes)).toMatchObject({
    delivered: 1,
    failed: 0,
    oldest: 5 * SECOND,
    failing: [{ destination: "hook-0", because: "error", failingSince: NOW, until }],
  });
  expect(failures).toEqual([without, without]);
  expect(await deliver(NOW + HOUR)).toMatchObject({ delivered: 1, oldest: 0, failing: [] });
});

test("a message that is never taken holds up no other account", async () => {
  const { deliver, publish, receiver } = await aSetting({ accounts: 1 });
  receiver.answer = ({ account }) => (account === "account-0" ? 500 : 200);
  for (let minute = 0; minute < 24 * 60; minute += 5) await deliver(NOW + minute * MINUTE);
  // At 0, 5 s, 5 min, 30 min, 2, 5 and 10 h, each after the one before.
  expect(receiver.attempts).toBe(7);
  for (const index of [1, 2, 3]) await publish(index, NOW + DAY);
  await deliver(NOW + DAY);
  await deliver(NOW + DAY + 5 * MINUTE);
  const taken = receiver.got.map(({ account }) => account);
  expect(taken.toSorted()).toEqual(["account-1", "account-2", "account-3"]);
});

test("410 suspends a destination until it is resumed", async () => {
  const { told, deliver, receiver } = await aSetting({ accounts: 1 });
  receiver.answer = () => 410;
  await deliver();
  receiver.answer = () => 200;
  expect(await deliver(NOW + 29 * DAY)).toMatchObject({ delivered: 0, failing: [{ because: "gone" }] });
  const { identifier: application } = told.world.application;
  await createDeliveryQueue(table).resume({ application, destination: "hook-0" });
  expect(await deliver(NOW + 29 * DAY)).toMatchObject({ delivered: 1, failing: [] });
});

test("a newer version published during an attempt is delivered after it", async () => {
  const { deliver, change, receiver } = await aSetting({ accounts: 1 });
  receiver.answer = async ({ version }) => {
    if (version === 1) await change(0);
    return 200;
  };
  await deliver();
  await deliver();
  expect(receiver.got.map(({ version }) => version)).toEqual([1, 2]);
});

test.each([
  ["is dropped", false, []],
  ["is replaced by a newer version, which is delivered", true, [2]],
])("a message that nobody took for 30 days %s", async (_, isChanged, versions) => {
  const { deliver, change, receiver, waiting } = await aSetting({ accounts: 1 });
  receiver.answer = () => 500;
  await deliver();
  if (isChanged) await change(0, NOW + 31 * DAY);
  receiver.answer = () => 200;
  await deliver(NOW + 31 * DAY);
  expect(receiver.got.map(({ version }) => version)).toEqual(versions);
  expect(await waiting()).toEqual([]);
});

test.each([
  ["until the store no longer takes an answer", NOW + 12 * HOUR, 12 * HOUR],
  ["for thirty days where the store names no deadline", null, 30 * DAY],
])("what a store asks is delivered to each destination once, %s", async (_, answerBy, time) => {
  const { told, deliver, waiting } = await aSetting({ destinations: 2 });
  const { identifier, destinations } = told.world.application;
  const request: WaitingRequest = {
    identifier: "msg_00ff",
    askedAt: NOW,
    answerBy,
    data: {
      applicationIdentifier: identifier,
      applicationAccountIdentifier: "account-0",
      customerIdentifier: null,
      store: "ios-store",
      kind: "CONSUMPTION_REQUEST",
      productIdentifier: "premium",
      transactionIdentifier: "700000000000002",
      answerBy: answerBy === null ? null : new Date(answerBy).toISOString(),
    },
  };
  const names = destinations.map(({ name }) => name);
  const ask = () => createStoreRequestQueue(table).add(identifier, names, request);
  await ask();
  for (const receiver of receivers) receiver.answer = () => 500;
  await deliver(NOW);
  for (const receiver of receivers) receiver.answer = () => 200;
  expect(await deliver(NOW + time - 1)).toMatchObject({ delivered: 2 });
  expect(await deliver(NOW + time - 1)).toMatchObject({ delivered: 0 });
  await ask();
  expect(await deliver(NOW + time)).toMatchObject({ delivered: 0, failed: 0 });
  for (const { got, bodies } of receivers) {
    expect(got).toMatchObject([{ identifier: "msg_00ff" }]);
    expect(bodies).toEqual([
      { type: "store.request", timestamp: new Date(NOW).toISOString(), data: request.data },
    ]);
    expect(bodies.flatMap(undocumentedMessage)).toEqual([]);
  }
  expect(await waiting()).toEqual([]);
});
