import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { NameLookup } from "../../../lib/delivery/webhook/checked-lookup.ts";
import type { Message } from "../../../lib/delivery/message.ts";
import type { SendOutcome } from "../../../lib/delivery/send-outcome.ts";
import { CONNECTIONS_PER_HOST, createWebhookSender } from "../../../lib/delivery/webhook/webhook.ts";

const SECRETS = [Buffer.alloc(32, 1)];
const MESSAGE: Message = { identifier: "msg_1", type: "test", timestamp: 0, data: {} };

/** Long enough for a busy machine, so that only deliberate faults time out. */
const PATIENT = 10_000;
/** Short, for destinations that hang on purpose. */
const HASTY = 300;

const DELIVERED: SendOutcome = { outcome: "delivered" };
const GONE: SendOutcome = { outcome: "gone" };
const failed = (because: string, status: number | null = null) => ({
  outcome: "failed",
  because,
  status,
  retryAt: null,
});

const unresolvable: NameLookup = () => Promise.reject(new Error("ENOTFOUND api.example.com"));
const resolvingTo =
  (...addresses: readonly string[]): NameLookup =>
  async () =>
    addresses;

const aSender = (attemptMilliseconds = PATIENT, lookup = resolvingTo("127.0.0.1")) =>
  createWebhookSender({ isAnyAddressAllowed: true, lookup, attemptMilliseconds, now: Date.now });

interface Destination {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  readonly connections: readonly Socket[];
}

const destinations: Destination[] = [];
afterEach(async () => {
  for (const { server, connections } of destinations.splice(0)) {
    for (const connection of connections) connection.destroy();
    await new Promise((resolve) => void server.close(resolve));
  }
});

/** A server that does with each connection what it likes, once the request has begun to arrive. */
const destination = async (behave: (connection: Socket) => void): Promise<Destination> => {
  const connections: Socket[] = [];
  const server = createServer((connection) => {
    connections.push(connection);
    connection.on("error", () => {});
    connection.once("data", () => behave(connection));
    connection.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const opened = { server, port, connections, url: `http://hooks.example.com:${port}/in?key=secret` };
  destinations.push(opened);
  return opened;
};

const saying = (text: string) => destination((connection) => void connection.write(text));

/** Writes for as long as the connection takes it. */
const flood = (connection: Socket, text: string): void => {
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

const send = (url: string, sender = aSender()): Promise<SendOutcome> => sender.send(url, MESSAGE, SECRETS);

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
    expect(await send(slow.url, aSender(HASTY))).toEqual(failed("timeout"));
    await closed(slow);
  });

  test("is that of the resolver", async () => {
    const hanging: NameLookup = () => new Promise(() => {});
    expect(await send("http://hooks.example.com/", aSender(HASTY, hanging))).toEqual(failed("timeout"));
  });

  test("counts the wait for a connection too", async () => {
    const slow = await destination(() => {});
    const sender = aSender(HASTY);
    const outcomes = await Promise.all(
      Array.from({ length: CONNECTIONS_PER_HOST + 10 }, () => send(slow.url, sender)),
    );
    for (const outcome of outcomes) expect(outcome).toEqual(failed("timeout"));
  });

  test("holds up no other destination", async () => {
    const slow = await destination(() => {});
    const other = await saying("HTTP/1.1 204 No Content\r\n\r\n");
    const sender = aSender(PATIENT);
    const waiting = Array.from({ length: CONNECTIONS_PER_HOST * 2 }, () => send(slow.url, sender));
    expect(await send(other.url, sender)).toEqual(DELIVERED);
    for (const connection of slow.connections) connection.destroy();
    slow.server.close();
    for (const outcome of await Promise.all(waiting)) expect(outcome).toEqual(failed("connect"));
  });
});

describe("once the status has come, it counts", () => {
  const HEADS: readonly (readonly [string, unknown])[] = [
    ["HTTP/1.1 200 OK", DELIVERED],
    ["HTTP/1.1 410 Gone", GONE],
    ["HTTP/1.1 500 Internal Server Error", failed("status", 500)],
  ];

  test.each(HEADS)("%s, and the body never ends", async (head, outcome) => {
    const slow = await saying(`${head}\r\ncontent-length: 1000\r\n\r\nx`);
    expect(await send(slow.url, aSender(HASTY))).toEqual(outcome);
    await closed(slow);
  });

  test.each(HEADS)("%s, and the body is a flood: it is cut off", async (head, outcome) => {
    const flooding = await destination((connection) => {
      connection.write(`${head}\r\n\r\n`);
      flood(connection, "x".repeat(10_000));
    });
    expect(await send(flooding.url)).toEqual(outcome);
    await closed(flooding);
    // What the system's buffers took, not what ten seconds would have let through.
    expect(flooding.connections[0]?.bytesWritten).toBeLessThan(32 * 1024 * 1024);
  });

  test.each(HEADS)("%s, and the connection breaks in the body", async (head, outcome) => {
    const breaking = await destination((connection) => {
      connection.write(`${head}\r\ncontent-length: 1000\r\n\r\nx`, () => connection.resetAndDestroy());
    });
    expect(await send(breaking.url)).toEqual(outcome);
  });

  test.each(HEADS)("%s, and the body is malformed", async (head, outcome) => {
    const malformed = await saying(`${head}\r\ntransfer-encoding: chunked\r\n\r\nno chunk`);
    expect(await send(malformed.url)).toEqual(outcome);
    await closed(malformed);
  });

  test.each(HEADS)("%s, and a chunk's extension never ends", async (head, outcome) => {
    const flooding = await destination((connection) => {
      connection.write(`${head}\r\ntransfer-encoding: chunked\r\n\r\n1;`);
      flood(connection, "x".repeat(10_000));
    });
    expect(await send(flooding.url)).toEqual(outcome);
    await closed(flooding);
  });
});

