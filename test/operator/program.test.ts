import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { v4 as uuid } from "uuid";
import { parse, stringify } from "yaml";
import { createAndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import type { EnvironmentVariables } from "../../operator/connection.ts";
import { runOperator } from "../../operator/program.ts";
import { authorize } from "../../lib/applications/authorize.ts";
import { createCredentialTable } from "../../lib/table/applications/credentials.ts";
import { storeFacts } from "../../lib/customers/storing/store-facts.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { factStoreOn } from "../../testing/support/fact-store.ts";
import { aPurchase, NOW, proven } from "../../testing/support/stores/purchases.ts";
import { createTestTable, type TestTable } from "../../testing/support/table/table.ts";
import { accountId, applicationId } from "../../lib/identifiers.ts";
import { createNotificationTimes } from "../../lib/table/queues/notification-times.ts";
import { createForwardQueue } from "../../lib/table/telling/forwards.ts";

const UNKNOWN = "0198c0de-0000-7000-8000-00000000ffff";

let table: TestTable;
let folder: string;
let count = 0;

beforeAll(async () => {
  [table, folder] = await Promise.all([createTestTable(), mkdtemp(join(tmpdir(), "operator-"))]);
});
afterAll(() => Promise.all([table.remove(), rm(folder, { recursive: true })]));

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, by default with the test's table in the environment. */
const run = async (
  words: readonly string[],
  environment?: EnvironmentVariables,
  ask: Parameters<typeof runOperator>[1]["ask"] = null,
): Promise<Run> => {
  let out = "";
  let err = "";
  const code = await runOperator(words, {
    environment: environment ?? { ...process.env, TABLE_NAME: table.name },
    now: () => NOW,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    waitForIndex: () => Promise.resolve(),
    wait: () => Promise.resolve(),
    ask,
  });
  return { code, out, err };
};

/** Runs a command as an operator does: in a process of its own. */
const runProgram = async (words: readonly string[], environment: EnvironmentVariables = {}): Promise<Run> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      [fileURLToPath(new URL("../../operator/main.ts", import.meta.url)), ...words],
      { env: { ...process.env, TABLE_NAME: table.name, ...environment } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });

const json = ({ out }: Run): Record<string, unknown> => JSON.parse(out) as Record<string, unknown>;

const aFile = async (text: string): Promise<string> => {
  const file = join(folder, `${(count += 1)}.yaml`);
  await writeFile(file, text);
  return file;
};

const manifest = (bundle: string) => `
application: { name: Trail Maps }
stores:
  ios-store: [{ bundleIdentifier: ${bundle}, appAppleIdentifier: 1 }]
entitlements: { premium: { displayName: Premium } }
products: [{ store: ios-store, productIdentifier: monthly, grants: [premium] }]
`;

const applied = async (): Promise<string> => {
  const file = await aFile(manifest(`com.example.n${(count += 1)}`));
  return String(json(await run(["application", "apply", file, "--json"]))["applicationIdentifier"]);
};

