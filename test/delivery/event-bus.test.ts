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

const MESSAGE: Message = {
  identifier: "msg_one",
  type: "account.entitlements_changed",
  timestamp: Date.UTC(2026, 0, 15, 12, 0, 0, 7),
  data: { name: "one" },
};

const clientOf = (endpoint: string, configuration: EventBridgeClientConfig = {}): EventBridgeClient =>
  new EventBridgeClient({
    region: "eu-west-1",
    endpoint,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    maxAttempts: 1,
    ...configuration,
  });

const requestOf = async (request: IncomingMessage) => ({
  target: request.headers["x-amz-target"],
  body: JSON.parse(Buffer.concat(await request.toArray()).toString()) as unknown,
});

const answer = (response: ServerResponse, body: unknown, status = 200): unknown =>
  response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));

/** An event bus on this machine: PutEvents in EventBridge's JSON protocol, with the given answer to a request. */
const aBus = async (
  respond: (response: ServerResponse) => unknown,
  configuration: EventBridgeClientConfig = {},
) => {
  const requests: Awaited<ReturnType<typeof requestOf>>[] = [];
  const server = createServer((incoming, response) => {
    void (async () => {
      requests.push(await requestOf(incoming));
      respond(response);
    })();
  });
  return { requests, client: clientOf(`http://127.0.0.1:${await listen(server)}`, configuration) };
};

const taking = (response: ServerResponse): unknown =>
  answer(response, { FailedEntryCount: 0, Entries: [{ EventId: "1" }] });

test("a message is an event: detail and time", async () => {
  const { client, requests } = await aBus(taking);
  expect(await sendToEventBus(client, BUS, MESSAGE)).toEqual(DELIVERED);
  expect(requests).toEqual([
    {
      target: "AWSEvents.PutEvents",
      body: {
        Entries: [
          {
            EventBusName: BUS,
            Source: "customer-entitlements",
            DetailType: "account.entitlements_changed",
            Detail: '{"name":"one"}',
            Time: Date.UTC(2026, 0, 15, 12) / 1000 + 0.007,
          },
        ],
      },
    },
  ]);
});

test.each([
  ["ThrottlingException", 429],
  ["InternalFailure", 500],
  ["NotAuthorizedForSourceException", 403],
  ["MalformedDetail", 400],
])("an entry that is refused, %s, has failed", async (name, status) => {
  const refused = { ErrorCode: name, ErrorMessage: "secret" };
  const { client } = await aBus((response) => answer(response, { FailedEntryCount: 1, Entries: [refused] }));
  expect(await sendToEventBus(client, BUS, MESSAGE)).toEqual(failedWith(status));
});

test.each([
  ["ThrottlingException", 400, 429],
  ["AccessDeniedException", 400, 403],
  ["InternalException", 500, 500],
  ["ValidationException", 400, 400],
])("a request that is refused, %s, has failed", async (name, answered, status) => {
  const { client } = await aBus((response) =>
    answer(response, { __type: name, message: "secret" }, answered),
  );
  expect(await sendToEventBus(client, BUS, MESSAGE)).toEqual(failedWith(status));
});

test("a bus that hangs is a timeout, and its connection is closed", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<unknown>();
  const { client, requests } = await aBus((response) => response.on("close", resolve));
  expect(await sendToEventBus(client, BUS, MESSAGE, HASTY)).toEqual(failedBecause("timeout"));
  await closed;
  expect(requests).toHaveLength(1);
  const waiting = clientOf("http://127.0.0.1:1", { credentials: () => new Promise(() => {}) });
  expect(await sendToEventBus(waiting, BUS, MESSAGE, HASTY)).toEqual(failedBecause("timeout"));
});

test.each<[string, (response: ServerResponse) => unknown]>([
  ["is not JSON", (response) => response.end("<html>secret</html>")],
  ["has no entries", (response) => answer(response, {})],
  ["has too few entries", (response) => answer(response, { FailedEntryCount: 0, Entries: [] })],
])("an answer that %s", async (_name, respond) => {
  const { client } = await aBus(respond);
  expect(await sendToEventBus(client, BUS, MESSAGE)).toEqual(failedBecause("protocol"));
});

test.each(["ENOTFOUND", "EAI_AGAIN"])("the name does not resolve: %s", async (code) => {
  const httpAgent = new Agent({
    lookup: (_name, _options, callback) =>
      process.nextTick(callback, Object.assign(new Error("no such name"), { code }), []),
  });
  const client = clientOf("http://events.example.com", { requestHandler: { httpAgent } });
  expect(await sendToEventBus(client, BUS, MESSAGE)).toEqual(failedBecause("name"));
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
  const { client, requests } = await aBus(taking, {
    credentials: () => Promise.reject(new Error("no credentials")),
  });
  await expect(sendToEventBus(client, BUS, MESSAGE)).rejects.toThrow("no credentials");
  expect(requests).toEqual([]);
});
