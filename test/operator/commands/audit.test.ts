import { createServer } from "node:http";
import { userInfo } from "node:os";
import { DeleteCommand, PutCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { auditEntry } from "../../../lib/administration/reports/audit.ts";
import type { OperationTable } from "../../../lib/administration/acts/operation-table.ts";
import { unlinkCustomer } from "../../../lib/administration/acts/operations.ts";
import { issueCredential } from "../../../lib/applications/credential.ts";
import { isWebhook } from "../../../lib/applications/destination.ts";
import type { AuditAction, Audited } from "../../../lib/administration/acts/audit-entry.ts";
import { operatorChange } from "../../../lib/administration/acts/operator-change.ts";
import type { Link } from "../../../lib/customers/storing/records.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { accountId, customerId } from "../../../lib/identifiers.ts";
import { createApplicationTable } from "../../../lib/table/applications/applications.ts";
import { createCredentialTable } from "../../../lib/table/applications/credentials.ts";
import { createDeliveryQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { createDestinationTable } from "../../../lib/table/applications/destinations.ts";
import { createForgetTold } from "../../../lib/table/telling/forget-told.ts";
import { transact } from "../../../lib/table/dynamodb/transactions.ts";
import { transactionsOf } from "../../../lib/table/customers/write-customer-change.ts";
import { keyedHash } from "../../../lib/delivery/webhook-secret.ts";
import { close, listen } from "../../../local/server.ts";
import { createTokenService } from "../../../local/aws/token-service.ts";
import { audited, recordAct } from "../../../operator/commands/acting.ts";
import { tellsIn } from "../../../operator/composition.ts";
import { runOperator } from "../../../operator/program.ts";
import { byClient, byCredential, owned, requests } from "../../../testing/support/world.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { CALLER, startTokenService, type TokenService } from "../sts.ts";
import { keys } from "../../../lib/table/keys.ts";
import {
  anApplication,
  BACKEND,
  MASTER,
  PRODUCTS,
  withOperator,
  type ToldApplication,
} from "../telling-world.ts";

const given = withOperator();
let sts: TokenService;
beforeAll(async () => {
  sts = await startTokenService();
});
afterAll(() => sts.stop());

const UNKNOWN = "0198c0de-0000-7000-8000-00000000ffff";

/** Runs a command as Ada, whom STS names. */
const run = (words: readonly string[], changes: Record<string, string> = {}, moment = NOW) =>
  given.operator.run(words, { AWS_ENDPOINT_URL_STS: sts.endpoint, ...changes }, moment);
const byAda = (...words: string[]) => run([...words, "--by", "ada"]);
const because = ["--reason", "asked by the person", "--yes"];

interface Entry {
  readonly action: string;
  readonly moment: string;
  readonly caller: string | null;
  readonly customer: string | null;
  readonly what: readonly string[];
  readonly accounts: readonly string[];
}

const audit = async ({ identifier }: ToldApplication, ...words: string[]): Promise<readonly Entry[]> =>
  (await run(["application", "audit", identifier, ...words, "--json"])).json()["audit"] as Entry[];

/** Entries that an act adds. */
const added = async (application: ToldApplication, act: () => Promise<unknown>) => {
  const before = (await audit(application)).length;
  await act();
  return (await audit(application)).slice(before);
};

const hashOf = ({ identifier }: ToldApplication, account: string): string =>
  keyedHash(new TextEncoder().encode(MASTER), identifier, account);

const link = (account: string): Link => ({
  account: accountId(account),
  assertedBy: "credential",
  linkedAt: NOW,
});

/** Customers that an account has. */
const customersOf = async ({ identifier }: ToldApplication, account: string): Promise<readonly unknown[]> => {
  const shown = await run(["account", "show", identifier, account, "--json"]);
  const { customers } = shown.json() as { readonly customers: readonly { customerIdentifier: string }[] };
  return customers.map(({ customerIdentifier }) => customerIdentifier);
};

const entry = { moment: isoTime(NOW), by: "ada", caller: CALLER, reason: null, customer: null, accounts: [] };

describe("application apply", () => {
  const apply = (identifier: string, changes: object = {}, words: readonly string[] = ["--by", "ada"]) =>
    given.operator.apply(
      {
        application: { identifier, name: "Trails" },
        stores: {
          "ios-store": [{ bundleIdentifier: `com.example.${identifier}`, environments: ["sandbox"] }],
        },
        entitlements: { premium: {} },
        products: PRODUCTS,
        ...changes,
      },
      { AWS_ENDPOINT_URL_STS: sts.endpoint },
      words,
    );
  const auditOf = async (identifier: string) =>
    (await run(["application", "audit", identifier, "--json"])).json()["audit"] as Entry[];

  test("is recorded with its changes, its caller, and the access taken", async () => {
    const identifier = uuid();
    expect((await apply(identifier)).code).toBe(0);
    expect(await auditOf(identifier)).toEqual([
      {
        ...entry,
        action: "apply",
        what: [
          `+ application ${identifier}: name Trails`,
          `+ store ios-store com.example.${identifier}: environments`,
          "+ entitlement premium: displayName premium",
          '+ product ios-store monthly: grants ["premium"]',
        ],
      },
    ]);
    await apply(identifier, { products: [] });
    const [, second] = await auditOf(identifier);
    expect(second).toEqual({
      ...entry,
      action: "apply",
      what: [
        "customers can lose access: product ios-store monthly grants nothing any more",
        "- product ios-store monthly",
      ],
    });
    const { out } = await run(["application", "audit", identifier]);
    expect(out).not.toContain("No operator");
    expect(out).toContain(
      `apply   -         ada  ${CALLER}  -\n  customers can lose access: product ios-store monthly grants nothing any more\n  - product ios-store monthly\n`,
    );
  });

  test("that changes nothing, is refused or declined is not recorded", async () => {
    const identifier = uuid();
    await apply(identifier);
    expect((await apply(identifier)).out).toContain("no changes");
    const refused = await apply(uuid(), {
      stores: { "ios-store": [{ bundleIdentifier: `com.example.${identifier}`, environments: ["sandbox"] }] },
    });
    expect(refused.code).toBe(1);
    expect((await apply(identifier, { products: [] }, ["--by", ""])).err).toContain("--by has 1 to 256");
    expect(await auditOf(identifier)).toHaveLength(1);
  });

  test("names only the changed fields of a destination and a store", async () => {
    const identifier = uuid();
    const destinations = [{ name: "backend", url: "https://api.example.com/hooks?token=s3cret" }];
    await apply(identifier, { destinations });
    await apply(identifier, { destinations: [{ name: "backend", url: "https://api.example.com/other" }] });
    const entries = await auditOf(identifier);
    expect(entries.flatMap(({ what }) => what)).toEqual(
      expect.arrayContaining(["+ destination backend: url", "~ destination backend: url"]),
    );
    expect(JSON.stringify(entries)).not.toMatch(/s3cret|api\.example/);
  });

  test("goes on in further lines where a loss is long", async () => {
    const identifier = uuid();
    const names = Array.from({ length: 12 }, (_, index) => `${"e".repeat(40)}${index}`);
    const selling = (grants: readonly string[]) => ({
      entitlements: { premium: {}, ...Object.fromEntries(names.map((name) => [name, {}])) },
      products: [{ store: "ios-store", productIdentifier: "monthly", grants: ["premium", ...grants] }],
    });
    await apply(identifier, selling(names));
    await apply(identifier, selling([]));
    const [, { what } = { what: [] }] = await auditOf(identifier);
    const loss = what
      .slice(
        0,
        what.findIndex((line) => line.startsWith("~")),
      )
      .join(" ");
    for (const name of names) expect(loss).toContain(name);
    expect(Math.max(...what.map((line) => [...line].length))).toBeLessThanOrEqual(200);
  });

  test("of hundreds of parts has a hundred short lines and a count", async () => {
    const identifier = uuid();
    const named = (number: number) => `product${number}.${"x".repeat(230)}`;
    await apply(identifier, {
      products: Array.from({ length: 300 }, (_, number) => ({
        store: "ios-store",
        productIdentifier: named(number),
        grants: ["premium"],
      })),
    });
    const [{ what } = { what: [] }] = await auditOf(identifier);
    expect(what).toHaveLength(101);
    expect(what.at(-1)).toMatch(/^and \d+ more$/);
    expect(Math.max(...what.map((line) => [...line].length))).toBe(200);
  });
});

test("an entry has the time of its act, not of its command", async () => {
  const application = await anApplication(given);
  const world = await application.world();
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const words = ["customer", "unlink", application.identifier, customer?.identifier ?? "", ...because];
  const HOUR = 3_600_000;
  let moment = NOW;
  const unlink = () =>
    given.operator.run([...words, "--by", "ada"], {}, () => {
      moment += HOUR;
      return moment;
    });
  const [{ moment: recorded } = { moment: "" }] = await added(application, unlink);
  expect(Date.parse(recorded)).toBeGreaterThan(NOW + HOUR);
});

describe("an act of one transaction is recorded in it", () => {
  const keyOf = ({ identifier }: ToldApplication) =>
    issueCredential({ application: identifier, label: null, scopes: ["changes:read"], expiresAt: null }, NOW)
      .credential;
  const actor = { by: "ada", caller: CALLER };

  test.each<[AuditAction, (application: ToldApplication, entry: Audited) => Promise<() => Promise<unknown>>]>(
    [
      [
        "apply",
        async ({ identifier }, entry) => {
          const applications = createApplicationTable(given.table);
          const before = await applications.read(identifier);
          if (before === null) throw new Error("no application");
          return () => applications.save(before, { ...before.application, name: "Peaks" }, entry);
        },
      ],
      [
        "issue",
        async (application, entry) => {
          const key = keyOf(application);
          return () =>
            createCredentialTable(given.table)
              .add(key, entry)
              .catch(() => "conflict");
        },
      ],
      [
        "revoke",
        async (application, entry) => {
          const credentials = createCredentialTable(given.table);
          const key = keyOf(application);
          await credentials.add(key);
          return () => credentials.revoke(key.keyIdentifier, NOW, entry);
        },
      ],
      [
        "rotate",
        async (application, entry) => {
          const before = await application.destination("backend");
          if (before === undefined || !isWebhook(before)) throw new Error("no webhook");
          const destinations = createDestinationTable(given.table, () => Promise.resolve());
          return () => destinations.setSecretEpochs(application.identifier, before, [NOW], entry);
        },
      ],
    ],
  )("%s writes its entry in the one request of the change", async (action, prepare) => {
    const application = await anApplication(given);
    const act = await prepare(application, audited(auditEntry(action, NOW, actor)));
    const recorded = await added(application, async () => {
      const sent = await requests(given.table, act);
      expect(sent.filter((command) => command !== "GetItem")).toEqual(["TransactWriteItems"]);
    });
    expect(recorded).toMatchObject([{ action }]);
    // Items that were read before are gone, so that nothing is written the second time.
    expect(await added(application, act)).toEqual([]);
  });

  test("issuing and revoking a key, with its identifier, never the key", async () => {
    const application = await anApplication(given);
    const { identifier } = application;
    let issued: Record<string, unknown> = {};
    const [issue] = await added(application, async () => {
      issued = (
        await byAda(
          "credential",
          "issue",
          "--application",
          identifier,
          "--scope",
          "customers:write",
          "--json",
        )
      ).json();
    });
    const key = String(issued["keyIdentifier"]);
    expect(issue).toEqual({
      ...entry,
      action: "issue",
      what: [`API key ${key}: customers:write, expires never`],
    });
    expect(JSON.stringify(await application.itemsOf("#AUDIT"))).not.toContain(
      String(issued["apiKey"]).slice(21),
    );
    const revoke = () => byAda("credential", "revoke", key);
    expect(await added(application, revoke)).toEqual([
      { ...entry, action: "revoke", what: [`API key ${key}`] },
    ]);
    expect(await added(application, revoke)).toEqual([]);
    expect(
      await added(application, () =>
        byAda("credential", "issue", "--application", UNKNOWN, "--scope", "customers:write"),
      ),
    ).toEqual([]);
  });

  test("making a destination's secret anew, never with the secret", async () => {
    const application = await anApplication(given);
    const entries = await added(application, () =>
      byAda("destination", "rotate", application.identifier, "backend"),
    );
    expect(entries).toEqual([{ ...entry, action: "rotate", what: ["destination backend: new secret"] }]);
    const refused = await added(application, () =>
      byAda("destination", "rotate", application.identifier, "nope"),
    );
    expect(refused).toEqual([]);
  });

  test("unlinking, moving and erasing, with the accounts' keyed hashes", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const words = [application.identifier, customer?.identifier ?? ""];
    const of = { ...entry, reason: "asked by the person", customer: customer?.identifier };
    expect(
      await added(application, () => byAda("customer", "unlink", ...words, "--to", "b", ...because)),
    ).toEqual([
      {
        ...of,
        action: "move",
        accounts: [hashOf(application, "a"), hashOf(application, "b")],
        what: ["was linked by a credential"],
      },
    ]);
    expect(await added(application, () => byAda("customer", "unlink", ...words, ...because))).toEqual([
      { ...of, action: "unlink", accounts: [hashOf(application, "b")], what: ["was linked by a credential"] },
    ]);
    await world.store({ purchases: [owned("1")] }, byClient("c"));
    const claimed = await added(application, () =>
      byAda("account", "unlink", application.identifier, "c", "--asserted-by", "client", ...because),
    );
    expect(claimed).toEqual([
      { ...of, action: "unlink", accounts: [hashOf(application, "c")], what: ["was linked by a client"] },
    ]);
    await world.store({ purchases: [owned("1")] }, byCredential("d"));
    expect(await added(application, () => byAda("customer", "erase", ...words, ...because))).toEqual([
      { ...of, action: "erase", accounts: [hashOf(application, "d")], what: [] },
    ]);
    expect(JSON.stringify(await application.itemsOf("#AUDIT"))).not.toMatch(/"[abcd]"/);
  });
});

describe("a move of two transactions, of which only the first was written,", () => {
  /** Sends the first transaction of a move alone. */
  const beginMove: OperationTable["relink"] = async (application, customer, link, act) => {
    const change = operatorChange(application, customer, { link }, NOW, true);
    const [first = []] = transactionsOf(given.table.name, change, new Set(), { audit: act });
    await transact(given.table, first);
    return "conflict";
  };

  test("is completed by the same command again, which records who completed it", async () => {
    const application = await anApplication(given);
    const { operations, store } = await application.world();
    const customer = await store({ purchases: [owned("1")] }, byCredential("a"));
    const named = customer?.identifier ?? customerId("");
    const { living } = await operations.customers.findCustomers(application.identifier, [named]);
    const [stored] = living.values();
    if (stored === undefined) throw new Error("nobody is there");
    const begun = auditEntry("move", NOW, { by: "grace", caller: null }, { customer: named });
    await beginMove(application.identifier, stored, link("b"), { entryIdentifier: uuid(), entry: begun });
    const words = ["customer", "unlink", application.identifier, named, "--to", "b", ...because];
    expect(await added(application, () => byAda(...words))).toEqual([
      {
        ...entry,
        action: "move",
        reason: "asked by the person",
        customer: named,
        accounts: [hashOf(application, "b")],
        what: ["completes an interrupted move"],
      },
    ]);
    expect(await customersOf(application, "b")).toEqual([named]);
    expect(await added(application, () => byAda(...words))).toEqual([]);
  });

  test("is completed by its own command after a conflict, in one entry", async () => {
    const application = await anApplication(given);
    const { operations, store } = await application.world();
    const customer = await store({ purchases: [owned("1")] }, byCredential("a"));
    const named = customer?.identifier ?? customerId("");
    const attempts = [beginMove];
    const relink: OperationTable["relink"] = async (...asked) =>
      (attempts.pop() ?? operations.table.relink)(...asked);
    const entries = await added(application, () =>
      unlinkCustomer(
        { ...operations, table: { ...operations.table, relink } },
        application.identifier,
        named,
        { by: "ada", caller: null, reason: "asked by the person" },
        { to: accountId("b") },
      ),
    );
    expect(entries).toMatchObject([
      { action: "move", customer: named, what: ["was linked by a credential"] },
    ]);
    expect(await customersOf(application, "b")).toEqual([named]);
  });
});

describe("an act that is no single transaction is recorded before it begins", () => {
  const begun = async (application: ToldApplication, ...words: string[]) => {
    let code: number | undefined;
    const entries = await added(application, async () => {
      ({ code } = await byAda(...words));
    });
    expect(code).toBe(0);
    return entries;
  };

  test("resuming a destination, and delivering to it once more", async () => {
    const application = await anApplication(given);
    const { identifier } = application;
    expect(await begun(application, "destination", "resume", identifier, "backend")).toEqual([
      { ...entry, action: "resume", what: ["begun: destination backend is resumed"] },
    ]);
    const since = isoTime(NOW);
    const resend = ["destination", "resend", identifier, "backend", "--since"];
    expect(await begun(application, ...resend, since)).toEqual([
      {
        ...entry,
        action: "resend",
        what: [`begun: destination backend gets what changed since ${since} once more`],
      },
    ]);
    expect(await added(application, () => byAda(...resend, "no cursor"))).toEqual([]);
  });

  test("recomputing, looking at all accounts, and asking the stores about all customers", async () => {
    const application = await anApplication(given);
    const { identifier } = application;
    expect(await begun(application, "application", "reproject", identifier)).toEqual([
      { ...entry, action: "reproject", what: ["begun: the holdings of every customer are recomputed"] },
    ]);
    expect(await begun(application, "application", "retell", identifier)).toEqual([
      { ...entry, action: "retell", what: ["begun: every account is looked at"] },
    ]);
    expect(await begun(application, "application", "refresh", identifier, "--store", "ios-store")).toEqual([
      {
        ...entry,
        action: "refresh",
        what: [
          `begun: the ios-store is asked about the purchases of every customer that were not verified since ${isoTime(NOW)}`,
        ],
      },
    ]);
  });

  test("asking the stores about a customer", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const words = ["customer", "refresh", application.identifier, customer?.identifier ?? "", "--no-wait"];
    expect(await begun(application, ...words)).toEqual([
      {
        ...entry,
        action: "refresh",
        customer: customer?.identifier,
        accounts: [hashOf(application, "a")],
        what: ["begun: the stores are asked about its purchases"],
      },
    ]);
    expect(
      await added(application, () => byAda("customer", "refresh", application.identifier, UNKNOWN)),
    ).toEqual([]);
  });

  test("exporting an account, which is exported without the operator's AWS identity", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const words = ["account", "export", application.identifier, "a", "--by", "ada"];
    const { code, out, json } = await run(words);
    expect(code).toBe(0);
    expect(await audit(application)).toContainEqual({
      ...entry,
      action: "export",
      accounts: [hashOf(application, "a")],
      what: ["begun: everything known of the account"],
    });
    expect(json()["audit"]).toMatchObject([{ action: "export", by: "ada" }]);
    expect(out).not.toContain(CALLER);
    expect(out).not.toContain(hashOf(application, "a"));
  });

  test("nothing is done before the entry is", async () => {
    const application = await anApplication(given);
    const { identifier } = application;
    const world = await application.world();
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await application.tell();
    const queue = createDeliveryQueue(given.table, () => Promise.resolve());
    const backend = { application: identifier, destination: "backend" };
    for await (const page of queue.waiting(backend, 10))
      for (const delivery of page) await queue.remove(backend, delivery);
    const unaudited = async () =>
      (await application.itemsOf("")).filter(({ pk }) => !String(pk).endsWith("#AUDIT"));
    for (const words of [
      ["application", "retell", identifier],
      ["destination", "resend", identifier, "backend", "--since", isoTime(NOW)],
    ]) {
      const before = await unaudited();
      // A name that no entry can have.
      expect(await run([...words, "--by", ""])).toMatchObject({ code: 1, out: "" });
      expect(await unaudited()).toEqual(before);
      expect((await byAda(...words)).code).toBe(0);
      expect(await unaudited()).not.toEqual(before);
    }
  });

  test("one that these credentials may not record is not begun", async () => {
    const denied = Object.assign(new Error("denied"), { name: "AccessDeniedException" });
    const recording = {
      now: () => NOW,
      caller: () => Promise.resolve(null),
      audit: { record: () => Promise.reject(denied) },
    };
    const application = await anApplication(given);
    await expect(recordAct(recording, application.identifier, {}, "export", {})).rejects.toThrow(
      /^Nothing was changed\. .*OperatorChangesPolicy/,
    );
  });

  test("forgetting an account's changes begins with its record", async () => {
    for (const destinations of [[BACKEND], []]) {
      const application = await anApplication(given);
      const { identifier } = application;
      const world = await application.world();
      const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
      await application.tell();
      await application.configure(destinations);
      const pause = () => Promise.resolve();
      const forget = createForgetTold(
        given.table,
        pause,
        () => Promise.resolve("hash"),
        tellsIn(given.table),
      );
      const named = customer?.identifier ?? customerId("");
      const items = async () => JSON.stringify(await application.itemsOf(""));
      const before = await items();
      const begun: string[] = [];
      const begin = async (): Promise<void> => void begun.push(await items());
      expect(await forget(identifier, [named], accountId("a"), NOW, begin)).toBe(1);
      expect(begun).toEqual([before]);
      expect(await items()).not.toBe(before);
    }
  });

  test("completing an interrupted erasure, where something was left of it", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await world.beginErasure(customer);
    const words = ["customer", "erase", application.identifier, customer?.identifier ?? "", ...because];
    const complete = () => byAda(...words);
    expect(await added(application, complete)).toMatchObject([
      { action: "erase", customer: customer?.identifier, what: ["completes an interrupted erasure"] },
    ]);
    expect(await added(application, complete)).toEqual([]);
  });
});

