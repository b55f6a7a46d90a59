import { createServer as createTlsServer } from "node:tls";
import { createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { makeChain } from "../../sandbox/ios-store/signing.ts";
import { unansweredBecause } from "../../lib/unanswered.ts";

const servers = new Set<Server>();
const sockets = new Set<Socket>();
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

/** Address of a server that listens. */
const served = async (scheme: string, server: Server): Promise<string> => {
  servers.add(server);
  server.on("connection", (socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return `${scheme}://127.0.0.1:${(server.address() as { port: number }).port}/`;
};

const untrusted = (): Server => {
  const { leaf } = makeChain();
  const pem = leaf.certificate.toString("base64").replaceAll(/.{64}/g, "$&\n");
  return createTlsServer({
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
    key: leaf.privateKey.export({ format: "pem", type: "pkcs8" }),
  });
};
const plain = () => createServer((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));

test.each<[string, word: string, () => string | Promise<string>]>([
  ["a name that does not resolve", "nameNotResolved", () => "http://name.invalid/"],
  ["a port where nobody listens", "connection", () => "http://127.0.0.1:2/"],
  [
    "a connection that is closed",
    "connection",
    () =>
      served(
        "http",
        createServer((socket) => socket.destroy()),
      ),
  ],
  ["a certificate that nobody trusts", "tls", () => served("https", untrusted())],
  ["a server without TLS", "tls", () => served("https", plain())],
  ["a time limit", "timeout", () => served("http", createServer())],
])("%s: %s", async (_, word, address) => {
  const signal = AbortSignal.timeout(word === "timeout" ? 50 : 10_000);
  const failed = fetch(await address(), { signal });
  expect(await failed.then(() => null, unansweredBecause)).toBe(word);
});

test("anything else has no word, and neither has what is no error", () => {
  const cyclic: Error & { cause?: unknown } = new Error("cyclic");
  cyclic.cause = cyclic;
  for (const error of [new Error("ENOTFOUND of a token"), { code: 7 }, "ENOTFOUND", null, undefined, cyclic])
    expect(unansweredBecause(error)).toBeNull();
});
