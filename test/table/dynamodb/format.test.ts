import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { applicationId } from "../../../lib/identifiers.ts";
import { createApplicationTable } from "../../../lib/table/applications/applications.ts";
import { createAuditTable } from "../../../lib/table/applications/audit.ts";
import { requireTableFormat, TABLE_FORMAT, TableFormatError } from "../../../lib/table/dynamodb/table.ts";
import { type Key, keys, partitions } from "../../../lib/table/keys.ts";
import { byCredential, createWorld, owned, refunded } from "../../../testing/support/world.ts";
import { runOperator } from "../../../operator/program.ts";
import { aRenewal, NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { anApplication } from "../../../testing/support/application.ts";

let table: TestTable;
beforeEach(async () => {
  table = await createTestTable();
});
afterEach(() => table.remove());

const put = (key: Key, attributes: object) =>
  table.client.send(new PutCommand({ TableName: table.name, Item: { ...key, ...attributes } }));

/** Adds an attribute, as a later version may. */
const addLater = async (key: Key): Promise<void> => {
  await table.client.send(
    new UpdateCommand({
      TableName: table.name,
      Key: { ...key },
      UpdateExpression: "SET later = :later",
      ExpressionAttributeValues: { ":later": "kept" },
    }),
  );
};

const operator = async (): Promise<{ code: number; errors: string }> => {
  let errors = "";
  const code = await runOperator(["application", "list", "--table", table.name], {
    environment: process.env,
    now: () => NOW,
    out: () => undefined,
    err: (text) => void (errors += text),
    waitForIndex: () => Promise.resolve(),
    wait: () => Promise.resolve(),
    ask: null,
  });
  return { code, errors };
};

describe("a table", () => {
  test("that is empty is accepted, and its first application marks its format", async () => {
    await requireTableFormat(table);
    await createApplicationTable(table).save(null, anApplication());
    expect(await table.items()).toContainEqual({ ...keys.format(), tableFormat: TABLE_FORMAT });
    await requireTableFormat(table);
  });
  test.each<[what: string, key: Key, attributes: object]>([
    ["from before formats were marked", keys.application(applicationId(uuid())), { kind: "application" }],
    ["of an earlier format", keys.format(), { tableFormat: TABLE_FORMAT - 1 }],
    ["of a later format", keys.format(), { tableFormat: TABLE_FORMAT + 1 }],
  ])(
    "%s is refused with one sentence, by functions and the operator's program",
    async (_, key, attributes) => {
      await put(key, attributes);
      await expect(requireTableFormat(table)).rejects.toThrow(TableFormatError);
      const { code, errors } = await operator();
      expect(code).toBe(1);
      expect(errors).toMatch(/^The table \S+ (has an older format|is of format \d+;)/);
    },
  );

  test("with an application from before formats is unreadable", async () => {
    const { identifier } = anApplication();
    await put(keys.application(identifier), { kind: "application", identifier, name: "Old", version: 1 });
    await expect(createApplicationTable(table).load(identifier)).rejects.toThrow(TableFormatError);
  });
});

describe("a later version's data", () => {
  test("survives in an application that is applied again", async () => {
    const applications = createApplicationTable(table);
    const application = anApplication();
    await applications.save(null, application);
    const written = [keys.application(application.identifier), keys.catalog(application.identifier)];
    for (const key of written) await addLater(key);
    const before = await applications.read(application.identifier);
    await applications.save(before, { ...application, name: "Trails, renamed" });
    const items = await table.items();
    for (const { pk, sk } of written)
      expect(items).toContainEqual(expect.objectContaining({ pk, sk, later: "kept" }));
  });
  test("survives changes of a customer, its purchase and its account", async () => {
    const world = createWorld(table);
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const written = (await world.items()).map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk) }));
    for (const key of written) await addLater(key);
    await world.at(NOW + 1000).store({ purchases: [refunded("1")] }, byCredential("a"));
    for (const item of await world.items()) expect(item).toHaveProperty("later", "kept");
    expect((await world.read("a")).entitlements).toMatchObject([{ status: "revoked" }]);
  });

  test("at the end of encoded parts survives changes of other purchases", async () => {
    const world = createWorld(table);
    const renewed = (key: string) => ({ ...owned(key), renewal: aRenewal() });
    await world.store({ purchases: [renewed("1"), renewed("2")] }, byCredential("a"));
    const isOther = (part: unknown): boolean => JSON.stringify(part).includes('"2"');
    // Each part ends with what a later version appended; a list of parts does not.
    const addAtTheEnd = (value: unknown): unknown => {
      if (!Array.isArray(value)) return value;
      const parts = value.map(addAtTheEnd);
      return Array.isArray(value[0]) ? parts : [...parts, "later"];
    };
    for (const { pk, sk, holdings, lines, ...item } of await world.items())
      await put(
        { pk: String(pk), sk: String(sk) },
        { ...item, holdings: addAtTheEnd(holdings), lines: addAtTheEnd(lines) },
      );
    const laterOf = async () =>
      (await world.items()).flatMap(({ holdings, lines }) =>
        [holdings ?? [], lines ?? []].flat().filter(isOther),
      );
    const before = await laterOf();
    expect(JSON.stringify(before)).toContain("later");
    await world.at(NOW + 1000).store({ purchases: [refunded("1")] }, byCredential("a"));
    expect(await laterOf()).toEqual(before);
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
  test("among applications and in the audit is ignored, except for actions", async () => {
    const { identifier } = anApplication();
    await put({ pk: "APPLICATIONS", sk: "LATER" }, { kind: "later" });
    const by = { by: "ada", caller: null, reason: "r" };
    const entry = { customer: uuid(), moment: NOW, ...by, accounts: [], what: [] };
    await put({ pk: partitions.audit(identifier), sk: "1" }, { ...entry, action: "later" });
    await put({ pk: partitions.audit(identifier), sk: "2" }, { something: "else" });
    expect(await createApplicationTable(table).list()).toEqual(expect.any(Array));
    expect(await createAuditTable(table).of(identifier)).toEqual([{ ...entry, action: "later" }]);
  });
});
