import { createServer, Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Server } from "node:net";
import { EventBridgeClient, type EventBridgeClientConfig } from "@aws-sdk/client-eventbridge";
import { sendToEventBus } from "../../lib/delivery/event-bus.ts";
import { failedBecause, type Message, type SendOutcome } from "../../lib/delivery/message.ts";
import { BUS, closedPort, DELIVERED, failedWith, listening, sendFromProcess } from "./sending.ts";
import { makeAuthority } from "./webhook/tls-certificates.ts";

const listen = listening();
/** Short, for a bus that hangs on purpose. */
const HASTY = 300;

const aMessage = (name: string, filler = ""): Message => ({
  identifier: `msg_${name}`,
  type: "account.entitlements_changed",
  timestamp: Date.UTC(2026, 0, 15, 12, 0, 0, 7),
  data: { name, filler },
});

const messages = (count: number): readonly Message[] =>
  Array.from({ length: count }, (_, index) => aMessage(String(index)));

interface Put {
  readonly Time: number;
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
  readonly EventBusName: string;
}

interface Request {
  readonly target: unknown;
  readonly entries: readonly Put[];
}

const nameIn = ({ Detail }: Put): string => (JSON.parse(Detail) as { name: string }).name;

const clientOf = (endpoint: string, configuration: EventBridgeClientConfig = {}): EventBridgeClient =>
  new EventBridgeClient({
    region: "eu-west-1",
    endpoint,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    maxAttempts: 1,
    ...configuration,
  });

const requestOf = async (request: IncomingMessage): Promise<Request> => {
  const { Entries } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { Entries: Put[] };
  return { target: request.headers["x-amz-target"], entries: Entries };
};

const answer = (response: ServerResponse, body: unknown, status = 200): unknown =>
  response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));

/** An event bus on this machine: PutEvents in EventBridge's JSON protocol, with the given answer to a request. */
const aBus = async (
  respond: (request: Request, response: ServerResponse, count: number) => unknown,
  configuration: EventBridgeClientConfig = {},
) => {
  const requests: Request[] = [];
  const server = createServer((incoming, response) => {
    void (async () => {
      const request = await requestOf(incoming);
      respond(request, response, requests.push(request));
    })();
  });
  return { requests, client: clientOf(`http://127.0.0.1:${await listen(server)}`, configuration) };
};

/** Takes every entry whose name has no error. */
const taking =
  (errors: Readonly<Record<string, string>> = {}) =>
  ({ entries }: Request, response: ServerResponse): unknown => {
    const results = entries.map((entry) => {
      const ErrorCode = errors[nameIn(entry)];
      return ErrorCode === undefined
        ? { EventId: "1" }
        : { ErrorCode, ErrorMessage: `secret: ${entry.Detail}` };
    });
    return answer(response, {
      FailedEntryCount: results.filter((result) => "ErrorCode" in result).length,
      Entries: results,
    });
  };

const refusing = (name: string, status: number) => (_request: Request, response: ServerResponse) =>
  answer(response, { __type: name, message: "secret" }, status);

test("a message is an event: detail and time", async () => {
  const { client, requests } = await aBus(taking());
  expect(await sendToEventBus(client, BUS, [aMessage("one")])).toEqual([DELIVERED]);
  expect(requests).toEqual([
    {
      target: "AWSEvents.PutEvents",
      entries: [
        {
          EventBusName: BUS,
          Source: "customer-entitlements",
          DetailType: "account.entitlements_changed",
          Detail: '{"name":"one","filler":""}',
          Time: Date.UTC(2026, 0, 15, 12) / 1000 + 0.007,
        },
      ],
    },
  ]);
});

test("messages go ten in a request, in their order", async () => {
  const { client, requests } = await aBus(taking());
  expect(await sendToEventBus(client, BUS, [])).toEqual([]);
  expect(await sendToEventBus(client, BUS, messages(25))).toEqual(messages(25).map(() => DELIVERED));
  expect(requests.map(({ entries }) => entries.length)).toEqual([10, 10, 5]);
  expect(requests.flatMap(({ entries }) => entries.map(nameIn))).toEqual(
    messages(25).map((_, index) => String(index)),
  );
});