describe("an operator", () => {
  test("applies a manifest, issues a key, shows an account, revokes the key", async () => {
    const file = await aFile(manifest("com.example.program"));
    const apply = await runProgram(["application", "apply", file, "--json"]);
    expect(apply).toMatchObject({ code: 0, err: "" });
    const application = String(json(apply)["applicationIdentifier"]);
    expect(application).toMatch(/^[0-9a-f-]{36}$/);

    const scopes = ["--scope", "customers:write", "--scope", "entitlements:read"];
    const issue = await run(["credential", "issue", "--application", application, ...scopes, "--json"]);
    expect(issue).toMatchObject({ code: 0, err: "" });
    const { apiKey, keyIdentifier } = json(issue) as { apiKey: string; keyIdentifier: string };
    const { find } = createCredentialTable(table);
    await expect(authorize(`Bearer ${apiKey}`, Date.now(), find)).resolves.toEqual({
      outcome: "authorized",
      applicationIdentifier: application,
      keyIdentifier,
      scopes: ["customers:write", "entitlements:read"],
    });

    const account = await run(["account", "show", application, "user-1", "--json"]);
    expect(json(account)).toMatchObject({ customers: [], entitlements: [] });

    const revoke = await runProgram(["--json", "credential", "revoke", keyIdentifier]);
    expect(json(revoke)).toMatchObject({ keyIdentifier, applicationIdentifier: application });
    await expect(authorize(`Bearer ${apiKey}`, Date.now(), find)).resolves.toEqual({
      outcome: "refused",
      because: "revoked",
    });
  });

  test("sees exit code 1 and no stack when the program fails", async () => {
    const failed = await runProgram(["application", "show", UNKNOWN, "--json"]);
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(failed.err.trimEnd().split("\n")).toHaveLength(1);
    expect(failed.err).toContain(UNKNOWN);
  });

  test("gets every line of standard error as JSON with --json", async () => {
    const linesOf = async (...words: string[]): Promise<unknown[]> => {
      const { code, out, err } = await run([...words, "--json"]);
      expect([code, out]).toEqual([1, ""]);
      return err
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    };
    expect(await linesOf("application", "show", UNKNOWN)).toEqual([
      { error: `There is no application ${UNKNOWN} in the table ${table.name}.` },
    ]);
    expect(await linesOf("application", "show")).toEqual([
      { error: "missing required argument 'application'" },
    ]);
    expect(await linesOf("application", "list", "--tabel", "x")).toEqual([
      { error: expect.stringContaining("unknown option '--tabel'") },
    ]);
    expect(await linesOf("application")).toEqual([{ error: expect.stringContaining("--help lists all") }]);
    const application = await applied();
    const reproject = await run(["application", "reproject", application, "--json"]);
    for (const line of reproject.err.split("\n").filter(Boolean))
      expect(JSON.parse(line)).toEqual({ progress: expect.any(String) });
  });

  test("is pointed to the bundle where an application is given by name", async () => {
    const { err } = await run(["application", "show", "Trail Maps"]);
    expect(err).toMatch(/must be a UUID: application list shows all, and application find </);
  });

  test.each([
    ["table", "nope"],
    ["asserted-by", "client"],
    ["reason", "true"],
  ])("is stopped when npm has taken --%s for itself", async (name, value) => {
    const { code, out, err } = await run(["application", "list"], {
      ...process.env,
      TABLE_NAME: table.name,
      [`npm_config_${name.replace("-", "_")}`]: value,
    });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(new RegExp(`^npm took --${name}.* for itself, so nothing was done\\. `));
  });
});

