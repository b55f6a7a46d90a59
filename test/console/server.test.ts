import { once } from "node:events";
import { request as send } from "node:http";
import { connect as connectTo } from "node:net";
import { connect } from "../../operator/connection.ts";
import { serveConsole, type ServedConsole } from "../../operator/console/serve.ts";
import { runOperator } from "../../operator/program.ts";
import { DAY } from "../../testing/support/stores/purchases.ts";
import { startTestService, type TestApplication, type TestService } from "../../testing/support/service.ts";

/** The console of a deployed table, over HTTP. */

let service: TestService;
let app: TestApplication;
let served: ServedConsole;
let host: string;
let cookie: string;
/** Path of the page, which only its browser knows. */
let page: string;

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends what a browser would, `Host` included. */
const ask = async (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const [hostname, port] = host.split(":");
    const asked = send({ hostname, port, method, path, headers: { Host: host, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => void chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    asked.on("error", reject);
    asked.end(body);
  });

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const own = (): Record<string, string> => ({
  Cookie: cookie,
  Origin: `http://${host}`,
  "Sec-Fetch-Site": "same-origin",
  "Content-Type": "application/json",
});

const call = async (name: string, input: unknown): Promise<{ status: number; body: Json }> => {
  const { status, text } = await ask("POST", `${page}api/${name}`, own(), JSON.stringify(input));
  return { status, body: JSON.parse(text) };
};

const answerOf = async (name: string, input: unknown): Promise<Json> => {
  const { status, body } = await call(name, input);
  expect([status, body.message]).toEqual([200, undefined]);
  return body.answer;
};

const serve = async (): Promise<ServedConsole> => {
  const environment = { ...process.env, TABLE_NAME: service.table.name };
  const connection = await connect(service.table.name, environment);
  const pause = () => Promise.resolve();
  return serveConsole(
    connection,
    { now: () => Date.now(), wait: pause, waitForIndex: pause },
    0,
    () => undefined,
  );
};

const hostOf = ({ address }: ServedConsole): string => new URL(address).host;
const pathOf = ({ address }: ServedConsole): string =>
  `${new URL(address).pathname}${new URL(address).search}`;

beforeAll(async () => {
  service = await startTestService();
  app = await service.application();
  served = await serve();
  host = hostOf(served);
  const { headers } = await ask("GET", pathOf(served));
  cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
  page = String(headers["location"]);
}, 90_000);
afterAll(async () => {
  await served?.stop();
  await service?.stop();
});

describe("the address of the console", () => {
  test("lets one browser in, once, and leaves the address bar", async () => {
    const another = await serve();
    const [before, path] = [host, pathOf(another)];
    host = hostOf(another);
    try {
      expect((await ask("GET", "/console")).status).toBe(403);
      expect((await ask("GET", "/console?token=wrong")).status).toBe(403);
      // A rebound name does not use the token up.
      expect((await ask("GET", path, { Host: "evil.example.com" })).status).toBe(403);
      const admitted = await ask("GET", path);
      expect([admitted.status, admitted.headers["cache-control"]]).toEqual([303, "no-store"]);
      expect(admitted.headers["location"]).toMatch(/^\/console\/[\w-]{43}\/$/);
      expect(String(admitted.headers["set-cookie"])).toMatch(
        /^console-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=/,
      );
      const again = await ask("GET", path);
      expect([again.status, again.headers["set-cookie"]]).toEqual([403, undefined]);
    } finally {
      host = before;
      await another.stop();
    }
  });

  test("gives every file and call to that browser alone, uncached", async () => {
    for (const path of ["", "main.js", "style.css", "pico.css"].map((name) => `${page}${name}`)) {
      expect((await ask("GET", path)).status).toBe(403);
      const { status, headers } = await ask("GET", path, { Cookie: cookie });
      expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
      expect(headers["content-security-policy"]).toMatch(
        /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
      );
    }
    const { Cookie: _, ...without } = own();
    expect((await ask("POST", `${page}api/start`, without, "{}")).status).toBe(403);
    expect((await ask("POST", `${page}api/start`, own(), "{}")).status).toBe(200);
    expect((await ask("GET", `${page}elsewhere`, { Cookie: cookie })).status).toBe(404);
    expect((await ask("GET", `${page}api/requests`, own())).status).toBe(405);
    expect((await ask("GET", "/")).headers["location"]).toBe("/console");
  });

  test("gives the cookie to no other port", async () => {
    const another = await serve();
    const [before, path] = [host, pathOf(another)];
    host = hostOf(another);
    try {
      const { headers } = await ask("GET", path);
      const location = String(headers["location"]);
      expect(String(headers["set-cookie"]).endsWith(`; Path=${location}`)).toBe(true);
      const [its = ""] = String(headers["set-cookie"]).split(";");
      // The cookie is nothing at a path that a server on another port could serve too.
      for (const guessed of ["/console/", "/console/api/start", page])
        expect((await ask("GET", guessed, { Cookie: its })).status).toBe(404);
      // A cookie of its name that another port has set does not lock the browser out.
      const [name] = its.split("=");
      expect((await ask("GET", location, { Cookie: `${name}=tossed; ${its}` })).status).toBe(200);
    } finally {
      host = before;
      await another.stop();
    }
  });

  test.each([
    ["GET", "//["],
    ["GET", "/console/%E0%A4%A"],
    ["GET", "/console/__proto__"],
    ["GET", "/console/constructor"],
    ["GET", "/console/../console/api/start"],
    ["OPTIONS", "*"],
    ["GET", "http://[/console"],
  ])("answers %s %s", async (method, path) => {
    const { status, text } = await ask(method, path, { Cookie: cookie });
    expect([302, 303, 403, 404]).toContain(status);
    expect(text).not.toMatch(/Error|at /);
  });

  test.each(["__proto__", "constructor", "toString"])("has no file and no call %s", async (name) => {
    expect((await ask("GET", `${page}${name}`, { Cookie: cookie })).status).toBe(404);
    expect((await call(name, {})).status).toBe(404);
  });

  test.each<[string, Record<string, string>]>([
    ["another name of this machine", { Host: "evil.example.com" }],
    ["a name with a dot at its end", { Host: "localhost.:80" }],
    ["no port", { Host: "127.0.0.1" }],
    ["a page without an origin", { Origin: "null" }],
    ["another origin", { Origin: "http://evil.example.com" }],
    ["the page of another port", { Origin: "http://127.0.0.1:1" }],
    ["another site", { "Sec-Fetch-Site": "cross-site" }],
    ["another port of this machine", { "Sec-Fetch-Site": "same-site" }],
    ["a form", { "Content-Type": "text/plain" }],
    ["another cookie", { Cookie: "console=1" }],
  ])("refuses a call of %s", async (_, changed) => {
    const { status, text } = await ask("POST", `${page}api/start`, { ...own(), ...changed }, "{}");
    expect([status, text.includes(service.table.name)]).toEqual([403, false]);
  });

  test("is printed by the command line, which serves until it is ended", async () => {
    let out = "";
    let reached = 0;
    const code = await runOperator(["console", "--port", "0"], {
      environment: { ...process.env, TABLE_NAME: service.table.name },
      now: () => Date.now(),
      out: (text) => void (out += text),
      err: (text) => void (out += text),
      waitForIndex: () => Promise.resolve(),
      wait: () => Promise.resolve(),
      untilStopped: async () => {
        const [address = ""] = out.split("\n");
        reached = (await fetch(address, { redirect: "manual" })).status;
      },
      ask: null,
    });
    expect([code, reached]).toEqual([0, 303]);
    expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\?token=[\w-]{43}\n/);
    const [address = ""] = out.split("\n");
    await expect(fetch(address)).rejects.toThrow("fetch failed");
  });
});

describe("the console's calls", () => {
  const linked = async (account: string): Promise<string> => {
    const { status, body } = await app.link(
      app.device().request({ originalTransactionIdentifier: "9001", transactionIdentifier: "9001" }),
      account,
    );
    expect(status).toBe(200);
    return String(body.customerIdentifier);
  };

  test("show what endpoint 3 answers for an account, why, and since when", async () => {
    const customer = await linked("user-1");
    const answer = await answerOf("account", { application: app.identifier, account: "user-1" });
    expect(answer.entitlements).toEqual((await app.read("user-1")).body.entitlements);
    expect(answer.customers[0].customerIdentifier).toBe(customer);
    const [purchase] = answer.customers[0].purchases;
    expect(purchase.lines[0].why[0]).toMatch(/^grants premium until /);
    expect(purchase.verifiedBy).toBe("a transaction");
    expect(answer.asking[0].sentences[0]).toMatch(/^The App Store is not asked: /);
    const [row] = answer.picture;
    expect(row.bars.map(({ kind }: { kind: string }) => kind)).toEqual(["period"]);
    expect(Date.parse(row.bars[0].to) - Date.parse(row.bars[0].from)).toBe(30 * DAY);
    expect(row.marks).toEqual([{ at: purchase.lines[0].verifiedAt, kind: "verified" }]);
  });

  test("find an account by its identifier and by a purchase's names", async () => {
    const customer = await linked("user-1");
    for (const text of ["user-1", "9001"]) {
      const found = await answerOf("search", { application: app.identifier, text });
      const accounts = [found.account, ...found.customers.map(({ account }: Json) => account)];
      expect(accounts).toContain("user-1");
    }
    expect(await answerOf("search", { application: app.identifier, text: "nobody" })).toEqual({
      account: null,
      customers: [],
      gone: [],
      erased: false,
    });
    const read = await answerOf("customer", { application: app.identifier, customer });
    expect(read.link.account).toBe("user-1");
  });

  test("show an application without a secret of it", async () => {
    const answer = await answerOf("application", { application: app.identifier });
    expect(answer.products.length).toBeGreaterThan(3);
    expect(answer.androidStore[0].credential).toBe("workloadIdentity");
    const text = JSON.stringify(answer);
    expect(text).not.toContain(app.key);
    expect(text).not.toMatch(/credential_source|token_url|secretHash/);
    expect(answer.credentials[0].state).toBe("valid");
    expect(answer.queues[0].because).toBeNull();
  });

  test("ask the command's question, and again where it has changed", async () => {
    const customer = await linked("user-1");
    const act = {
      act: "customer unlink",
      application: app.identifier,
      customer,
      reason: "the person asked",
      by: "ada",
    };
    const asked = await answerOf("act", { act });
    expect(asked.outcome).toBe("asked");
    expect(asked.question).toMatch(
      new RegExp(`^This takes customer ${customer} \\(1 purchase\\) away from account user-1 of `),
    );
    expect((await app.read("user-1")).body.entitlements).toHaveLength(1);
    // The account has changed meanwhile: what was confirmed is not what would be done.
    const stale = await answerOf("act", {
      act,
      confirmed: asked.question.replace("1 purchase", "2 purchases"),
    });
    expect(stale).toEqual(asked);
    expect((await app.read("user-1")).body.entitlements).toHaveLength(1);
    const done = await answerOf("act", { act, confirmed: asked.question });
    expect(done).toMatchObject({
      outcome: "done",
      text: `Customer ${customer} is no longer linked to account user-1.`,
    });
    expect((await app.read("user-1")).body.entitlements).toEqual([]);
    const { audit } = await answerOf("application", { application: app.identifier });
    expect(audit[0]).toMatchObject({
      action: "unlink",
      by: "ada",
      reason: "the person asked",
      caller: "local",
    });
  });

  test("ask again where a credential has confirmed a client's claim", async () => {
    const customer = await linked("user-1");
    const act = { act: "customer unlink", application: app.identifier, customer, reason: "a false claim" };
    const asked = await answerOf("act", { act });
    expect(asked.question).toMatch(/ Its link was asserted by a credential\.$/);
    const claimed = asked.question.replace("by a credential", "by a client");
    expect(await answerOf("act", { act, confirmed: claimed })).toEqual(asked);
  });

  /** Does an act, and answers its question with yes. */
  const done = async (act: object): Promise<Json> => {
    const first = await answerOf("act", { act: { ...act, application: app.identifier } });
    if (first.outcome === "done") return first;
    const confirmed = first.question;
    return answerOf("act", { act: { ...act, application: app.identifier }, confirmed });
  };
  const newestEntry = async (): Promise<Json> =>
    (await answerOf("application", { application: app.identifier })).audit[0];

  test("move a customer to another account, and unlink with an empty name", async () => {
    const customer = await linked("user-1");
    const move = { act: "customer unlink", customer, reason: "two accounts" };
    const moved = await done({ ...move, to: "user-2" });
    expect(moved.text).toBe(`Customer ${customer} is linked to account user-2.`);
    expect((await app.read("user-2")).body.entitlements).toHaveLength(1);
    expect((await newestEntry()).action).toBe("move");
    const { status } = await call("act", { act: { ...move, application: app.identifier, to: "" } });
    expect([status, (await app.read("user-2")).body.entitlements?.length]).toEqual([422, 1]);
    await done({ ...move, to: "user-1" });
  });

  test("queue a customer's purchases, and those of all", async () => {
    const customer = await linked("user-1");
    expect((await done({ act: "customer refresh", customer })).outcome).toBe("done");
    expect(await newestEntry()).toMatchObject({ action: "refresh", customer });
    const all = await done({ act: "application refresh" });
    expect(all.text).toContain("customer");
    expect(await newestEntry()).toMatchObject({ action: "refresh", customer: null });
  });

  test("unlink what clients claimed, and erase an account or a customer", async () => {
    const claimed = app
      .device()
      .request({ originalTransactionIdentifier: "9002", transactionIdentifier: "9002" });
    expect((await app.synchronize(claimed, "claimer")).status).toBe(200);
    const unlinked = await done({
      act: "account unlink",
      account: "claimer",
      assertedBy: "client",
      reason: "shared device",
    });
    expect(unlinked.text).toBe("1 customer of account claimer is no longer linked to it.");
    const mine = app
      .device()
      .request({ originalTransactionIdentifier: "9003", transactionIdentifier: "9003" });
    expect((await app.link(mine, "leaver")).status).toBe(200);
    const erased = await done({ act: "account erase", account: "leaver", reason: "asked for it" });
    expect(erased.text).toBe("Account leaver is erased: 1 customer.");
    expect(await newestEntry()).toMatchObject({ action: "erase", reason: "asked for it" });
    const other = app
      .device()
      .request({ originalTransactionIdentifier: "9004", transactionIdentifier: "9004" });
    const { customerIdentifier } = (await app.link(other, "another")).body;
    const gone = await done({ act: "customer erase", customer: customerIdentifier, reason: "asked for it" });
    expect(gone.text).toMatch(/^Customer .* is erased: 1 purchase/);
    expect((await app.read("another")).body.entitlements).toEqual([]);
  });

  test("answer as the command for an application without that destination", async () => {
    const retold = await call("act", { act: { act: "application retell", application: app.identifier } });
    expect([retold.status, retold.body.message]).toEqual([422, expect.stringContaining("are not published")]);
    for (const act of ["destination resume", "destination rotate", "destination resend"]) {
      const since = act === "destination resend" ? { since: new Date().toISOString() } : {};
      const asked = { act: { act, application: app.identifier, name: "backend", ...since } };
      const { status, body } = await call("act", asked);
      expect([status, body.message]).toEqual([422, expect.stringContaining("has no destination backend")]);
    }
  });

  test("issue a key once, and revoke it", async () => {
    const issued = await answerOf("act", {
      act: { act: "credential issue", application: app.identifier, scope: ["entitlements:read"] },
    });
    const [key = ""] = /cek_\S+/.exec(issued.text) ?? [];
    const [, keyIdentifier] = key.split("_");
    const path = "/v1/customers/user-1/entitlements";
    expect((await service.send("GET", path, { key })).status).toBe(200);
    await answerOf("act", { act: { act: "credential revoke", application: app.identifier, keyIdentifier } });
    const { credentials } = await answerOf("application", { application: app.identifier });
    expect(credentials.find((one: Json) => one.keyIdentifier === keyIdentifier).state).toBe("revoked");
  });

  test.each<[string, string, unknown, number, RegExp]>([
    ["no such call", "nothing", {}, 404, /no such call/],
    ["no JSON", "account", "x", 400, /expected object/],
    ["an unknown member", "start", { all: true }, 400, /Unrecognized key/],
    ["no application", "application", { application: "x" }, 422, /must be a UUID/],
    ["an account of control characters", "account", { application: "", account: "\u0000" }, 422, /account/i],
    ["a page that is not there", "account", { account: "user-9", page: 2 }, 422, /There is no page 2/],
    ["an unknown act", "act", { act: { act: "table drop", application: "x" } }, 400, /Invalid/],
    [
      "no reason",
      "act",
      { act: { act: "account erase", account: "user-1", reason: "" } },
      422,
      /--reason has 1 to 256 characters/,
    ],
  ])("refuse %s with a sentence", async (_, name, input, status, message) => {
    const of = { application: app.identifier };
    const withApplication = (value: Json): Json =>
      name === "account" && typeof value === "object" && !value.application
        ? { ...value, ...of }
        : name === "act" && !value.act.application
          ? { act: { ...value.act, ...of } }
          : value;
    const refused = await call(name, withApplication(input));
    expect([refused.status, message.test(refused.body.message), refused.body.message]).toEqual([
      status,
      true,
      refused.body.message,
    ]);
  });

  test.each([
    ["nothing", ""],
    ["half of a document", '{"application":'],
    ["null", "null"],
    ["a list in lists", "[".repeat(30_000) + "]".repeat(30_000)],
    ["an object in objects", '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000)],
    ["a prototype", '{"__proto__":{"application":"x"},"constructor":{"prototype":{}}}'],
    ["an act of a prototype", '{"act":{"act":"__proto__","application":"x"}}'],
    ["an act of a constructor", '{"act":{"act":"constructor","application":"x"}}'],
    ["bytes that are no text", "\u{D800}\u0000"],
    ["a number beyond all", '{"application":"x","account":"y","page":1e999}'],
  ])("refuse %s as a body, and go on", async (_, body) => {
    for (const name of ["start", "account", "act", "search"]) {
      const { status, text } = await ask("POST", `${page}api/${name}`, own(), body);
      expect([name, status]).toEqual([name, 400]);
      expect(JSON.parse(text)).toEqual({ message: expect.any(String) });
    }
    expect(Object.hasOwn(Object.prototype, "application")).toBe(false);
    expect((await call("start", {})).status).toBe(200);
  });

  test("a body that breaks off ends nothing but its own connection", async () => {
    const [hostname = "", port] = host.split(":");
    const socket = connectTo(Number(port), hostname);
    const head = Object.entries({ ...own(), Host: host, "Content-Length": "100" });
    socket.write(
      `POST ${page}api/start HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n{`,
    );
    await once(socket, "connect");
    socket.destroy();
    await once(socket, "close");
    expect((await call("start", {})).status).toBe(200);
  });

  test("a body that is too large is refused", async () => {
    const { status } = await ask("POST", `${page}api/start`, own(), " ".repeat(70_000));
    expect(status).toBe(400);
  });
});
