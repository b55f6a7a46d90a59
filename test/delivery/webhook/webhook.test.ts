import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { close, listen } from "../../../local/server.ts";
import { messageText, type Message } from "../../../lib/delivery/message.ts";
import { secretText } from "../../../lib/delivery/webhook-secret.ts";
import {
  CONNECTIONS_PER_HOST,
  createWebhookSender,
  retryTime,
} from "../../../lib/delivery/webhook/webhook.ts";

const SECRETS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const SECOND = 1000;

/** The specification's library accepts signatures of the last five minutes. */
const NOW = Date.now();

const aMessage = (identifier = "msg_1"): Message => ({
  identifier,
  type: "account.entitlements_changed",
  timestamp: NOW - SECOND,
  data: { applicationAccountIdentifier: "zoë", version: 7 },
});

const aSender = () =>
  createWebhookSender({ isAnyAddressAllowed: true, lookup: async () => ["127.0.0.1"], now: () => NOW });

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(close));
});

type Receiver = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

const serve = async (receiver: Receiver): Promise<{ server: Server; port: number }> => {
  const server = createServer((request, response) => void receiver(request, response));
  servers.push(server);
  return { server, port: await listen(server, 0) };
};

const receive = async (request: IncomingMessage): Promise<Received> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const { method, url, headers } = request;
  return { method, url, headers, text: Buffer.concat(chunks).toString("utf8") };
};

/** Answers every request alike, and keeps what was received. */
const answering = async (status: number, headers: Record<string, string> = {}, body = "") => {
  const received: Received[] = [];
  const { port } = await serve(async (request, response) => {
    received.push(await receive(request));
    response.writeHead(status, headers).end(body);
  });
  return { received, port };
};

test("a message arrives as a signed POST that the library verifies", async () => {
  const { received, port } = await answering(204);
  expect(await aSender().send(`http://hooks.example.com:${port}/in?key=1`, aMessage(), SECRETS)).toEqual({
    outcome: "delivered",
  });
  expect(received).toHaveLength(1);
  const [{ method, url, headers, text } = {} as Received] = received;
  expect({ method, url, text }).toEqual({ method: "POST", url: "/in?key=1", text: messageText(aMessage()) });
  expect(headers).toMatchObject({
    host: `hooks.example.com:${port}`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    "user-agent": "customer-entitlements",
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(NOW / SECOND)),
  });
  for (const secret of SECRETS)
    expect(new Webhook(secretText(secret)).verify(text, headers as Record<string, string>)).toEqual(
      JSON.parse(text),
    );
});

const failed = (status: number, retryAt: number | null = null) => ({
  outcome: "failed",
  because: "status",
  status,
  retryAt,
});

test.each<[status: number, retryAfter: string | null, outcome: object]>([
  [200, null, { outcome: "delivered" }],
  [299, null, { outcome: "delivered" }],
  [410, "60", { outcome: "gone" }],
  [300, null, failed(300)],
  [400, null, failed(400)],
  [404, null, failed(404)],
  [429, null, failed(429)],
  [599, null, failed(599)],
  [429, "120", failed(429, NOW + 120 * SECOND)],
  [503, "120", failed(503, NOW + 120 * SECOND)],
  [500, "120", failed(500)],
])("the outcome of %i with Retry-After %s is %j", async (status, retryAfter, outcome) => {
  const { port } = await answering(status, retryAfter === null ? {} : { "retry-after": retryAfter });
  expect(await aSender().send(`http://127.0.0.1:${port}/`, aMessage(), SECRETS)).toEqual(outcome);
});

const NOON = Date.UTC(2026, 0, 15, 12);
const DAY = 24 * 3600 * SECOND;

test.each([
  ["1", NOON + SECOND],
  ["120", NOON + 120 * SECOND],
  ["86400", NOON + DAY],
  ["86401", NOON + DAY],
  ["9".repeat(400), NOON + DAY],
  ["Thu, 15 Jan 2026 12:00:30 GMT", NOON + 30 * SECOND],
  ["Thu, 15 Jan 2099 12:00:00 GMT", NOON + DAY],
])("%s is a later time, at most a day ahead", (header, time) => {
  expect(retryTime(header, NOON)).toBe(time);
});