describe("application apply", () => {
  test("shows what it adds, changes and removes, and nothing when nothing differs", async () => {
    const text = manifest("com.example.shown");
    const first = await run(["application", "apply", await aFile(text)]);
    expect(first.out).toContain("created");
    expect(first.out).toContain('+ product ios-store monthly: grants ["premium"]');
    const again = await run(["application", "apply", await aFile(text)]);
    expect(again.out).toMatch(/^Application [0-9a-f-]{36}: no changes\n$/);
    const changed = await run([
      "application",
      "apply",
      await aFile(text.replace("displayName: Premium", "displayName: Plus").replace("monthly", "yearly")),
      "--yes",
    ]);
    expect(changed.out).toContain("~ entitlement premium: displayName Premium → Plus");
    expect(changed.out).toContain("+ product ios-store yearly");
    expect(changed.out).toContain("- product ios-store monthly");
  });

  describe("with a workload identity that asks a local sandbox for tokens", () => {
    const sandbox = "http://127.0.0.1:3000";
    const identity = createAndroidPublisherSandbox({ now: () => NOW }).externalAccount(sandbox);
    const withIdentity = (packageName: string, changes: object = {}) =>
      JSON.stringify({
        application: { name: "Trail Maps" },
        stores: {
          "android-store": [{ packageName, credential: { workloadIdentity: { ...identity, ...changes } } }],
        },
      });
    const local = { AWS_ENDPOINT_URL_DYNAMODB: process.env["AWS_ENDPOINT_URL_DYNAMODB"] };
    const elsewhere = { AWS_ENDPOINT_URL_DYNAMODB: "https://dynamodb.invalid", AWS_REGION: "us-east-1" };
    const apply = async (text: string, environment: EnvironmentVariables): Promise<Run> =>
      run(["application", "apply", await aFile(text)], {
        ...process.env,
        ...environment,
        TABLE_NAME: table.name,
      });

    test("accepts it for a local table, and shows it as applicable", async () => {
      expect(local.AWS_ENDPOINT_URL_DYNAMODB).toMatch(/^http:\/\/(?:127\.0\.0\.1|localhost):/);
      const first = await apply(withIdentity("com.example.sandboxed"), local);
      expect(first).toMatchObject({ code: 0, err: "" });
      const identifier = /[0-9a-f-]{36}/.exec(first.out)?.[0] ?? "";
      const shown = await run(["application", "show", identifier]);
      expect((await apply(shown.out, local)).out).toContain("no changes");
    });

    test.each([
      "https://127.0.0.1:3000/token",
      "http://192.168.0.1:3000/token",
      "http://127.0.0.1.sandbox.example/token",
      "http://127.0.0.1@sandbox.example/token",
    ])("refuses %s even then", async (token_url) => {
      const refused = await apply(withIdentity("com.example.refused", { token_url }), local);
      expect(refused.code).toBe(1);
      expect(refused.err).toContain(
        "credential.workloadIdentity.token_url must be https://sts.googleapis.com",
      );
      expect(refused.err).not.toContain(token_url);
    });

    test("refuses it when the table is elsewhere", async () => {
      const refused = await apply(withIdentity("com.example.refused"), elsewhere);
      expect(refused.code).toBe(1);
      expect(refused.err).toContain(
        "credential.workloadIdentity.token_url must be https://sts.googleapis.com",
      );
    });

    test("accepts the address that ANDROID_PUBLISHER_URL names, and no other", async () => {
      const named = { ...local, ANDROID_PUBLISHER_URL: "https://sandbox.example/publisher" };
      const at = (token_url: string) => apply(withIdentity("com.example.named", { token_url }), named);
      expect(await at("https://sandbox.example/publisher/token")).toMatchObject({ code: 0, err: "" });
      expect((await at("https://other.example/publisher/token")).code).toBe(1);
    });
  });

  test("removes no access without confirmation: product, bundle, duration, environment", async () => {
    const bundle = "com.example.kept";
    const text = manifest(bundle).replace(
      "appAppleIdentifier: 1 }]",
      "appAppleIdentifier: 1 }, { bundleIdentifier: com.example.second, appAppleIdentifier: 2 }]",
    );
    const application = String(
      json(await run(["application", "apply", await aFile(text), "--json"]))["applicationIdentifier"],
    );
    const named = text.replace("{ name: Trail Maps }", `{ identifier: ${application}, name: Trail Maps }`);
    for (const [less, line] of [
      [named.replace(/products: .*/, "products: []"), "product ios-store monthly grants nothing any more"],
      [
        named.replace(/, \{ bundleIdentifier: com.example.second[^}]*\}/, ""),
        "purchases of ios-store com.example.second are refused",
      ],
      [
        named.replace("grants: [premium]", "grants: [premium], accessDuration: P1M"),
        "product ios-store monthly gives access for P1M only",
      ],
      [
        named.replace("appAppleIdentifier: 1", "appAppleIdentifier: 1, environments: [sandbox]"),
        `purchases of ios-store ${bundle} from production are refused`,
      ],
    ] as const) {
      const refused = await run(["application", "apply", await aFile(less)]);
      expect(refused).toMatchObject({ code: 1, out: "" });
      expect(refused.err).toContain("Nothing was done: add --yes");
      expect(refused.err).toContain(line);
      expect((await run(["application", "apply", await aFile(named)])).out).toContain("no changes");
    }
    const more = named
      .replace("displayName: Premium", "displayName: Plus")
      .replace("]\n", "]\n  android-store: [{ packageName: com.example.kept, credential: { secret: s } }]\n");
    expect((await run(["application", "apply", await aFile(more)])).out).toContain("changed");
  });

  test("asks before removing access, and obeys the answer", async () => {
    const file = await aFile(manifest("com.example.asked"));
    await run(["application", "apply", file]);
    const less = await aFile(manifest("com.example.asked").replace(/products: .*/, "products: []"));
    const questions: string[] = [];
    const answering = (answer: boolean) => (question: string) => {
      questions.push(question);
      return Promise.resolve(answer);
    };
    expect(await run(["application", "apply", less], undefined, answering(false))).toMatchObject({
      code: 1,
      err: expect.stringContaining("Nothing was done."),
    });
    expect((await run(["application", "apply", file])).out).toContain("no changes");
    expect((await run(["application", "apply", less], undefined, answering(true))).out).toContain(
      "- product",
    );
    expect(questions).toHaveLength(2);
  });

  test("reports every problem of a manifest with its line, and writes nothing", async () => {
    const before = await table.items();
    const file = await aFile("application: { name: 1 }\nproducts:\n  - { store: x, grants: [y] }\n");
    const refused = await run(["application", "apply", file, "--json"]);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(/line 1: application\.name/);
    expect(refused.err).toMatch(/line 3: products\[0\]\.store/);
    expect(refused.err).toMatch(/line 3: products\[0\]\.productIdentifier is required/);
    expect(await table.items()).toEqual(before);
  });

  test("refuses a bundle that another application has, and names that application", async () => {
    const first = await run(["application", "apply", await aFile(manifest("com.example.had")), "--json"]);
    const other = manifest("com.example.had").replace("{ name", `{ identifier: ${UNKNOWN}, name`);
    const refused = await run(["application", "apply", await aFile(other)]);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("com.example.had");
    expect(refused.err).toContain(String(json(first)["applicationIdentifier"]));
  });

  test.each([
    ["does not exist", () => join(folder, "nothing.yaml")],
    ["is a folder", () => folder],
  ])("says so when its file %s", async (reason, file) => {
    const refused = await run(["application", "apply", file()]);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain(reason);
  });

  test("says so when its file is not text", async () => {
    const file = join(folder, "binary.yaml");
    await writeFile(file, Buffer.from([0xff, 0xfe, 0x00]));
    expect((await run(["application", "apply", file])).err).toContain("UTF-8");
  });
});

