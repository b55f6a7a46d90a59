import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { failedBecause, type SendOutcome } from "../../../lib/delivery/message.ts";
import { DAY } from "../../../lib/duration.ts";
import { DELIVERED, listening, sendFromProcess } from "../sending.ts";
import { makeAuthority, type ServerCertificate } from "./tls-certificates.ts";

const NAME = "hooks.example.com";
const listen = listening();

const trusted = makeAuthority();
const unknown = makeAuthority();
const VALID = trusted.issueFor(NAME);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "webhook-tls-"));
  await writeFile(join(folder, "authority.pem"), trusted.pem);
});
afterAll(() => rm(folder, { recursive: true }));

const urlOf = async (server: Server): Promise<string> => `https://${NAME}:${await listen(server)}/`;

/** Sends from a process that trusts the authority. */
const sendTo = async (
  urls: readonly string[],
  { attemptMilliseconds = 10_000, environment = {} as Record<string, string> } = {},
): Promise<readonly SendOutcome[]> =>
  sendFromProcess(
    { to: "webhook", urls, attemptMilliseconds },
    { ...environment, NODE_EXTRA_CA_CERTS: join(folder, "authority.pem") },
  );

interface Connection {
  readonly serverName: string | false | null;
  readonly isResumed: boolean;
}

const serving = (certificate: ServerCertificate, headers: Record<string, string> = {}) => {
  const connections: Connection[] = [];
  let requests = 0;
  const server = createHttpsServer(certificate, (request, response) => {
    requests += 1;
    request.resume();
    response.writeHead(200, headers).end();
  });
  server.on("secureConnection", (socket: TLSSocket & { servername: string | false | null }) => {
    connections.push({ serverName: socket.servername, isResumed: socket.isSessionReused() });
  });
  return { server, connections, requests: () => requests };
};

test("a valid certificate: messages share a connection", async () => {
  const { server, connections, requests } = serving(VALID);
  const url = await urlOf(server);
  expect(await sendTo([url, url, url])).toEqual([DELIVERED, DELIVERED, DELIVERED]);
  expect(connections).toEqual([{ serverName: NAME, isResumed: false }]);
  expect(requests()).toBe(3);
});

test("each connection verifies the certificate: no session is resumed", async () => {
  const { server, connections } = serving(VALID, { connection: "close" });
  const url = await urlOf(server);
  expect(await sendTo([url, url])).toEqual([DELIVERED, DELIVERED]);
  expect(connections.map(({ isResumed }) => isResumed)).toEqual([false, false]);
});

const INVALID: readonly (readonly [string, ServerCertificate])[] = [
  ["for another name", trusted.issueFor("other.example.com")],
  ["for names below it alone", trusted.issueFor(`*.${NAME}`)],
  ["that has expired", trusted.issueFor(NAME, { notAfter: Date.now() - DAY })],
  ["that is not valid yet", trusted.issueFor(NAME, { notBefore: Date.now() + DAY })],
  ["of an unknown authority", unknown.issueFor(NAME)],
];

test.each([
  ["as usual", {}],
  ["where the environment would accept any", { NODE_TLS_REJECT_UNAUTHORIZED: "0" }],
])("certificates that are not valid are refused, %s", async (_name, environment) => {
  const servings = INVALID.map(([kind, certificate]) => ({ kind, ...serving(certificate) }));
  const urls = await Promise.all(servings.map(({ server }) => urlOf(server)));
  const outcomes = await sendTo(urls, { environment });
  expect(servings.map(({ kind, requests }, index) => [kind, outcomes[index], requests()])).toEqual(
    INVALID.map(([kind]) => [kind, failedBecause("tls"), 0]),
  );
});

test("what is not TLS is refused", async () => {
  const plain = await urlOf(createHttpServer((_request, response) => void response.end()));
  const broken = await urlOf(createServer((socket) => void socket.once("data", () => socket.destroy())));
  expect(await sendTo([plain, broken])).toEqual([failedBecause("tls"), failedBecause("tls")]);
});

test("a failure after the handshake is not one of TLS", async () => {
  const saying = (behave: (socket: TLSSocket) => void) =>
    createTlsServer(VALID, (socket) => {
      socket.on("error", () => {});
      socket.once("data", () => behave(socket));
    });
  const breaking = await urlOf(saying((socket) => socket.destroy()));
  const garbage = await urlOf(saying((socket) => void socket.end("garbage")));
  expect(await sendTo([breaking, garbage])).toEqual([failedBecause("connect"), failedBecause("protocol")]);
});

test("a handshake that never ends is cut off", async () => {
  const silent = await urlOf(createServer((socket) => void socket.on("error", () => {}).resume()));
  expect(await sendTo([silent], { attemptMilliseconds: 300 })).toEqual([failedBecause("timeout")]);
});