test.each([
  ["of up to 256 KB together share a request", [100, 100, 50], [3]],
  ["of more go alone, so that a large one fails no other", [1, 300, 1], [1, 1, 1]],
])("messages %s", async (_, kilobytes, requested) => {
  const { client, requests } = await aBus(taking());
  const sized = kilobytes.map((size, index) => aMessage(String(index), "é".repeat(size * 512)));
  expect(await sendToEventBus(client, BUS, sized)).toEqual(sized.map(() => DELIVERED));
  expect(requests.map(({ entries }) => entries.length)).toEqual(requested);
  expect(requests.flatMap(({ entries }) => entries.map(nameIn))).toEqual(
    sized.map((_, index) => String(index)),
  );
});

test("each message has the outcome of its own entry", async () => {
  const errors = {
    0: "ThrottlingException",
    1: "InternalFailure",
    2: "NotAuthorizedForSourceException",
    11: "MalformedDetail",
  };
  const { client } = await aBus(taking(errors));
  const statuses = new Map([429, 500, 403].entries()).set(11, 400);
  expect(await sendToEventBus(client, BUS, messages(13))).toEqual(
    messages(13).map((_, index) => {
      const status = statuses.get(index);
      return status === undefined ? DELIVERED : failedWith(status);
    }),
  );
});

test.each([
  ["ThrottlingException", 400, 429],
  ["AccessDeniedException", 400, 403],
  ["InternalException", 500, 500],
  ["ValidationException", 400, 400],
])("a request that fails as a whole, %s, fails its messages alone", async (name, answered, status) => {
  const { client } = await aBus((request, response, count) =>
    (count === 1 ? refusing(name, answered) : taking())(request, response),
  );
  expect(await sendToEventBus(client, BUS, messages(11))).toEqual([
    ...messages(10).map(() => failedWith(status)),
    DELIVERED,
  ]);
});

test("a bus that hangs is a timeout, and its connection is closed", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<unknown>();
  const { client, requests } = await aBus((_request, response) => response.on("close", resolve));
  expect(await sendToEventBus(client, BUS, messages(25), HASTY)).toEqual(
    messages(25).map(() => failedBecause("timeout")),
  );
  await closed;
  expect(requests).toHaveLength(1);
  const waiting = clientOf("http://127.0.0.1:1", { credentials: () => new Promise(() => {}) });
  expect(await sendToEventBus(waiting, BUS, messages(1), HASTY)).toEqual([failedBecause("timeout")]);
});

test.each<[string, (response: ServerResponse) => unknown]>([
  ["is not JSON", (response) => response.end("<html>secret</html>")],
  ["has no entries", (response) => answer(response, {})],
  ["has too few entries", (response) => answer(response, { FailedEntryCount: 0, Entries: [] })],
])("an answer that %s", async (_name, respond) => {
  const { client } = await aBus((_request, response) => respond(response));
  expect(await sendToEventBus(client, BUS, messages(1))).toEqual([failedBecause("protocol")]);
});

test.each(["ENOTFOUND", "EAI_AGAIN"])("the name does not resolve: %s", async (code) => {
  const httpAgent = new Agent({
    lookup: (_name, _options, callback) =>
      process.nextTick(callback, Object.assign(new Error("no such name"), { code }), []),
  });
  const client = clientOf("http://events.example.com", { requestHandler: { httpAgent } });
  expect(await sendToEventBus(client, BUS, messages(1))).toEqual([failedBecause("name")]);
});

test("each failure of the network has its reason", async () => {
  const served = async (server: Server, protocol = "http"): Promise<string> =>
    `${protocol}://127.0.0.1:${await listen(server)}`;
  const { issueFor } = makeAuthority();
  const cases: readonly (readonly [string, SendOutcome])[] = [
    [`http://127.0.0.1:${await closedPort()}`, failedBecause("connect")],
    [await served(createServer(({ socket }) => void socket.resetAndDestroy())), failedBecause("connect")],
    [await served(createServer(({ socket }) => void socket.end("garbage"))), failedBecause("protocol")],
    [await served(createServer(() => {})), failedBecause("timeout")],
    [await served(createHttpsServer(issueFor("events.example.com")), "https"), failedBecause("tls")],
    [await served(createServer(), "https"), failedBecause("tls")],
  ];
  const urls = cases.map(([url]) => url);
  const outcomes = await sendFromProcess({ to: "bus", urls, attemptMilliseconds: 1_000 });
  expect(outcomes).toEqual(cases.map(([, outcome]) => outcome));
});

test("what is no failure of the bus is thrown: missing credentials", async () => {
  const { client, requests } = await aBus(taking(), {
    credentials: () => Promise.reject(new Error("no credentials")),
  });
  await expect(sendToEventBus(client, BUS, messages(1))).rejects.toThrow("no credentials");
  expect(requests).toEqual([]);
});