test("application find names the application that has a bundle or a package", async () => {
  const text = manifest("com.example.found").replace(
    "entitlements:",
    "  android-store: [{ packageName: com.example.found.android, credential: { secret: trails/play } }]\nentitlements:",
  );
  const application = json(await run(["application", "apply", await aFile(text), "--json"]));
  for (const name of ["com.example.found", "com.example.found.android"])
    expect(await run(["application", "find", name])).toEqual({
      code: 0,
      out: `${String(application["applicationIdentifier"])}\n`,
      err: "",
    });
  const other = manifest("com.example.found.android").replace("Trail Maps", "Another");
  await run(["application", "apply", await aFile(other)]);
  const several = await run(["application", "find", "com.example.found.android"]);
  expect(several).toMatchObject({ code: 1, out: "" });
  expect(several.err).toMatch(/Several applications .* android-store .* ios-store /);
  const absent = await run(["application", "find", "com.example.nothing"]);
  expect(absent).toMatchObject({ code: 1, out: "" });
  expect(absent.err).toContain("has the bundle or package com.example.nothing");
});

test("application show prints a manifest that changes nothing when it is applied", async () => {
  const application = await applied();
  const shown = await run(["application", "show", application.toUpperCase()]);
  expect(parse(shown.out)).toMatchObject({ application: { identifier: application, name: "Trail Maps" } });
  const again = json(await run(["application", "apply", await aFile(shown.out), "--json"]));
  expect(again).toEqual({ applicationIdentifier: application, created: false, changes: [] });
  expect(json(await run(["application", "show", application, "--json"]))).toMatchObject({
    applicationIdentifier: application,
    entitlements: { premium: { displayName: "Premium" } },
  });
});

