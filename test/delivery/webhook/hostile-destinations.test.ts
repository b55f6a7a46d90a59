import { Agent } from "node:http";
import { createServer, type Socket } from "node:net";
import type { NameLookup } from "../../../lib/delivery/addresses.ts";
import { failedBecause, type SendOutcome } from "../../../lib/delivery/message.ts";
import { post, CONNECTIONS_PER_HOST, createSender } from "../../../lib/delivery/webhook.ts";
import { closedPort, DELIVERED, failedWith, GONE, listening } from "../sending.ts";

const listen = listening();

/** Long enough for a busy machine, so that only deliberate faults time out. */
const PATIENT = 10_000;
/** Short, for destinations that hang on purpose. */
const HASTY = 300;

const unresolvable: NameLookup = () => Promise.reject(new Error("ENOTFOUND api.example.com"));
const resolvingTo =
  (...addresses: readonly string[]): NameLookup =>
  async () =>
    addresses;

const aSender = (attemptMilliseconds = PATIENT, lookup = resolvingTo("127.0.0.1"), isAllowed = true) =>
  createSender({ allowsDestination: () => isAllowed, lookup, attemptMilliseconds, now: Date.now });

interface Destination {
  readonly port: number;
  readonly url: string;
  readonly connections: readonly Socket[];
}

/** A server that does with each connection what it likes, once the request has begun to arrive. */
const destination = async (behave: (connection: Socket) => unknown): Promise<Destination> => {
  const connections: Socket[] = [];
  const server = createServer((connection) => {
    connections.push(connection);
    connection.on("error", () => {});
    connection.once("data", () => behave(connection));
    connection.resume();
  });
  const port = await listen(server);
  return { port, connections, url: `http://hooks.example.com:${port}/in?key=secret` };
};

const saying = (text: string) => destination((connection) => void connection.write(text));

/** Writes for as long as the connection takes it. */
const flood = (connection: Socket, text: string, before: string): void => {
  connection.write(before);
  const write = (): void => {
    while (!connection.destroyed && connection.write(text));
  };
  connection.on("drain", write);
  write();
};

const closed = async ({ connections }: Destination): Promise<void> => {
  for (const connection of connections)
    if (!connection.destroyed) await new Promise((resolve) => void connection.on("close", resolve));
};

const send = (url: string, sender = aSender()): Promise<SendOutcome> =>
  sender(url, { text: "{}", headers: {} });

describe("an answer that does not come in time", () => {
  test.each<[string, (connection: Socket) => void]>([
    ["is silence", () => {}],
    ["is the beginning of a head", (connection) => void connection.write("HTTP/1.1 200 OK\r\nx-a: ")],
    [
      "is a head, a byte at a time",
      (connection) => {
        const timer = setInterval(() => connection.write("x"), 20);
        connection.write("HTTP/1.1 200 OK\r\nx-a: ");
        connection.on("close", () => clearInterval(timer));
      },
    ],
    ["announces another", (connection) => void connection.write("HTTP/1.1 100 Continue\r\n\r\n")],
  ])("%s", async (_name, behave) => {
    const slow = await destination(behave);
    expect(await send(slow.url, aSender(HASTY))).toEqual(failedBecause("timeout"));
    await closed(slow);
  });

  test("is that of the resolver", async () => {
    const hanging: NameLookup = () => new Promise(() => {});
    expect(await send("http://hooks.example.com/", aSender(HASTY, hanging))).toEqual(
      failedBecause("timeout"),
    );
  });

  test("counts the wait for a connection too", async () => {
    const slow = await destination(() => {});
    const sender = aSender(HASTY);
    const sends = Array.from({ length: CONNECTIONS_PER_HOST + 10 }, () => send(slow.url, sender));
    for (const outcome of await Promise.all(sends)) expect(outcome).toEqual(failedBecause("timeout"));
  });
});

describe.each<[head: string, outcome: unknown]>([
  ["HTTP/1.1 200 OK", DELIVERED],
  ["HTTP/1.1 410 Gone", GONE],
  ["HTTP/1.1 500 Internal Server Error", failedWith(500)],
])("once the status has come, it counts: %s", (head, outcome) => {
  const CHUNKED = "transfer-encoding: chunked\r\n\r\n";
  test.each<[body: string, behave: (connection: Socket) => unknown]>([
    ["never ends", (connection) => connection.write(`${head}\r\ncontent-length: 1000\r\n\r\nx`)],
    ["is malformed", (connection) => connection.write(`${head}\r\n${CHUNKED}no chunk`)],
    ["is a flood", (connection) => flood(connection, "x".repeat(10_000), `${head}\r\n\r\n`)],
    [
      "has an endless extension",
      (connection) => flood(connection, "x".repeat(10_000), `${head}\r\n${CHUNKED}1;`),
    ],
    [
      "breaks off",
      (connection) =>
        connection.write(`${head}\r\ncontent-length: 1000\r\n\r\nx`, () => connection.resetAndDestroy()),
    ],
  ])("and the body %s", async (body, behave) => {
    const hostile = await destination(behave);
    expect(await send(hostile.url, aSender(body === "never ends" ? HASTY : PATIENT))).toEqual(outcome);
    await closed(hostile);
    // What the system's buffers took, not what ten seconds would have let through.
    expect(hostile.connections[0]?.bytesWritten).toBeLessThan(32 * 1024 * 1024);
  });
});

