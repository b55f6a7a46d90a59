import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import type { Destination } from "../../lib/applications/destination.ts";
import { deliverMessages, type DeliveryReport } from "../../lib/delivery/deliver-messages.ts";
import type { Forward, SentNotification } from "../../lib/delivery/forward-queue.ts";
import { MESSAGES_AT_ONCE } from "../../lib/delivery/destination-queue.ts";
import { createTextSender, createWebhookSender } from "../../lib/delivery/webhook/webhook.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import { createForwardQueue } from "../../lib/table/telling/forwards.ts";
import { anApplication } from "../../testing/support/application.ts";
import { assertInvariants } from "../../testing/support/table/invariants.ts";
import { aBundle, BUNDLE } from "../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { byCredential, createToldWorld, createWorld, owned } from "../../testing/support/world.ts";
import { startReceiver } from "./receiver.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

/** The service that takes notifications after this one. */
interface OldService {
  readonly url: string;
  readonly got: { readonly body: Buffer; readonly contentType: string | undefined }[];
  attempts: number;
  /** Status of the next answers; null: none comes. */
  status: number | null;
}

let servers: Server[] = [];
afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
  servers = [];
});

const anOldService = async (): Promise<OldService> => {
  const take = async (request: IncomingMessage): Promise<number | null> => {
    old.attempts += 1;
    const body = Buffer.concat(await request.toArray());
    const { status } = old;
    if (status !== null && status < 300) old.got.push({ body, contentType: request.headers["content-type"] });
    return status;
  };
  const server = createServer((request, response) => {
    void (async () => {
      const status = await take(request);
      if (status === null) return;
      response.writeHead(status, status === 307 ? { location: `${old.url}?again` } : {}).end();
    })();
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const old: OldService = { url: `http://127.0.0.1:${port}/apple`, got: [], attempts: 0, status: 200 };
  return old;
};

interface Changes {
  readonly destinations?: readonly Destination[];
  readonly isAnyAddressAllowed?: boolean;
  readonly attemptMilliseconds?: number;
}

/** An application whose bundle's notifications are forwarded, and the function that delivers. */
const aSetting = async ({
  destinations = [],
  isAnyAddressAllowed = true,
  attemptMilliseconds = 5 * SECOND,
}: Changes = {}) => {
  const old = await anOldService();
  const told = createToldWorld(
    table,
    createWorld(table, {
      application: anApplication({ iosStore: [aBundle({ notifications: { forwardTo: old.url } })] }),
    }),
    destinations,
  );
  const { application } = told.world;
  const bundle = { application: application.identifier, bundleIdentifier: BUNDLE };
  const queue = createForwardQueue(table);
  const deliver = async (
    moment: Instant = NOW,
    known: Application = application,
  ): Promise<DeliveryReport> => {
    const clock = { now: moment };
    const now = () => clock.now;
    const sender = createTextSender({ isAnyAddressAllowed, now, attemptMilliseconds });
    const webhooks = createWebhookSender({ isAnyAddressAllowed: true, now });
    return deliverMessages(
      {
        directory: { byIdentifier: () => Promise.resolve(known) },
        queue: createDeliveryQueue(table, () => Promise.resolve()),
        applications: () => Promise.resolve([application.identifier]),
        forwarding: {
          queue,
          send: async (url, { body, contentType }) => sender.send(url, body, { "content-type": contentType }),
        },
        send: async (_, destination, messages) =>
          Promise.all(
            messages.map(async (message) =>
              webhooks.send("url" in destination ? destination.url : "", message, [Buffer.alloc(32)]),
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
      },
      Infinity,
    );
  };
  const add = async (sent: Partial<SentNotification> = {}, since: Instant = NOW): Promise<Forward> => {
    const forward = {
      identifier: uuid(),
      body: '{"signedPayload":"a.b.c"}',
      contentType: "application/json",
      ...sent,
      since,
      tries: 0,
      nextTryAt: since,
    };
    await queue.add(bundle, forward);
    return forward;
  };
  const waiting = async (): Promise<readonly Forward[]> => queue.due(bundle, NOW + 1000 * DAY, 1000);
  return { old, told, application, bundle, queue, deliver, add, waiting };
};

test("a notification arrives with the same bytes and content type, once", async () => {
  const { old, deliver, add, waiting } = await aSetting();
  const body = '{ "signedPayload" : "a.b.c",\r\n\t"more": "é ☃ 𝄞\\u00e9" }\n';
  await add({ body, contentType: "application/json; charset=utf-8" });
  expect(await deliver()).toEqual({ delivered: 1, failed: 0, oldest: 0, failing: [] });
  expect(old.got).toEqual([{ body: Buffer.from(body), contentType: "application/json; charset=utf-8" }]);
  expect(await waiting()).toEqual([]);
  await deliver(NOW + DAY);
  expect(old.attempts).toBe(1);
});

test("a failed attempt is repeated as a destination's are", async () => {
  const { old, deliver, add, waiting } = await aSetting();
  old.status = 503;
  await add();
  const pauses: number[] = [];
  let moment = NOW;
  for (let turn = 0; turn < 9; turn += 1) {
    await deliver(moment);
    const until = (await waiting())[0]?.nextTryAt ?? NaN;
    // Too early by a millisecond: nothing is sent.
    const before = old.attempts;
    await deliver(until - 1);
    expect(old.attempts).toBe(before);
    pauses.push((until - moment) / MINUTE);
    moment = until;
  }
  expect(old.attempts).toBe(10);
  expect(pauses).toEqual([5 + 5 / 60, 30, 120, 300, 600, 840, 1200, 1440, 1440]);
});

test.each<[what: string, status: number, because: string]>([
  ["redirects", 307, "status 307"],
  ["says that it is gone", 410, "status 410"],
  ["fails", 500, "status 500"],
])("a service that %s is reported, and takes all when it is back", async (_, status, because) => {
  const { old, bundle, deliver, add, waiting } = await aSetting();
  old.status = status;
  const count = MESSAGES_AT_ONCE + 5;
  for (let index = 0; index < count; index += 1) await add({ body: `{"signedPayload":"${index}"}` });
  expect((await deliver()).failing).toMatchObject([{ ...bundle, because, failingSince: NOW }]);
  // Then it gets one notification a try.
  expect(old.attempts).toBe(MESSAGES_AT_ONCE + 1);
  expect((await deliver(NOW + HOUR)).failing).toMatchObject([{ ...bundle, failingSince: NOW }]);
  old.status = 204;
  expect(await deliver(NOW + 2 * HOUR)).toMatchObject({ delivered: count, failing: [] });
  expect(new Set(old.got.map(({ body }) => String(body))).size).toBe(count);
  expect(await waiting()).toEqual([]);
});

test("a service that never answers holds up no destination", async () => {
  const receiver = await startReceiver();
  try {
    const { old, told, deliver, add, waiting } = await aSetting({
      destinations: [{ name: "hook", url: receiver.url, secretEpochs: [] }],
      attemptMilliseconds: 1500,
    });
    old.status = null;
    await add();
    await told.world.store({ purchases: [owned("p")] }, byCredential("account"));
    await told.tell();
    const run = deliver();
    const began = performance.now();
    while (receiver.got.length === 0 && performance.now() - began < 10_000)
      await new Promise((resolve) => void setTimeout(resolve, 5));
    expect(receiver.got).toHaveLength(1);
    // The message arrived while the first attempt to forward was still open.
    expect(old.attempts).toBeLessThanOrEqual(1);
    expect((await run).failing).toMatchObject([{ because: "timeout" }]);
    expect(await waiting()).toHaveLength(1);
  } finally {
    await receiver.close();
  }
});

test("an address that is not public gets nothing", async () => {
  const { old, deliver, add } = await aSetting({ isAnyAddressAllowed: false });
  await add();
  expect((await deliver()).failing).toMatchObject([{ because: "address" }]);
  expect(old.attempts).toBe(0);
});

test("a notification that nobody took for seven days is dropped", async () => {
  const { old, deliver, add, waiting } = await aSetting();
  old.status = 500;
  await add();
  await deliver();
  old.status = 200;
  expect(await deliver(NOW + 7 * DAY)).toMatchObject({ delivered: 0, failing: [] });
  expect(old.got).toEqual([]);
  expect(await waiting()).toEqual([]);
});

test("a bundle that forwards no more sends nothing", async () => {
  const { old, application, deliver, add } = await aSetting();
  await add();
  await deliver(NOW, { ...application, iosStore: [aBundle({ notifications: null })] });
  expect(old.attempts).toBe(0);
});

test("the items of notifications expire", async () => {
  const { told, add } = await aSetting();
  await add();
  const items = await told.itemsOf("#FORWARD#");
  expect(items.map(({ expiresAt }) => Number(expiresAt))).toEqual([(NOW + 7 * DAY) / SECOND]);
});

test("two deliverers at once forward nothing twice", async () => {
  const { old, deliver, add } = await aSetting();
  for (let index = 0; index < 30; index += 1) await add();
  await Promise.all([deliver(), deliver()]);
  await deliver(NOW + MINUTE);
  expect(old.attempts).toBe(30);
});

test("what waits is counted, with the time of the oldest", async () => {
  const { queue, bundle, add } = await aSetting();
  expect(await queue.waiting(bundle)).toEqual({ count: 0, isMore: false, since: null });
  await add({}, NOW + HOUR);
  await add({}, NOW);
  expect(await queue.waiting(bundle)).toEqual({ count: 2, isMore: false, since: NOW });
});