test("application show tells how each bundle's notifications are forwarded", async () => {
  const [forwarding, forwarded] = ["com.example.forwarding", "com.example.forwarded"];
  const serverApi = { issuerIdentifier: uuid(), keyIdentifier: "ABC123DEFG", secret: "trails/apple" };
  const file = await aFile(
    stringify({
      application: { name: "Forwarding" },
      stores: {
        "ios-store": [
          {
            bundleIdentifier: forwarding,
            appAppleIdentifier: 1,
            notifications: { forwardTo: "https://old.example/apple" },
          },
          {
            bundleIdentifier: forwarded,
            appAppleIdentifier: 2,
            environments: ["production"],
            serverApi,
            notifications: { forwardedBy: true },
          },
        ],
      },
    }),
  );
  const application = String(
    json(await run(["application", "apply", file, "--json"]))["applicationIdentifier"],
  );
  const show = async () =>
    (await run(["application", "show", application])).out
      .split("\n")
      .filter((line) => /^# (?:Forwarding|List)/.test(line));
  const list = `# List of all notifications of the App Store, which another service forwards, ${forwarded}, production: never read yet`;
  const line = `# Forwarding of ios-store ${forwarding} to https://old.example/apple:`;
  expect(await show()).toEqual([list, `${line} nothing waits; takes messages`]);

  const queue = createForwardQueue(table);
  const bundle = { application: applicationId(application), bundleIdentifier: forwarding };
  const body = '{"signedPayload":"secret.signed.payload"}';
  const sent = { body, contentType: "application/json", since: NOW, tries: 0, nextTryAt: NOW };
  for (const identifier of ["1", "2"]) await queue.add(bundle, { identifier, ...sent });
  await queue.take(bundle, { worker: "worker", until: NOW + 1 }, NOW);
  const failing = { failures: 1, because: "status 503", failingSince: NOW, pausedUntil: NOW + 5000 };
  await queue.release(bundle, { worker: "worker" }, failing);
  const [since, next] = [NOW, NOW + 5000].map((time) => new Date(time).toISOString());
  expect(await show()).toEqual([
    list,
    `${line} 2 wait, the oldest since ${since}; failing since ${since} (status 503); next try ${next}`,
  ]);
  const shown = await run(["application", "show", application, "--json"]);
  expect(json(shown)["forwarding"]).toEqual([
    {
      store: "ios-store",
      bundleOrPackage: forwarding,
      forwardTo: "https://old.example/apple",
      waiting: { count: 2, isMore: false, since },
      health: { state: "failing", failingSince: since, because: "status 503", nextTryAt: next },
    },
  ]);
  expect(shown.out).not.toContain("signed.payload");
});

test("application show has the last notification of each store and environment", async () => {
  const file = await aFile(manifest("com.example.notified"));
  const application = String(
    json(await run(["application", "apply", file, "--json"]))["applicationIdentifier"],
  );
  const from = { store: "ios-store", bundleOrPackage: "com.example.notified" } as const;
  const show = async () => [
    (await run(["application", "show", application])).out
      .split("\n")
      .filter((line) => line.startsWith("# Last")),
    json(await run(["application", "show", application, "--json"]))["lastNotifications"],
  ];
  expect(await show()).toEqual([
    [
      "# Last notification of ios-store com.example.notified, production: none yet",
      "# Last notification of ios-store com.example.notified, sandbox: none yet",
    ],
    [
      { ...from, environment: "production", signedAt: null },
      { ...from, environment: "sandbox", signedAt: null },
    ],
  ]);
  await createNotificationTimes(table).raise(
    { ...from, environment: "sandbox", application: applicationId(application) },
    NOW,
  );
  const signedAt = new Date(NOW).toISOString();
  expect(await show()).toEqual([
    [
      "# Last notification of ios-store com.example.notified, production: none yet",
      `# Last notification of ios-store com.example.notified, sandbox: ${signedAt}`,
    ],
    [
      { ...from, environment: "production", signedAt: null },
      { ...from, environment: "sandbox", signedAt },
    ],
  ]);
});

describe("credential issue", () => {
  const issue = (application: string, ...words: string[]) =>
    run(["credential", "issue", "--application", application, "--json", ...words]);

  test.each([
    ["P90D", "2026-09-13T12:00:00.000Z"],
    ["P1M", "2026-07-15T12:00:00.000Z"],
    ["2027-01-31T00:00:00Z", "2027-01-31T00:00:00.000Z"],
    ["2027-01-31T00:00:00+02:00", "2027-01-30T22:00:00.000Z"],
  ])("with --expires %s ends at %s", async (expires, expiresAt) => {
    const issued = await issue(await applied(), "--scope", "entitlements:read", "--expires", expires);
    expect(json(issued)).toMatchObject({ expiresAt });
  });

  test("issues a key that never expires by default", async () => {
    const issued = await issue(
      await applied(),
      "--scope",
      "entitlements:read",
      "--scope",
      "entitlements:read",
    );
    expect(json(issued)).toMatchObject({ expiresAt: null, scopes: ["entitlements:read"], label: null });
  });

  test.each([
    ["an unknown scope", ["--scope", "admin"]],
    ["no scope", []],
    ["an end in the past", ["--scope", "entitlements:read", "--expires", "2026-06-15T12:00:00Z"]],
    ["an end that is not a time", ["--scope", "entitlements:read", "--expires", "tomorrow"]],
    ["an end without a time zone", ["--scope", "entitlements:read", "--expires", "2027-01-31T00:00:00"]],
    ["an empty label", ["--scope", "entitlements:read", "--label", ""]],
  ])("is refused with %s", async (_, words) => {
    const application = await applied();
    expect(await issue(application, ...words)).toMatchObject({ code: 1, out: "" });
    expect(json(await run(["credential", "list", "--application", application, "--json"]))).toEqual({
      applicationIdentifier: application,
      credentials: [],
    });
  });

  test("is refused for an application that does not exist", async () => {
    expect(await issue(UNKNOWN, "--scope", "entitlements:read")).toMatchObject({ code: 1, out: "" });
  });
});

test("an API key is shown once", async () => {
  const application = await applied();
  const terms = ["--scope", "customers:write", "--label", "backend", "--expires", "P1D"];
  const issued = json(await run(["credential", "issue", "--application", application, ...terms, "--json"]));
  const secret = String(issued["apiKey"]).slice(21);
  const key = String(issued["keyIdentifier"]);
  const outputs = [
    await run(["credential", "list", "--application", application]),
    await run(["credential", "list", "--application", application, "--json"]),
    await run(["application", "show", application, "--json"]),
    await run(["credential", "revoke", key]),
    await run(["credential", "revoke", key]),
    await run(["credential", "revoke", String(issued["apiKey"])]),
  ];
  expect(outputs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 1]);
  for (const { out, err } of outputs) {
    expect(out + err).not.toContain(secret);
    expect(out + err).not.toContain("secretHash");
  }
  expect(json(await run(["credential", "list", "--application", application, "--json"]))).toEqual({
    applicationIdentifier: application,
    credentials: [
      {
        keyIdentifier: key,
        label: "backend",
        scopes: ["customers:write"],
        state: "revoked",
        createdAt: "2026-06-15T12:00:00.000Z",
        expiresAt: "2026-06-16T12:00:00.000Z",
        revokedAt: "2026-06-15T12:00:00.000Z",
      },
    ],
  });
});