describe("what is not an answer", () => {
  test.each([
    ["garbage", "\0\u0001\u0002garbage\r\n\r\n"],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["HTML alone", "<html></html>"],
    ["a malformed status", "HTTP/1.1 abc OK\r\n\r\n"],
    ["a malformed header", "HTTP/1.1 200 OK\r\nno header\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx"],
    [
      "another protocol from now on",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ],
    ["a head above 16 KB", `HTTP/1.1 200 OK\r\nx-a: ${"x".repeat(17_000)}\r\n\r\n`],
  ])("%s", async (_name, text) => {
    const hostile = await saying(text);
    expect(await send(hostile.url)).toEqual(failed("protocol"));
    await closed(hostile);
  });

  test.each([
    ["one header that never ends", "x".repeat(10_000)],
    ["headers that never end", `x-a: ${"x".repeat(990)}\r\n`.repeat(10)],
    ["announcements that never end", "\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-a: 1".repeat(100)],
  ])("%s", async (_name, text) => {
    const hostile = await destination((connection) => {
      connection.write("HTTP/1.1 103 Early Hints\r\nx-a: 1");
      flood(connection, text);
    });
    expect(await send(hostile.url)).toEqual(failed("protocol"));
    await closed(hostile);
  });

  test("a head of 10 MB", async () => {
    const hostile = await destination((connection) => {
      connection.write(`HTTP/1.1 200 OK\r\n${`x-a: ${"x".repeat(993)}\r\n`.repeat(10_000)}\r\n`);
    });
    expect(await send(hostile.url)).toEqual(failed("protocol"));
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
    expect(await send((await destination(behave)).url)).toEqual(failed("connect"));
  });

  test("the port is closed", async () => {
    const { url, server } = await destination(() => {});
    server.close();
    expect(await send(url)).toEqual(failed("connect"));
  });

  test("the name does not resolve", async () => {
    expect(await send("http://hooks.example.com/", aSender(PATIENT, unresolvable))).toEqual(failed("name"));
  });
});

describe("addresses", () => {
  /** In the unicast space of IPv6, but of nobody: no connection to it reaches anybody. */
  const NOBODY = "2000::1";

  const strict = (lookup: NameLookup, attemptMilliseconds = PATIENT) =>
    createWebhookSender({ isAnyAddressAllowed: false, lookup, attemptMilliseconds, now: Date.now });

  test.each([
    ["a private address", ["127.0.0.1"]],
    ["a public and a private address", [NOBODY, "127.0.0.1"]],
    ["IPv6 that wraps a private address", ["::ffff:127.0.0.1"]],
  ])("a name that resolves to %s is refused without a connection", async (_name, addresses) => {
    const { port, connections } = await destination(() => {});
    const sender = strict(resolvingTo(...addresses));
    expect(await send(`https://hooks.example.com:${port}/`, sender)).toEqual(failed("address"));
    expect(connections).toEqual([]);
  });

  test("a name that resolves to a private address later is refused then", async () => {
    const { port, connections } = await destination(() => {});
    const answers = [[NOBODY], ["127.0.0.1"]];
    const sender = strict(async () => answers.shift() ?? [], HASTY);
    const url = `https://hooks.example.com:${port}/`;
    expect(await send(url, sender)).toMatchObject({ because: expect.stringMatching(/^(connect|timeout)$/) });
    expect(await send(url, sender)).toEqual(failed("address"));
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

  test.each([
    "https://127.0.0.1:<port>/",
    "https://2130706433:<port>/",
    "https://0x7f.1:<port>/",
    "https://[::ffff:127.0.0.1]:<port>/",
    "https://localhost:<port>/",
    "http://hooks.example.com:<port>/",
    "https://user:pass@hooks.example.com:<port>/",
    "no URL",
  ])("%s is refused without a lookup or a connection", async (url) => {
    const { port, connections } = await destination(() => {});
    let lookups = 0;
    const lookup: NameLookup = async () => {
      lookups += 1;
      return [NOBODY];
    };
    expect(await send(url.replace("<port>", String(port)), strict(lookup))).toEqual(failed("address"));
    expect({ lookups, connections: connections.length }).toEqual({ lookups: 0, connections: 0 });
  });

  test("where any address is allowed, credentials in the URL are still refused", async () => {
    const { port, connections } = await destination(() => {});
    expect(await send(`http://user:pass@127.0.0.1:${port}/`)).toEqual(failed("address"));
    expect(connections).toEqual([]);
  });
});