describe("application audit", () => {
  test("says truly that no operator has changed anything", async () => {
    const application = await anApplication(given);
    const { identifier } = application;
    // The entry of its `apply` is taken away.
    for (const { pk, sk } of await application.itemsOf("#AUDIT"))
      await given.table.client.send(new DeleteCommand({ TableName: given.table.name, Key: { pk, sk } }));
    expect((await run(["application", "audit", identifier])).out).toBe(
      "No operator has changed anything of Trails.\n",
    );
    expect((await run(["application", "audit", identifier, "--account", "a"])).out).toBe(
      "The audit of Trails has no entry about account a.\n",
    );
  });

  test("of an account says why it lost access", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    const lost = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const kept = await world.store({ purchases: [owned("2")] }, byCredential("a"));
    const other = await world.store({ purchases: [owned("3")] }, byCredential("b"));
    const { identifier } = application;
    const free = await world.store({ purchases: [owned("4")] });
    for (const customer of [lost, other])
      await byAda("customer", "unlink", identifier, customer?.identifier ?? "", ...because);
    for (const customer of [kept, free])
      await byAda("customer", "refresh", identifier, customer?.identifier ?? "", "--no-wait");
    await byAda("account", "export", identifier, "b");
    await application.configure([BACKEND], { products: [] });
    const shown = await run(["application", "audit", identifier, "--account", "a", "--json"]);
    expect(shown.json()).toMatchObject({
      applicationIdentifier: identifier,
      applicationAccountIdentifier: "a",
      audit: [
        { action: "apply" },
        { action: "unlink", customer: lost?.identifier },
        { action: "refresh", customer: kept?.identifier },
        { action: "apply", what: [expect.stringContaining("lose access"), expect.any(String)] },
      ],
      // The entry of the customer without an account.
      entriesOfUnknownAccount: 1,
    });
    const text = await run(["application", "audit", identifier, "--account", "a"]);
    expect(text.out).toMatch(
      /\n1 more entry has no account: application audit without --account lists all\.\n$/,
    );
    expect((await audit(application)).map(({ action }) => action)).toEqual([
      "apply",
      "unlink",
      "unlink",
      "refresh",
      "refresh",
      "export",
      "apply",
    ]);
    expect((await run(["account", "show", identifier, "nobody"])).out).toContain(
      "No customer is linked to it.\nWhat operators have changed of it: application audit with --account.\n",
    );
  });

  test("of an account counts incomparable entries without the master secret", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const words = ["customer", "unlink", application.identifier, customer?.identifier ?? "", ...because];
    await byAda(...words);
    const blind = { MASTER_SECRET: "nowhere" };
    const shown = await run(
      ["application", "audit", application.identifier, "--account", "a", "--json"],
      blind,
    );
    expect(shown.code).toBe(0);
    expect(shown.json()).toMatchObject({ audit: [{ action: "apply" }], entriesOfUnknownAccount: 1 });
    expect(JSON.parse(shown.err)).toEqual({
      warning: expect.stringMatching(
        /^The audit cannot name accounts\. The master secret nowhere cannot be read/,
      ),
    });
  });

  test("shows transfers by links among the acts, in the order of time", async () => {
    const application = await anApplication(given);
    const world = (await application.world()).with({});
    const moving = world.with({ application: { ...world.application, transfers: "always" } });
    await moving.at(NOW + 1000).store({ purchases: [owned("1")] }, byCredential("a"));
    const customer = await moving.at(NOW + 2000).store({ purchases: [owned("1")] }, byCredential("b"));
    await run(["application", "refresh", application.identifier], {}, NOW + 3000);
    expect((await audit(application)).map(({ action }) => action)).toEqual(["apply", "transfer", "refresh"]);
    const ofAccount = await audit(application, "--account", "b");
    expect(ofAccount).toMatchObject([
      { action: "apply" },
      { action: "transfer", customer: customer?.identifier, by: "a link", caller: null },
      { action: "refresh" },
    ]);
  });

  test("shows entries of the first version, without caller, accounts or lines", async () => {
    const application = await anApplication(given);
    const old = {
      action: "unlink",
      customer: customerId(uuid()),
      moment: NOW - 1000,
      by: "ada",
      reason: "r",
    };
    const key = keys.audit(application.identifier, NOW - 1000, uuid());
    await given.table.client.send(new PutCommand({ TableName: given.table.name, Item: { ...key, ...old } }));
    expect((await audit(application))[0]).toEqual({
      ...old,
      moment: isoTime(NOW - 1000),
      caller: null,
      accounts: [],
      what: [],
    });
  });
});

