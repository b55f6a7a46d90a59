import { createServer as createTlsServer } from "node:tls";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { makeChain } from "../../sandbox/ios-store/signing.ts";
import { unansweredBecause } from "../../lib/unanswered.ts";

const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

/** The error of a request that really fails. */
const errorOf = (url: string, signal?: AbortSignal): Promise<unknown> =>
  fetch(url, { ...(signal && { signal }) }).then(
    () => null,
    (error: unknown) => error,
  );

const listening = async (server: Server): Promise<number> => {
  server.on("connection", (socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

test("a name that does not resolve", async () => {
  expect(unansweredBecause(await errorOf("http://name.invalid/"))).toBe("nameNotResolved");
});

test("a port where nobody listens, and a connection that is closed", async () => {
  expect(unansweredBecause(await errorOf("http://127.0.0.1:2/"))).toBe("connection");
  const server = createServer((socket) => socket.destroy());
  const port = await listening(server);
  expect(unansweredBecause(await errorOf(`http://127.0.0.1:${port}/`))).toBe("connection");
  server.close();
});

test("a certificate that nobody trusts, and a server without TLS", async () => {
  const { leaf } = makeChain();
  const pem = leaf.certificate.toString("base64").replaceAll(/.{64}/g, "$&\n");
  const trusted = createTlsServer({
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
    key: leaf.privateKey.export({ format: "pem", type: "pkcs8" }),
  });
  const port = await listening(trusted);
  expect(unansweredBecause(await errorOf(`https://localhost:${port}/`))).toBe("tls");
  trusted.close();
  const plain = createServer((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
  const other = await listening(plain);
  expect(unansweredBecause(await errorOf(`https://127.0.0.1:${other}/`))).toBe("tls");
  plain.close();
});

test("a time limit", async () => {
  const server = createServer();
  const port = await listening(server);
  expect(unansweredBecause(await errorOf(`http://127.0.0.1:${port}/`, AbortSignal.timeout(50)))).toBe(
    "timeout",
  );
  server.close();
});

test("anything else has no word, and neither has what is no error", () => {
  for (const error of [new Error("ENOTFOUND of a token"), { code: 7 }, "ENOTFOUND", null, undefined])
    expect(unansweredBecause(error)).toBeNull();
  const cyclic: Error & { cause?: unknown } = new Error("cyclic");
  cyclic.cause = cyclic;
  expect(unansweredBecause(cyclic)).toBeNull();
});
