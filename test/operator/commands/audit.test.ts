import { type AuditAction, type Audited, auditEntry } from "../../../lib/administration/acts/audit.ts";
import { operatorChange } from "../../../lib/administration/acts/operations.ts";
import { issueCredential } from "../../../lib/applications/credential.ts";
import { keyedHash } from "../../../lib/delivery/webhook-secret.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { accountId, customerId } from "../../../lib/identifiers.ts";
import {
  createApplicationTable,
  createDestinationTable,
} from "../../../lib/table/applications/applications.ts";
import { createCredentialTable } from "../../../lib/table/applications/credentials.ts";
import { transactionsOf } from "../../../lib/table/customers/customer-change.ts";
import { transact } from "../../../lib/table/dynamodb/writes.ts";
import { recordAct } from "../../../operator/commands/audit.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { byClient, byCredential, owned, requests } from "../../../testing/support/world.ts";
import { UNKNOWN } from "../run-operator.ts";
import { CALLER, startTokenService } from "../sts.ts";
import {
  anApplication,
  BACKEND,
  MASTER,
  sold as soldTo,
  type ToldApplication,
  withOperator,
} from "../telling-world.ts";

const given = withOperator();
const sts = await startTokenService();
afterAll(sts.stop);

const because = "--reason asked --yes";

/** Runs a command, by ada, in a shell whose AWS identity STS names. */
const byAda = ({ run }: ToldApplication, line: string, by = "ada") =>
  run(`${line} --by ${by}`, { environment: { AWS_ENDPOINT_URL_STS: sts.endpoint } });

/** Entries that an act adds. */
const added = async ({ audit }: ToldApplication, act: () => Promise<unknown>) => {
  const before = (await audit()).length;
  await act();
  return (await audit()).slice(before);
};
const hashOf = ({ identifier }: ToldApplication, account: string): string =>
  keyedHash(new TextEncoder().encode(MASTER), identifier, account);
const entry = { moment: isoTime(NOW), by: "ada", caller: CALLER, reason: null, customer: null, accounts: [] };

const sold = async () => {
  const { customer, ...more } = await soldTo(given);
  return { ...more, customer: customer?.identifier ?? customerId("") };
};

test("an apply is recorded with its changes, and the access taken", async () => {
  const application = await anApplication(given);
  await application.configure([BACKEND], { products: [] });
  expect(await application.audit()).toMatchObject([
    {
      action: "apply",
      what: expect.arrayContaining([
        `+ application ${application.identifier}: name Trails`,
        "+ destination backend: url",
        '+ product ios-store monthly: grants ["premium"]',
      ]),
    },
    {
      action: "apply",
      what: [
        "customers can lose access: product ios-store monthly grants nothing any more",
        "- product ios-store monthly",
      ],
    },
  ]);
  expect((await application.run("application audit APPLICATION")).out).toContain(
    "\n  customers can lose access: product ios-store monthly grants nothing any more\n  - product ios-store monthly\n",
  );
  expect(await added(application, () => application.configure([BACKEND], { products: [] }))).toEqual([]);
});

test.each<[line: string, what: unknown]>([
  [
    "credential issue --application APPLICATION --scope customers:write",
    expect.stringMatching(/^API key [0-9a-f]{16}: customers:write, expires never$/),
  ],
  ["destination rotate APPLICATION backend", "destination backend: new secret"],
  ["destination resume APPLICATION backend", "begun: destination backend is resumed"],
  [
    `destination resend APPLICATION backend --since ${isoTime(NOW)}`,
    `begun: destination backend gets what changed since ${isoTime(NOW)} once more`,
  ],
  ["application reproject APPLICATION", "begun: the holdings of every customer are recomputed"],
  ["application retell APPLICATION", "begun: every account is looked at"],
  [
    "application refresh APPLICATION --store ios-store",
    expect.stringContaining("the ios-store is asked") as unknown,
  ],
])("%s is recorded, with who, whence and what", async (line, what) => {
  const { application } = await sold();
  const [, action] = line.split(" ");
  expect(await added(application, () => byAda(application, line))).toEqual([
    { ...entry, action, what: [what] },
  ]);
});

test.each([
  ["customer refresh APPLICATION CUSTOMER --no-wait", "begun: the stores are asked about its purchases"],
  ["account export APPLICATION a", "begun: everything known of the account"],
])("%s is recorded with the account's keyed hash", async (line, what) => {
  const { application, customer } = await sold();
  const act = () => byAda(application, line.replace("CUSTOMER", customer));
  expect(await added(application, act)).toMatchObject([
    { accounts: [hashOf(application, "a")], what: [what] },
  ]);
});

test.each([
  [`credential issue --application ${UNKNOWN} --scope customers:write`, "ada"],
  ["destination rotate APPLICATION nope", "ada"],
  ["destination resend APPLICATION backend --since yesterday", "ada"],
  [`customer refresh APPLICATION ${UNKNOWN}`, "ada"],
  ["application retell APPLICATION", ""],
  [`destination resend APPLICATION backend --since ${isoTime(NOW)}`, ""],
])("%s by %j is refused: nothing is done or recorded", async (line, by) => {
  const { application } = await sold();
  await application.tell();
  const before = await application.itemsOf("");
  expect(await byAda(application, line, by)).toMatchObject({ code: 1 });
  expect(await application.itemsOf("")).toEqual(before);
});