describe("the caller", () => {
  const issue = (application: ToldApplication, environment: Record<string, string>, ...words: string[]) =>
    given.operator.run(
      ["credential", "issue", "--application", application.identifier, "--scope", "changes:read", ...words],
      environment,
    );

  test("is asked of STS once for a command", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    for (const number of [1, 2, 3]) await world.store({ purchases: [owned(`${number}`)] }, byCredential("a"));
    sts.asked.length = 0;
    const erased = await added(application, () =>
      byAda("account", "erase", application.identifier, "a", ...because),
    );
    expect(erased.map(({ caller }) => caller)).toEqual([CALLER, CALLER, CALLER]);
    expect(sts.asked).toEqual([
      expect.stringMatching(/Credential=[^/]+\/\d+\/[a-z0-9-]+\/sts\/aws4_request/),
    ]);
    sts.asked.length = 0;
    await run(["application", "show", application.identifier]);
    await audit(application);
    expect(sts.asked).toEqual([]);
  });

  test.each([
    ["does not answer", () => ({ endpoint: "http://127.0.0.1:9", stop: async () => undefined })],
    ["has no URL", () => ({ endpoint: "nowhere", stop: async () => undefined })],
    ["refuses", () => startTokenService(null)],
    ["names nobody", () => startTokenService("")],
  ])("is null where STS %s: the command goes on, with a line", async (_, start) => {
    const application = await anApplication(given);
    const silent = await start();
    const [recorded] = await added(application, async () => {
      const done = await issue(application, { AWS_ENDPOINT_URL_STS: silent.endpoint }, "--json");
      expect(done.code).toBe(0);
      expect(done.json()).toMatchObject({ scopes: ["changes:read"] });
      expect(JSON.parse(done.err)).toEqual({
        warning: expect.stringMatching(/^The audit does not name the AWS identity of this shell: STS /),
      });
    });
    expect(recorded).toMatchObject({ action: "issue", by: userInfo().username, caller: null });
    await silent.stop();
  });

  test("is local on a table of this machine without STS", async () => {
    const application = await anApplication(given);
    const tokenService = createTokenService();
    const server = createServer((request, response) => void tokenService(request, response));
    const AWS_ENDPOINT_URL_STS = `http://127.0.0.1:${await listen(server, 0)}`;
    const entries = await added(application, async () => {
      for (const environment of [{}, { AWS_ENDPOINT_URL_STS }])
        expect(await issue(application, environment)).toMatchObject({ code: 0, err: "" });
    });
    await close(server);
    expect(entries.map(({ caller }) => caller)).toEqual(["local", "arn:aws:iam::123456789012:user/local"]);
  });
});