test.each([
  undefined,
  "",
  "0",
  "-5",
  "1.5",
  "1e9",
  "soon",
  "Thu, 15 Jan 2026 11:59:59 GMT",
  "Thu, 99 Jan 2026 12:00:30 GMT",
  "2026-01-15T12:00:30Z",
  "Thu Jan 15 12:00:30 2026",
])("%s names no later time", (header) => {
  expect(retryTime(header, NOON)).toBeNull();
});

test.each([301, 302, 303, 307, 308])("%i: a redirect is a failure and is not followed", async (status) => {
  const target = await answering(200);
  const { port } = await answering(status, { location: `http://127.0.0.1:${target.port}/` });
  expect(await aSender().send(`http://127.0.0.1:${port}/`, aMessage(), SECRETS)).toEqual(failed(status));
  expect(target.received).toEqual([]);
});

describe("connections", () => {
  test("many messages share a bounded number of connections", async () => {
    const arrived = new Set<string>();
    const { server, port } = await serve(async (request, response) => {
      const { headers } = await receive(request);
      arrived.add(String(headers["webhook-id"]));
      response.writeHead(200).end("taken");
    });
    let connections = 0;
    server.on("connection", () => (connections += 1));
    const sender = aSender();
    const outcomes = await Promise.all(
      Array.from({ length: 2_000 }, (_, index) =>
        sender.send(`http://hooks.example.com:${port}/`, aMessage(`msg_${index}`), SECRETS),
      ),
    );
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(["delivered"]));
    expect(arrived.size).toBe(2_000);
    expect(connections).toBeLessThanOrEqual(CONNECTIONS_PER_HOST);
  });

  test("messages one after another use one connection, and one lookup", async () => {
    const { server, port } = await serve(async (request, response) => {
      await receive(request);
      response.writeHead(500).end("x".repeat(60_000));
    });
    let connections = 0;
    let lookups = 0;
    server.on("connection", () => (connections += 1));
    const lookup = async (): Promise<string[]> => {
      lookups += 1;
      return ["127.0.0.1"];
    };
    const sender = createWebhookSender({ isAnyAddressAllowed: true, lookup, now: () => NOW });
    for (let index = 0; index < 20; index += 1)
      await sender.send(`http://hooks.example.com:${port}/`, aMessage(`msg_${index}`), SECRETS);
    expect({ connections, lookups }).toEqual({ connections: 1, lookups: 1 });
  });

  test("a kept connection that was closed is replaced within the attempt", async () => {
    const arrived: string[] = [];
    const used = new WeakSet<object>();
    const bothArrived = Promise.withResolvers<void>();
    const { port } = await serve(async (request, response) => {
      // The second request of a connection meets its end, as when both cross on the way.
      if (used.has(request.socket)) return request.socket.destroy();
      used.add(request.socket);
      const { headers } = await receive(request);
      arrived.push(String(headers["webhook-id"]));
      if (arrived.length === 2) bothArrived.resolve();
      await bothArrived.promise;
      return response.writeHead(200).end();
    });
    const sender = aSender();
    const send = (identifier: string) =>
      sender.send(`http://127.0.0.1:${port}/`, aMessage(identifier), SECRETS);
    const atOnce = await Promise.all([send("msg_1"), send("msg_2")]);
    expect([...atOnce, await send("msg_3")]).toEqual(
      Array.from({ length: 3 }, () => ({ outcome: "delivered" })),
    );
    expect(arrived.sort()).toEqual(["msg_1", "msg_2", "msg_3"]);
  });

  test("a receiver that closes every connection is tried anew once", async () => {
    let requests = 0;
    const { port } = await serve(async (request, response) => {
      requests += 1;
      if (requests > 1) return request.socket.destroy();
      await receive(request);
      return response.writeHead(200).end();
    });
    const sender = aSender();
    await sender.send(`http://127.0.0.1:${port}/`, aMessage(), SECRETS);
    expect(await sender.send(`http://127.0.0.1:${port}/`, aMessage(), SECRETS)).toMatchObject({
      because: "connect",
    });
    expect(requests).toBe(3);
  });
});