describe("what is not an answer", () => {
  const HINTS = "HTTP/1.1 103 Early Hints\r\nx-a: 1";
  test.each<[what: string, text: string, flood?: string]>([
    ["garbage", "\0\u0001\u0002garbage\r\n\r\n"],
    ["HTML alone", "<html></html>"],
    ["a malformed header", "HTTP/1.1 200 OK\r\nno header\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
    ["a head above 16 KB", `HTTP/1.1 200 OK\r\nx-a: ${"x".repeat(17_000)}\r\n\r\n`],
    ["a header that never ends", HINTS, "x".repeat(10_000)],
    ["headers that never end", HINTS, `x-a: ${"x".repeat(990)}\r\n`.repeat(10)],
    ["announcements that never end", HINTS, `\r\n\r\n${HINTS}`.repeat(100)],
  ])("%s", async (_name, text, flooding = "") => {
    const hostile = await destination((connection) =>
      flooding === "" ? connection.write(text) : flood(connection, flooding, text),
    );
    expect(await send(hostile.url)).toEqual(failedBecause("protocol"));
    await closed(hostile);
  });

  test("a few announcements before the answer are allowed", async () => {
    const polite = await saying(
      `${"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(10)}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`,
    );
    expect(await send(polite.url)).toEqual(DELIVERED);
  });
});

describe("no connection", () => {
  test.each<[string, (connection: Socket) => void]>([
    ["is reset", (connection) => connection.resetAndDestroy()],
    ["is closed without an answer", (connection) => connection.end()],
    [
      "is closed within the head",
      (connection) => void connection.end("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"),
    ],
  ])("it %s", async (_name, behave) => {
    expect(await send((await destination(behave)).url)).toEqual(failedBecause("connect"));
  });

  test("the port is closed", async () => {
    const url = `http://hooks.example.com:${await closedPort()}/`;
    expect(await send(url)).toEqual(failedBecause("connect"));
  });

  test("the name does not resolve", async () => {
    expect(await send("http://hooks.example.com/", aSender(PATIENT, unresolvable))).toEqual(
      failedBecause("name"),
    );
  });
});

describe("addresses", () => {
  /** In the unicast space of IPv6, but of nobody: no connection to it reaches anybody. */
  const NOBODY = "2000::1";

  const strict = (lookup: NameLookup) => aSender(PATIENT, lookup, false);

  test("a name of a private address is refused without a connection", async () => {
    const { port, connections } = await destination(() => {});
    const sender = strict(resolvingTo(NOBODY, "127.0.0.1"));
    expect(await send(`https://hooks.example.com:${port}/`, sender)).toEqual(failedBecause("address"));
    expect(connections).toEqual([]);
  });

  test("the connection asks no other resolver after the check", async () => {
    const { url, connections } = await destination(
      (connection) => void connection.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    );
    const names: string[] = [];
    const lookup: NameLookup = async (name) => {
      names.push(name);
      return ["127.0.0.1"];
    };
    expect(await send(url, aSender(PATIENT, lookup))).toEqual(DELIVERED);
    expect(names).toEqual(["hooks.example.com"]);
    expect(connections).toHaveLength(1);
  });

  test.each(["https://0x7f.1:<port>/", "http://hooks.example.com:<port>/", "no URL"])(
    "%s is refused without a lookup or a connection",
    async (url) => {
      const { port, connections } = await destination(() => {});
      let lookups = 0;
      const lookup: NameLookup = async () => [NOBODY, String((lookups += 1))];
      expect(await send(url.replace("<port>", String(port)), strict(lookup))).toEqual(
        failedBecause("address"),
      );
      expect([lookups, connections]).toEqual([0, []]);
    },
  );

  test("where any address is allowed, credentials in the URL are still refused", async () => {
    const { port, connections } = await destination(() => {});
    expect(await send(`http://user:pass@127.0.0.1:${port}/`)).toEqual(failedBecause("address"));
    expect(connections).toEqual([]);
  });
});

test("nothing is sent after the deadline", async () => {
  let requests = 0;
  const { port } = await destination((socket) => {
    requests += 1;
    socket.end("HTTP/1.1 204 No Content\r\n\r\n");
  });
  const request = { url: new URL(`http://127.0.0.1:${port}/`), headers: {}, text: "{}", agent: new Agent() };
  expect(await post({ ...request, deadline: AbortSignal.abort() })).toMatchObject({ because: "timeout" });
  const { signal } = new AbortController();
  expect(await post({ ...request, deadline: signal })).toMatchObject({ status: 204 });
  expect(requests).toBe(1);
});