test("a credential is not revoked when another application is named", async () => {
  const [one, other] = [await applied(), await applied()];
  const { keyIdentifier } = json(
    await run(["credential", "issue", "--application", one, "--scope", "customers:write", "--json"]),
  );
  const revoke = (application: string) =>
    run(["credential", "revoke", String(keyIdentifier), "--application", application]);
  expect((await revoke(other)).code).toBe(1);
  expect((await revoke(one)).code).toBe(0);
});

/** Links a customer with a current purchase to the account. */
const linked = async (identifier: string, account: string): Promise<string | undefined> => {
  const application = await createApplicationTable(table).load(applicationId(identifier));
  if (application === null) throw new Error("no application");
  const stored = await storeFacts(
    factStoreOn(table, () => NOW),
    application,
    {
      environment: "production",
      identities: [],
      purchases: [proven(aPurchase())],
      renewals: [],
      acknowledgementDue: null,
      origin: null,
    },
    { account: accountId(account), assertedBy: "credential" },
  );
  return stored.outcome === "refused" ? undefined : stored.customer?.identifier;
};

describe("account show", () => {
  test("shows an application's account and explains its entitlements", async () => {
    const application = await applied();
    const customer = await linked(application, "user-1");
    const shown = await run(["account", "show", application, "user-1"]);
    expect(shown).toMatchObject({ code: 0, err: "" });
    expect(shown.out).toContain("grants premium until");
    expect(json(await run(["account", "show", application, "user-1", "--json"]))).toMatchObject({
      applicationIdentifier: application,
      applicationAccountIdentifier: "user-1",
      customers: [{ customerIdentifier: customer, linkedAt: "2026-06-15T12:00:00.000Z" }],
    });
  });

  test("says so when the account is unknown", async () => {
    expect((await run(["account", "show", await applied(), "nobody"])).out).toContain("No customer");
  });

  test.each([
    ["an application that does not exist", () => UNKNOWN, "user-1"],
    ["an invalid application identifier", () => "trails", "user-1"],
    ["an empty account", applied, ""],
  ])("is refused for %s", async (_, application, account) => {
    expect(await run(["account", "show", await application(), account])).toMatchObject({ code: 1, out: "" });
  });
});