test("without the master secret the command goes on, with a line", async () => {
  const application = await anApplication(given);
  const world = await application.world();
  const customers = [];
  for (const number of [1, 2])
    customers.push(await world.store({ purchases: [owned(`${number}`)] }, byClient("a")));
  const words = ["account", "unlink", application.identifier, "a", "--asserted-by", "client", ...because];
  const entries = await added(application, async () => {
    const done = await run(words, { MASTER_SECRET: "nowhere" });
    expect(done.code).toBe(0);
    expect(done.err.match(/The audit cannot name accounts/g)).toHaveLength(1);
  });
  expect(entries).toHaveLength(2);
  for (const { accounts } of entries) expect(accounts).toEqual([]);
});

test("every command that changes something takes --by, and no other does", async () => {
  const help = async (...words: string[]): Promise<string> => {
    let text = "";
    await runOperator([...words, "--help"], {
      environment: {},
      now: () => NOW,
      out: (part) => void (text += part),
      err: () => undefined,
      waitForIndex: () => Promise.resolve(),
      wait: () => Promise.resolve(),
      ask: null,
    });
    return text;
  };
  const commandsIn = (text: string): string[] =>
    [...(text.split("\nCommands:\n")[1] ?? "").matchAll(/^ {2}([a-z]+)/gm)].flatMap(([, name = ""]) =>
      name === "help" ? [] : [name],
    );
  const acting: string[] = [];
  for (const group of commandsIn(await help()))
    for (const command of commandsIn(await help(group)))
      if ((await help(group, command)).includes("--by <name>")) acting.push(`${group} ${command}`);
  expect(acting.sort()).toEqual([
    "account erase",
    "account export",
    "account unlink",
    "application apply",
    "application refresh",
    "application reproject",
    "application retell",
    "credential issue",
    "credential revoke",
    "customer erase",
    "customer refresh",
    "customer unlink",
    "destination resend",
    "destination resume",
    "destination rotate",
    "import run",
  ]);
});
