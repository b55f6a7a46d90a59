import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { failedBecause, type Message, type SendOutcome } from "../../../lib/delivery/message.ts";
import { secretText } from "../../../lib/delivery/webhook-secret.ts";
import { CONNECTIONS_PER_HOST, createSender, signedWebhook } from "../../../lib/delivery/webhook.ts";
import { DAY, SECOND } from "../../../lib/duration.ts";
import { retryTime } from "../../../lib/pause.ts";
import { DELIVERED, failedWith, GONE, listening, SECRETS } from "../sending.ts";

const listen = listening();

/** The specification's library accepts signatures of the last five minutes. */
const NOW = Date.now();

const aMessage = (identifier = "msg_1"): Message => ({
  identifier,
  type: "account.entitlements_changed",
  timestamp: NOW - SECOND,
  data: { applicationAccountIdentifier: "zoë", version: 7 },
});

/** Sends a message, signed, with one sender for all. */
const aSender = (lookup = async () => ["127.0.0.1"]) => {
  const send = createSender({ allowsDestination: () => true, lookup, now: () => NOW });
  return (url: string, identifier?: string) => send(url, signedWebhook(aMessage(identifier), SECRETS, NOW));
};

interface Received extends Pick<IncomingMessage, "method" | "url" | "headers"> {
  readonly text: string;
}

type Receiver = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

const serve = async (receiver: Receiver) => {
  let connections = 0;
  const server = createServer((request, response) => void receiver(request, response));
  server.on("connection", () => (connections += 1));
  return { port: await listen(server), connections: () => connections };
};

const receive = async (request: IncomingMessage): Promise<Received> => {
  const text = Buffer.concat(await request.toArray()).toString();
  const { method, url, headers } = request;
  return { method, url, headers, text };
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
  const url = `http://hooks.example.com:${port}/in?key=1`;
  expect(await aSender()(url)).toEqual(DELIVERED);
  expect(received).toHaveLength(1);
  const [{ headers, ...rest } = {} as Received] = received;
  const { text } = signedWebhook(aMessage(), SECRETS, NOW);
  expect(rest).toEqual({ method: "POST", url: "/in?key=1", text });
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

test.each<[status: number, retryAfter: string | null, outcome: SendOutcome]>([
  [200, null, DELIVERED],
  [299, null, DELIVERED],
  [410, "60", GONE],
  [300, null, failedWith(300)],
  [400, null, failedWith(400)],
  [404, null, failedWith(404)],
  [429, null, failedWith(429)],
  [599, null, failedWith(599)],
  [429, "120", failedWith(429, NOW + 120 * SECOND)],
  [503, "120", failedWith(503, NOW + 120 * SECOND)],
  [500, "120", failedWith(500)],
])("the outcome of %i with Retry-After %s is %j", async (status, retryAfter, outcome) => {
  const { port } = await answering(status, retryAfter === null ? {} : { "retry-after": retryAfter });
  expect(await aSender()(`http://127.0.0.1:${port}/`)).toEqual(outcome);
});

const NOON = Date.UTC(2026, 0, 15, 12);

test.each([
  ["0", NOON + SECOND],
  ["120", NOON + 120 * SECOND],
  ["86400", NOON + DAY],
  ["86401", NOON + DAY],
  ["9".repeat(400), NOON + DAY],
  ["Thu, 15 Jan 2026 11:59:59 GMT", NOON + SECOND],
  ["Thu, 15 Jan 2026 12:00:30 GMT", NOON + 30 * SECOND],
  ["Thu, 15 Jan 2099 12:00:00 GMT", NOON + DAY],
])("%s is a later time, at most a day ahead", (header, time) => {
  expect(retryTime(header, NOON, DAY)).toBe(time);
});

test.each([
  undefined,
  "",
  "-5",
  "1.5",
  "1e9",
  "soon",
  "Thu, 99 Jan 2026 12:00:30 GMT",
  "2026-01-15T12:00:30Z",
  "Thu Jan 15 12:00:30 2026",
])("%s names no time", (header) => {
  expect(retryTime(header, NOON, DAY)).toBeNull();
});

test.each([301, 302, 303, 307, 308])("%i: a redirect is a failure and is not followed", async (status) => {
  const target = await answering(200);
  const { port } = await answering(status, { location: `http://127.0.0.1:${target.port}/` });
  expect(await aSender()(`http://127.0.0.1:${port}/`)).toEqual(failedWith(status));
  expect(target.received).toEqual([]);
});

describe("connections", () => {
  test("many messages share a bounded number of connections", async () => {
    const arrived = new Set<string>();
    const { port, connections } = await serve(async (request, response) => {
      const { headers } = await receive(request);
      arrived.add(String(headers["webhook-id"]));
      response.writeHead(200).end("taken");
    });
    const sender = aSender();
    const outcomes = await Promise.all(
      Array.from({ length: 2_000 }, (_, index) =>
        sender(`http://hooks.example.com:${port}/`, `msg_${index}`),
      ),
    );
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(["delivered"]));
    expect(arrived.size).toBe(2_000);
    expect(connections()).toBeLessThanOrEqual(CONNECTIONS_PER_HOST);
  });

  test("messages one after another use one connection, and one lookup", async () => {
    const { port, connections } = await serve(async (request, response) => {
      await receive(request);
      response.writeHead(500).end("x".repeat(60_000));
    });
    let lookups = 0;
    const lookup = async (): Promise<string[]> => {
      lookups += 1;
      return ["127.0.0.1"];
    };
    const sender = aSender(lookup);
    for (let index = 0; index < 20; index += 1)
      await sender(`http://hooks.example.com:${port}/`, `msg_${index}`);
    expect([connections(), lookups]).toEqual([1, 1]);
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
    const send = (identifier: string) => sender(`http://127.0.0.1:${port}/`, identifier);
    const atOnce = await Promise.all([send("msg_1"), send("msg_2")]);
    expect([...atOnce, await send("msg_3")]).toEqual([DELIVERED, DELIVERED, DELIVERED]);
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
    const send = () => sender(`http://127.0.0.1:${port}/`);
    expect([await send(), await send()]).toEqual([DELIVERED, failedBecause("connect")]);
    expect(requests).toBe(3);
  });
});
