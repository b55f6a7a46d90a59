import { setTimeout } from "node:timers/promises";
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { isWebhook, type Destination } from "../../lib/applications/destination.ts";
import type { WaitingRequest } from "../../lib/customers/notifications/store-request.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import {
  deliverMessages,
  type DeliveryReport,
  type DeliveryRun,
} from "../../lib/delivery/deliver-messages.ts";
import { MESSAGES_AT_ONCE } from "../../lib/delivery/destination-queue.ts";
import { createWebhookSender } from "../../lib/delivery/webhook/webhook.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/store-requests.ts";
import { undocumentedMessage } from "../../testing/support/openapi.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { assertInvariants } from "../../testing/support/table/invariants.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { startReceiver, type Receiver } from "./receiver.ts";
import {
  byCredential,
  createToldWorld,
  createWorld,
  owned,
  refunded,
  type ToldWorld,
} from "../../testing/support/world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

let table: TestTable;
let receivers: Receiver[] = [];
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterEach(async () => {
  await Promise.all(receivers.map(({ close }) => close()));
  receivers = [];
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

const pause = () => Promise.resolve();

/** An application with webhooks of this machine, and its deliverer. */
const aSetting = async (count = 1) => {
  receivers = await Promise.all(Array.from({ length: count }, startReceiver));
  const destinations = receivers.map(({ url }, index): Destination => ({
    name: `hook-${index}`,
    url,
    secretEpochs: [],
  }));
  const told = createToldWorld(table, createWorld(table), destinations);
  const { application } = told.world;
  const deliver = async (
    moment: Instant = NOW,
    changes: Partial<DeliveryRun> = {},
  ): Promise<DeliveryReport> => {
    const clock = { now: moment };
    const now = () => clock.now;
    const { send } = createWebhookSender({ isAnyAddressAllowed: true, now });
    return deliverMessages(
      {
        directory: { byIdentifier: () => Promise.resolve(application) },
        queue: createDeliveryQueue(table, pause),
        applications: () => Promise.resolve([application.identifier]),
        send: async (_, destination, messages) =>
          Promise.all(
            messages.map(async (message) =>
              send(isWebhook(destination) ? destination.url : "", message, [Buffer.alloc(32)]),
            ),
          ),
        newWorker: uuid,
        now,
        wait: async (milliseconds) => {
          clock.now += milliseconds;
          return Promise.resolve();
        },
        onFailure: (error) => {
          throw error;
        },
        ...changes,
      },
      Infinity,
    );
  };
  const [first] = receivers;
  if (first === undefined) throw new Error("no receiver");
  return { told, deliver, receiver: first, receivers };
};

const store = async ({ world }: ToldWorld, count: number): Promise<void> => {
  for (let index = 0; index < count; index += 1)
    await world.store({ purchases: [owned(`p${index}`)] }, byCredential(`account-${index}`));
};
const waitingIn = async (told: ToldWorld) =>
  (await told.itemsOf("#DESTINATION#")).filter(({ sk }) => sk !== "HEALTH");

test("a version is delivered to each destination once", async () => {
  const { told, deliver, receivers: all } = await aSetting(2);
  await store(told, 1);
  await told.tell();
  expect(await deliver()).toEqual({ delivered: 2, failed: 0, oldest: 0, failing: [] });
  expect(await deliver()).toEqual({ delivered: 0, failed: 0, oldest: 0, failing: [] });
  for (const { got, bodies } of all) {
    expect(got).toEqual([
      {
        identifier: `msg_${told.world.application.identifier}_1`,
        account: "account-0",
        version: 1,
      },
    ]);
    expect(bodies.flatMap(undocumentedMessage)).toEqual([]);
  }
  expect(await waitingIn(told)).toEqual([]);
});

test("many accounts are delivered, a bounded number at once", async () => {
  const { told, deliver, receiver } = await aSetting();
  await store(told, 45);
  await told.tell();
  expect(await deliver()).toMatchObject({ delivered: 45 });
  expect(new Set(receiver.got.map(({ account }) => account)).size).toBe(45);
  expect(receiver.most).toBeLessThanOrEqual(MESSAGES_AT_ONCE);
});

test("a destination that was down gets each account's newest message", async () => {
  const { told, deliver, receiver } = await aSetting();
  receiver.answer = () => 500;
  await store(told, 2);
  await told.tell();
  await deliver();
  await told.world.store({ purchases: [refunded("p0")] });
  await told.tell(NOW + HOUR);
  await deliver(NOW + HOUR);
  receiver.answer = () => 200;
  expect(await deliver(NOW + DAY)).toMatchObject({ delivered: 2, oldest: 0, failing: [] });
  expect(receiver.got.map(({ account, version }) => [account, version]).toSorted()).toEqual([
    ["account-0", 2],
    ["account-1", 1],
  ]);
});

test("a failed attempt is repeated after 5 s, then ever later", async () => {
  const { told, deliver, receiver } = await aSetting();
  let attempts = 0;
  receiver.answer = () => {
    attempts += 1;
    return 503;
  };
  await store(told, 1);
  await told.tell();
  const pauses: number[] = [];
  let moment = NOW;
  for (let turn = 0; turn < 9; turn += 1) {
    await deliver(moment);
    const until = Number((await waitingIn(told))[0]?.["nextTryAt"]);
    // Too early by a millisecond: nothing is sent.
    const before = attempts;
    await deliver(until - 1);
    expect(attempts).toBe(before);
    pauses.push((until - moment) / MINUTE);
    moment = until;
  }
  // The first repetition is in the invocation of the first attempt, 5 s after it.
  expect(attempts).toBe(10);
  expect(pauses).toEqual([5 + 5 / 60, 30, 120, 300, 600, 840, 1200, 1440, 1440]);
});

test("a destination that is down gets one message a try", async () => {
  const { told, deliver, receiver } = await aSetting();
  let attempts = 0;
  receiver.answer = () => {
    attempts += 1;
    return 500;
  };
  await store(told, 30);
  await told.tell();
  const report = await deliver();
  expect(attempts).toBe(MESSAGES_AT_ONCE + 1);
  expect(report.failing).toMatchObject([{ destination: "hook-0", because: "status 500", failingSince: NOW }]);
  await deliver(NOW + 6 * MINUTE);
  expect(attempts).toBe(MESSAGES_AT_ONCE + 2);
  receiver.answer = () => 200;
  expect(await deliver(NOW + HOUR)).toMatchObject({ delivered: 30, failing: [] });
});

test("while one destination does not answer, others get what comes meanwhile", async () => {
  const { told, deliver, receivers: all } = await aSetting(5);
  const [slow, ...others] = all;
  if (slow === undefined) throw new Error("no receiver");
  const gotAll = () => others.every(({ got }) => got.length === 25);
  const asked = Promise.withResolvers<null>();
  const answered = Promise.withResolvers<number>();
  slow.answer = () => {
    asked.resolve(null);
    return answered.promise;
  };
  await store(told, 1);
  await told.tell();
  const running = deliver(NOW, { untilNextLook: async () => setTimeout(10) });
  await asked.promise;
  for (let index = 1; index < 25; index += 1) {
    await told.world.store({ purchases: [owned(`p${index}`)] }, byCredential(`account-${index}`));
    await told.tell();
  }
  while (!gotAll()) await setTimeout(10);
  expect(slow.got).toEqual([]);
  answered.resolve(204);
  expect(await running).toMatchObject({ delivered: 125, failing: [] });
});

test("a destination without a readable secret is reported, and delays no other", async () => {
  const { told, deliver, receivers: all } = await aSetting(2);
  await store(told, 1);
  await told.tell();
  const failures: unknown[] = [];
  const without = new Error("no secret");
  const { application } = told.world;
  const changes: Partial<DeliveryRun> = {
    send: async (_, { name }, messages) => {
      if (name === "hook-0") throw without;
      return messages.map(() => ({ outcome: "delivered" }));
    },
    onFailure: (error) => failures.push(error),
  };
  // The first time, it is tried again after the short pause of five seconds.
  for (const [moment, ended] of [
    [NOW, NOW + 5 * SECOND],
    [NOW + HOUR, NOW + HOUR],
  ] as const)
    expect(await deliver(moment, changes)).toEqual({
      delivered: moment === NOW ? 1 : 0,
      failed: 0,
      oldest: ended - NOW,
      failing: [
        {
          application: application.identifier,
          destination: "hook-0",
          because: "error",
          failingSince: NOW,
          until: ended + 5 * MINUTE,
        },
      ],
    });
  expect(failures).toEqual([without, without, without]);
  expect(await deliver(NOW + 2 * HOUR)).toMatchObject({ delivered: 1, oldest: 0, failing: [] });
  expect(all[0]?.got).toHaveLength(1);
});

test("a destination that is down holds up no other", async () => {
  const { told, deliver, receivers: all } = await aSetting(2);
  const [broken, well] = all;
  if (broken === undefined || well === undefined) throw new Error("two receivers");
  broken.answer = () => 500;
  await store(told, 3);
  await told.tell();
  await deliver();
  expect(well.got).toHaveLength(3);
});

test("one message that is never taken holds up no other account", async () => {
  const { told, deliver, receiver } = await aSetting();
  receiver.answer = ({ account }) => (account === "account-3" ? 500 : 200);
  await store(told, 10);
  await told.tell();
  expect(await deliver()).toMatchObject({ delivered: 9, failing: [] });
  await told.world.store({ purchases: [refunded("p0")] });
  await told.tell(NOW + MINUTE);
  expect(await deliver(NOW + MINUTE)).toMatchObject({ delivered: 1 });
});

test("nor does one that was never taken for a day, alone", async () => {
  const { told, deliver, receiver } = await aSetting();
  let attempts = 0;
  receiver.answer = ({ account }) => {
    attempts += 1;
    return account === "account-0" ? 500 : 200;
  };
  await store(told, 1);
  await told.tell();
  for (let minute = 0; minute < 24 * 60; minute += 5) await deliver(NOW + minute * MINUTE);
  // At 0, 5 s, 5 min, 30 min, 2, 5 and 10 h, each after the one before.
  expect(attempts).toBe(7);
  await store(told, 2);
  await told.tell(NOW + DAY);
  await deliver(NOW + DAY);
  await deliver(NOW + DAY + 5 * MINUTE);
  expect(receiver.got).toMatchObject([{ account: "account-1" }]);
});

test("a destination that fails in several ways is failing since the first", async () => {
  const { told, deliver, receiver } = await aSetting();
  await store(told, 1);
  await told.tell();
  receiver.answer = () => 500;
  await deliver(NOW);
  receiver.answer = () => 403;
  expect(await deliver(NOW + HOUR)).toMatchObject({
    oldest: HOUR,
    failing: [{ because: "status 403", failingSince: NOW, until: NOW + HOUR + 5 * MINUTE }],
  });
});

test("a destination that is back gets what waits at once", async () => {
  const { told, deliver, receiver } = await aSetting();
  receiver.answer = () => 500;
  await store(told, 3);
  await told.tell();
  for (let hour = 0; hour < 24; hour += 1) await deliver(NOW + hour * HOUR);
  await told.world.store({ purchases: [refunded("p0")] });
  await told.tell(NOW + DAY);
  receiver.answer = () => 200;
  expect(await deliver(NOW + DAY)).toMatchObject({ delivered: 3, oldest: 0, failing: [] });
});

test("410 suspends a destination until it is resumed", async () => {
  const { told, deliver, receiver } = await aSetting();
  receiver.answer = () => 410;
  await store(told, 1);
  await told.tell();
  await deliver();
  receiver.answer = () => 200;
  expect(await deliver(NOW + 29 * DAY)).toMatchObject({ delivered: 0, failing: [{ because: "gone" }] });
  await createDeliveryQueue(table, pause).resume({
    application: told.world.application.identifier,
    destination: "hook-0",
  });
  expect(await deliver(NOW + 29 * DAY)).toMatchObject({ delivered: 1, failing: [] });
});

test("a newer version published during an attempt is delivered after it", async () => {
  const { told, deliver, receiver } = await aSetting();
  await store(told, 1);
  await told.tell();
  receiver.answer = async ({ version }) => {
    if (version === 1) {
      await told.world.store({ purchases: [refunded("p0")] });
      await told.tell();
    }
    return 200;
  };
  await deliver();
  await deliver();
  expect(receiver.got.map(({ version }) => version)).toEqual([1, 2]);
});

test("two deliverers at once deliver nothing twice", async () => {
  const { told, deliver, receiver } = await aSetting();
  await store(told, 5);
  await told.tell();
  await Promise.all([deliver(), deliver()]);
  expect(receiver.got).toHaveLength(5);
});

test("a version in place of one that waited 30 days is delivered", async () => {
  const { told, deliver, receiver } = await aSetting();
  receiver.answer = () => 500;
  await store(told, 1);
  await told.tell();
  await deliver();
  await told.world.store({ purchases: [refunded("p0")] });
  await told.tell(NOW + 31 * DAY);
  receiver.answer = () => 200;
  await deliver(NOW + 31 * DAY);
  expect(receiver.got).toMatchObject([{ version: 2 }]);
});

test("a message that nobody took for 30 days is dropped", async () => {
  const { told, deliver, receiver } = await aSetting();
  receiver.answer = () => 500;
  await store(told, 1);
  await told.tell();
  await deliver();
  receiver.answer = () => 200;
  await deliver(NOW + 31 * DAY);
  expect(receiver.got).toEqual([]);
  expect(await waitingIn(told)).toEqual([]);
});

describe("what a store asks of the application", () => {
  const aRequest = ({ world }: ToldWorld, answerBy: Instant | null): WaitingRequest => ({
    identifier: "msg_00ff",
    askedAt: NOW,
    answerBy,
    data: {
      applicationIdentifier: world.application.identifier,
      applicationAccountIdentifier: "account-0",
      customerIdentifier: null,
      store: "ios-store",
      kind: "CONSUMPTION_REQUEST",
      productIdentifier: "premium",
      transactionIdentifier: "700000000000002",
      answerBy: answerBy === null ? null : new Date(answerBy).toISOString(),
    },
  });
  const ask = (told: ToldWorld, request: WaitingRequest) => {
    const { identifier, destinations } = told.world.application;
    const names = destinations.map(({ name }) => name);
    return createStoreRequestQueue(table).add(identifier, names, request);
  };

  test("is delivered to each destination once, as it was asked", async () => {
    const { told, deliver, receivers: all } = await aSetting(2);
    const request = aRequest(told, NOW + 12 * HOUR);
    await ask(told, request);
    expect(await deliver()).toMatchObject({ delivered: 2, failed: 0 });
    expect(await deliver()).toMatchObject({ delivered: 0 });
    for (const { got, bodies } of all) {
      expect(got).toMatchObject([{ identifier: "msg_00ff" }]);
      expect(bodies).toEqual([
        { type: "store.request", timestamp: new Date(NOW).toISOString(), data: request.data },
      ]);
      expect(bodies.flatMap(undocumentedMessage)).toEqual([]);
    }
    expect(await waitingIn(told)).toEqual([]);
  });

  test.each([
    ["until the store no longer takes an answer", NOW + 12 * HOUR, 12 * HOUR],
    ["for thirty days where the store names no deadline", null, 30 * DAY],
  ])("is delivered %s", async (_, answerBy, time) => {
    const { told, deliver, receiver } = await aSetting();
    await ask(told, aRequest(told, answerBy));
    receiver.answer = () => 500;
    await deliver(NOW);
    receiver.answer = () => 200;
    expect(await deliver(NOW + time - 1)).toMatchObject({ delivered: 1 });

    await ask(told, aRequest(told, answerBy));
    expect(await deliver(NOW + time)).toMatchObject({ delivered: 0, failed: 0 });
    expect(receiver.got).toHaveLength(1);
    expect(await waitingIn(told)).toEqual([]);
  });

  test("whose data is no JSON is not delivered, and delays no account", async () => {
    const { told, deliver, receiver } = await aSetting();
    await ask(told, aRequest(told, null));
    const [item] = await waitingIn(told);
    await table.client.send(new PutCommand({ TableName: table.name, Item: { ...item, data: "{" } }));
    await store(told, 1);
    await told.tell();
    expect(await deliver()).toMatchObject({ delivered: 1, failed: 0 });
    expect(receiver.got).toMatchObject([{ account: "account-0" }]);
    await table.client.send(new PutCommand({ TableName: table.name, Item: { ...item } }));
  });
});