describe("the command line", () => {
  test.each([
    [["nothing"]],
    [["credential", "nothing"]],
    [["credential", "list", "--nothing"]],
    [["credential", "list"]],
    [["application", "show"]],
    [["application", "show", UNKNOWN, "more"]],
    [["application"]],
    [[]],
  ])("refuses %j with its usage", async (words) => {
    const refused = await run(words);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("Usage: customer-entitlements");
  });

  test.each([[["--help"]], [["credential", "issue", "--help"]]])("prints help for %j", async (words) => {
    const help = await run(words);
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toContain("--table");
  });

  test("accepts --json and --table before, between and after the words", async () => {
    const application = await applied();
    const environment = { ...process.env, TABLE_NAME: "elsewhere" };
    for (const words of [
      ["--json", "--table", table.name, "application", "show", application],
      ["application", "--table", table.name, "show", "--json", application],
      ["application", "show", application, "--json", "--table", table.name],
    ])
      expect(json(await run(words, environment))).toMatchObject({ applicationIdentifier: application });
  });
});

describe("a command reports in one sentence", () => {
  const show = ["application", "show", UNKNOWN, "--json"];
  const failure = async (environment: EnvironmentVariables, runIn = run): Promise<string> => {
    const failed = await runIn(show, environment);
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(failed.err.trimEnd().split("\n")).toHaveLength(1);
    return failed.err;
  };

  test("that no table is named", async () => {
    const err = await failure({ ...process.env, TABLE_NAME: "" });
    expect(err).toContain("--table");
    expect(err).toContain("TABLE_NAME");
  });

  test("that the table does not exist", async () => {
    expect(await failure({ ...process.env, TABLE_NAME: "no-such-table" })).toContain(
      "There is no table no-such-table",
    );
  });

  const bare = {
    PATH: process.env["PATH"],
    TABLE_NAME: "t",
    HOME: tmpdir(),
    AWS_EC2_METADATA_DISABLED: "true",
  };

  test("that an endpoint is not a URL", async () => {
    expect(await failure({ ...bare, AWS_ENDPOINT_URL_DYNAMODB: "localhost" })).toContain(
      "AWS_ENDPOINT_URL_DYNAMODB",
    );
  });

  describe("as a program of its own:", () => {
    // The SDK reads the environment of the process.
    const unset = {
      AWS_REGION: undefined,
      AWS_ACCESS_KEY_ID: undefined,
      AWS_SECRET_ACCESS_KEY: undefined,
      AWS_ENDPOINT_URL_DYNAMODB: undefined,
    };

    test("that nothing answers", async () => {
      const environment = { ...bare, ...unset, AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" };
      expect(await failure(environment, runProgram)).toContain("does not answer at http://127.0.0.1:9");
    });

    test("that there is no region", async () => {
      expect(await failure({ ...bare, ...unset }, runProgram)).toContain("AWS_REGION");
    });

    test("that there are no credentials", async () => {
      const environment = { ...bare, ...unset, AWS_REGION: "eu-central-1" };
      expect(await failure(environment, runProgram)).toContain("no AWS credentials");
    });

    test("that a local table has no such application, without region or credentials", async () => {
      const endpoint = process.env["AWS_ENDPOINT_URL_DYNAMODB"];
      const environment = { ...bare, ...unset, AWS_ENDPOINT_URL_DYNAMODB: endpoint, TABLE_NAME: table.name };
      expect(await failure(environment, runProgram)).toContain("There is no application");
    });
  });
});
