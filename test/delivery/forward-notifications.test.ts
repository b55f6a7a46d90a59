import { setTimeout } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Application, Destination } from "../../lib/applications/application.ts";
import { ALLOWS_NONE } from "../../lib/delivery/addresses.ts";
import { MESSAGES_AT_ONCE } from "../../lib/delivery/target.ts";
import type { SentNotification } from "../../lib/delivery/delivery-queue.ts";
import { createSender, type SenderOptions } from "../../lib/delivery/webhook.ts";
import { DAY, HOUR, SECOND } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createForwardQueue } from "../../lib/table/telling/delivery-queue.ts";
import { anApplication } from "../../testing/support/application.ts";
import { aBundle, BUNDLE } from "../../testing/support/stores/ios-store.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { byCredential, createToldWorld, createWorld, owned } from "../../testing/support/world.ts";
import { delivererOf, RETRIES, retriesOf } from "./delivering.ts";
import { startReceiver, type Receiver } from "./receiver.ts";

const table = await aUseCaseTable();
/** The service that takes notifications after this one. */
let old: Receiver;
beforeEach(async () => {
  old = await startReceiver();
});
afterEach(() => old.close());

/** An application whose bundle's notifications are forwarded, and the function that delivers. */
const aSetting = (options: Partial<SenderOptions> = {}, destinations: readonly Destination[] = []) => {
  const forwarding = anApplication({ iosStore: [aBundle({ notifications: { forwardTo: old.url } })] });
  const told = createToldWorld(table, createWorld(table, { application: forwarding }), destinations);
  const { application } = told.world;
  const bundle = { application: application.identifier, bundleIdentifier: BUNDLE };
  const queue = createForwardQueue(table);
  const deliverer = delivererOf(table, told);
  const deliver = async (moment: Instant = NOW, known: Application = application) => {
    const send = createSender({ allowsDestination: () => true, now: () => moment, ...options });
    return deliverer(moment, {
      directory: { byIdentifier: () => Promise.resolve(known) },
      forwarding: {
        queue,
        send: (url, { body, contentType }) =>
          send(url, { text: body, headers: { "content-type": contentType } }),
      },
    });
  };
  const add = async (sent: Partial<SentNotification> = {}, since: Instant = NOW): Promise<void> =>
    void (await queue.add(bundle, {
      identifier: uuid(),
      body: '{"signedPayload":"a.b.c"}',
      contentType: "application/json",
      ...sent,
      since,
      tries: 0,
      nextTryAt: since,
    }));
  const waiting = async () => queue.due(bundle, NOW + 1000 * DAY, 1000);
  return { told, application, bundle, queue, deliver, add, waiting };
};

test("a notification arrives with the same bytes and content type, once", async () => {
  const { deliver, add, waiting } = aSetting();
  const body = '{ "signedPayload" : "a.b.c",\r\n\t"more": "é ☃ 𝄞\\u00e9" }\n';
  const contentType = "application/json; charset=utf-8";
  await add({ body, contentType });
  expect(await deliver()).toEqual({ delivered: 1, failed: 0, oldest: 0, failing: [] });
  expect(old.raw).toEqual([{ body: Buffer.from(body), contentType }]);
  expect(await waiting()).toEqual([]);
  await deliver(NOW + DAY);
  expect(old.attempts).toBe(1);
});

test("a failed attempt is repeated as a destination's are", async () => {
  const { deliver, add, waiting } = aSetting();
  old.answer = () => 503;
  await add();
  const next = async () => (await waiting())[0]?.nextTryAt;
  expect(await retriesOf(deliver, next, () => old.attempts)).toEqual(RETRIES);
});

test.each([
  ["redirects", 307],
  ["says that it is gone", 410],
  ["fails", 500],
])("a service that %s is reported, and gets all when back", async (_, status) => {
  const { bundle, deliver, add, waiting } = aSetting();
  old.answer = () => status;
  const count = MESSAGES_AT_ONCE + 5;
  for (let index = 0; index < count; index += 1) await add({ body: `{"signedPayload":"${index}"}` });
  const failing = { ...bundle, because: `status ${status}`, failingSince: NOW };
  expect((await deliver()).failing).toMatchObject([failing]);
  // Then it gets one notification a try.
  expect(old.attempts).toBe(MESSAGES_AT_ONCE + 1);
  expect((await deliver(NOW + HOUR)).failing).toMatchObject([failing]);
  old.answer = () => 204;
  expect(await deliver(NOW + 2 * HOUR)).toMatchObject({ delivered: count, failing: [] });
  expect(new Set(old.raw.map(({ body }) => String(body))).size).toBe(count);
  expect(await waiting()).toEqual([]);
});

test("a service that never answers holds up no destination", async () => {
  const receiver = await startReceiver();
  try {
    const { told, deliver, add, waiting } = aSetting({ attemptMilliseconds: 1500 }, [
      { name: "hook", url: receiver.url, secretEpochs: [] },
    ]);
    old.answer = () => null;
    await add();
    await told.world.store({ purchases: [owned("p")] }, byCredential("account"));
    await told.tell();
    const run = deliver();
    const began = performance.now();
    while (receiver.got.length === 0 && performance.now() - began < 10_000) await setTimeout(5);
    // The message arrived while the first attempt to forward was still open.
    expect([receiver.got.length, old.attempts <= 1]).toEqual([1, true]);
    expect((await run).failing).toMatchObject([{ because: "timeout" }]);
    expect(await waiting()).toHaveLength(1);
  } finally {
    await receiver.close();
  }
});

test("an address that is not public gets nothing", async () => {
  const { deliver, add } = aSetting({ allowsDestination: ALLOWS_NONE });
  await add();
  expect((await deliver()).failing).toMatchObject([{ because: "address" }]);
  expect(old.attempts).toBe(0);
});

test("a notification that nobody took for seven days is dropped", async () => {
  const { told, deliver, add, waiting } = aSetting();
  old.answer = () => 500;
  await add();
  const items = await told.itemsOf("#FORWARD#");
  expect(items.map(({ timeToLive }) => Number(timeToLive))).toEqual([(NOW + 7 * DAY) / SECOND]);
  await deliver();
  old.answer = () => 200;
  expect(await deliver(NOW + 7 * DAY)).toMatchObject({ delivered: 0, failing: [] });
  expect([old.got, await waiting()]).toEqual([[], []]);
});

test("a bundle that forwards no more sends nothing", async () => {
  const { application, deliver, add } = aSetting();
  await add();
  await deliver(NOW, { ...application, iosStore: [aBundle({ notifications: null })] });
  expect(old.attempts).toBe(0);
});

test("what waits is counted, with the time of the oldest", async () => {
  const { queue, bundle, add } = aSetting();
  expect(await queue.waiting(bundle)).toEqual({ count: 0, isMore: false, since: null });
  await add({}, NOW + HOUR);
  await add({}, NOW);
  expect(await queue.waiting(bundle)).toEqual({ count: 2, isMore: false, since: NOW });
});