test("an act that these credentials may not record is not begun", async () => {
  const denied = Object.assign(new Error("denied"), { name: "AccessDeniedException" });
  const recording = {
    now: () => NOW,
    caller: () => Promise.resolve(null),
    hashAccounts: async () => [],
    audit: { record: () => Promise.reject(denied) },
  };
  const application = await anApplication(given);
  await expect(recordAct(recording, application, { by: null }, "export", {})).rejects.toThrow(
    /^Nothing was changed\. .*OperatorChangesPolicy/,
  );
});

describe("an act of one transaction is recorded in it:", () => {
  const keyOf = ({ identifier }: ToldApplication) =>
    issueCredential({ application: identifier, label: null, scopes: ["changes:read"], expiresAt: null }, NOW)
      .credential;

  type Prepare = (application: ToldApplication, entry: Audited) => Promise<() => Promise<unknown>>;
  const credentials = () => createCredentialTable(given.table);
  test.each<[AuditAction, Prepare]>([
    [
      "apply",
      async ({ identifier }, entry) => {
        const { read, save } = createApplicationTable(given.table);
        const before = await read(identifier);
        if (before === null) throw new Error("no application");
        return () => save(before, { ...before.application, name: "Peaks" }, entry);
      },
    ],
    [
      "issue",
      async (application, entry) => {
        const key = keyOf(application);
        return () => credentials().add(key, entry);
      },
    ],
    [
      "revoke",
      async (application, entry) => {
        const key = keyOf(application);
        await credentials().add(key);
        return () => credentials().revoke(key.keyIdentifier, NOW, entry);
      },
    ],
    [
      "rotate",
      async (application, entry) => {
        const { setSecretEpochs } = createDestinationTable(given.table);
        const before = await application.webhook();
        return () => setSecretEpochs(application.identifier, before, [NOW], entry);
      },
    ],
  ])("%s, once", async (action, prepare) => {
    const application = await anApplication(given);
    const authority = { by: "ada", caller: CALLER, reason: null };
    const act = await prepare(application, auditEntry(action, NOW, authority));
    const recorded = await added(application, async () => {
      const sent = await requests(given.table, act);
      expect(sent.filter((command) => command !== "GetItem")).toEqual(["TransactWriteItems"]);
    });
    expect(recorded).toMatchObject([{ action }]);
    expect(await added(application, () => act().catch(() => "conflict"))).toEqual([]);
  });
});

test("a move, an unlink and an erasure have the accounts' keyed hashes alone", async () => {
  const { application, world, customer } = await sold();
  const acted = (line: string) => added(application, () => byAda(application, `${line} ${because}`));
  const of = { ...entry, reason: "asked", customer };
  const [a, b, c, d] = ["a", "b", "c", "d"].map((account) => hashOf(application, account));
  expect(await acted(`customer unlink APPLICATION ${customer} --to b`)).toEqual([
    { ...of, action: "move", accounts: [a, b], what: ["was linked by a credential"] },
  ]);
  expect(await acted(`customer unlink APPLICATION ${customer}`)).toEqual([
    { ...of, action: "unlink", accounts: [b], what: ["was linked by a credential"] },
  ]);
  await world.store({ purchases: [owned("1")] }, byClient("c"));
  expect(await acted("account unlink APPLICATION c --asserted-by client")).toEqual([
    { ...of, action: "unlink", accounts: [c], what: ["was linked by a client"] },
  ]);
  await world.store({ purchases: [owned("1")] }, byCredential("d"));
  expect(await acted(`customer erase APPLICATION ${customer}`)).toEqual([
    { ...of, action: "erase", accounts: [d], what: [] },
  ]);
  expect(JSON.stringify(await application.itemsOf("#AUDIT"))).not.toMatch(/"[abcd]"/);
});

test("the same command completes an interrupted move, and records that", async () => {
  const { application, world, customer } = await sold();
  const { living } = await world.operations.customers.findCustomers(application.identifier, [customer]);
  const [stored] = living.values();
  if (stored === undefined) throw new Error("nobody is there");
  const link = { account: accountId("b"), assertedBy: "credential", linkedAt: NOW } as const;
  const begun = auditEntry("move", NOW, { by: "grace", caller: null, reason: null }, { customer });
  const change = operatorChange(application.identifier, stored, { link }, NOW, true);
  const [first = []] = transactionsOf(change, new Set(), begun);
  await transact(given.table, first);
  const move = () => application.run(`customer unlink APPLICATION ${customer} --to b ${because}`);
  expect(await added(application, move)).toMatchObject([
    { action: "move", customer, what: ["completes an interrupted move"] },
  ]);
  expect((await world.read("b")).customerIdentifiers).toEqual([customer]);
  expect(await added(application, move)).toEqual([]);
});
