import { setTimeout as sleep } from "node:timers/promises";
import { ScanCommand, type QueryCommandInput, type ScanCommandOutput } from "@aws-sdk/lib-dynamodb";
import fc from "fast-check";
import { TABLE } from "../../../lib/table/keys.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import type { Item } from "../../../testing/support/table/expressions.ts";
import type { TestTable } from "../../../testing/support/table/table.ts";
import { bothTables, namesIn, requestsTo, type Write } from "./both-tables.ts";

const { aPartition, alike } = bothTables();

describe("a query", () => {
  const SORTED = ["!", "1", "10", "2", "A", "B#1", "B#2", "a", "\u00e9", "\uffee", "\u{1f600}"];
  /** What a query of a partition with these items gives, page by page. */
  const pagesOf = async (items: readonly Item[], more: Partial<QueryCommandInput> = {}) => {
    const pk = aPartition();
    return alike(async (table) => {
      const { putAll, query } = requestsTo(table);
      await putAll(items.map((item) => ({ ...item, pk })));
      const pages: unknown[] = [];
      let from: Item | undefined;
      do {
        const page = await query(pk, { ...more, ...(from !== undefined && { ExclusiveStartKey: from }) });
        pages.push(page);
        from = (page as { readonly LastEvaluatedKey?: Item }).LastEvaluatedKey;
      } while (from !== undefined);
      return pages;
    });
  };

  test.each<[condition: string | null, value: string]>([
    [null, ""],
    ["begins_with(sk, :v)", "B#"],
    ["begins_with(sk, :v)", "1"],
    ["sk < :v", "10"],
    ["sk < :v", "11"],
    ["sk > :v", "a"],
    ["sk > :v", "B#1"],
  ])("is in the order of the sort key's bytes: %s (%s)", async (condition, value) => {
    const given = { ExpressionAttributeValues: { ":v": value } };
    const where =
      condition === null ? {} : { KeyConditionExpression: `#pk = :pk AND ${condition}`, ...given };
    const items = SORTED.toReversed().map((sk) => ({ sk }));
    const [page] = (await pagesOf(items, where)) as [{ readonly Items: readonly Item[] }];
    expect(page.Items.length).toBeGreaterThan(1);
  });

  test.each<[what: string, items: readonly Item[], limit: number | null, pages: number]>([
    ["of the limit", ["1", "2", "3", "4"].map((sk) => ({ sk })), 3, 2],
    ["of which the last may be empty", ["1", "2", "3", "4"].map((sk) => ({ sk })), 4, 2],
    ["of 1 MB", ["1", "2", "3", "4"].map((sk) => ({ sk, text: "x".repeat(390 * 1024) })), null, 2],
  ])("gives pages %s", async (_, items, limit, pages) => {
    expect(await pagesOf(items, limit === null ? {} : { Limit: limit })).toHaveLength(pages);
  });

  test("of the index gives the keys of an owner, eventually", async () => {
    const pk = aPartition();
    const owner = `${pk}-owner`;
    const found = await alike(async (table) => {
      const { putAll, query } = requestsTo(table);
      await putAll([
        { pk, sk: "1", [TABLE.ownerAttribute]: owner, a: 1 },
        { pk, sk: "2" },
      ]);
      const names = { "#pk": TABLE.ownerAttribute };
      const byOwner = { IndexName: TABLE.ownerIndex, ExpressionAttributeNames: names };
      const eventually = () => query(owner, { ...byOwner, ConsistentRead: false });
      for (let tries = 0; tries < 50; tries += 1) {
        if (JSON.stringify(await eventually()).includes('"sk"')) break;
        await sleep(20);
      }
      return [await eventually(), await query(owner, byOwner)];
    });
    const Items = [{ pk, sk: "1", [TABLE.ownerAttribute]: owner }];
    expect(found).toEqual([expect.objectContaining({ Items }), "ValidationException"]);
  });
});

test("a scan in pages filters after it reads, and projects", async () => {
  const prefix = aPartition();
  const found = await alike(async (table) => {
    const { client, name: TableName } = table;
    await requestsTo(table).putAll([
      { pk: `${prefix}a`, sk: "1", a: 1, b: 2 },
      { pk: `${prefix}a`, sk: "2", a: 1 },
      { pk: `${prefix}b`, sk: "1", a: null },
    ]);
    const items: Item[] = [];
    let [scanned, from]: [number, Item | undefined] = [0, undefined];
    do {
      const page: ScanCommandOutput = await client.send(
        new ScanCommand({
          TableName,
          Limit: 7,
          FilterExpression: "begins_with(pk, :prefix) AND begins_with(sk, :one) AND #a = :a",
          ProjectionExpression: "pk, #b",
          ...namesIn("#a #b"),
          ExpressionAttributeValues: { ":prefix": prefix, ":one": "1", ":a": 1 },
          ...(from !== undefined && { ExclusiveStartKey: from }),
        }),
      );
      items.push(...(page.Items ?? []));
      scanned += page.ScannedCount ?? 0;
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    expect(scanned).toBe((await table.items()).length);
    return items;
  });
  expect(found).toEqual([{ pk: `${prefix}a`, b: 2 }]);
});

describe("any requests", () => {
  const CONDITIONS: readonly (readonly [expression: string, ...values: string[]])[] = [
    ["attribute_not_exists(pk)"],
    ["attribute_exists(pk)"],
    ["version = :v", ":v"],
    ["attribute_not_exists(pk) OR version <= :v", ":v"],
    ["attribute_not_exists(version) OR version <> :v", ":v"],
    [
      "(attribute_not_exists(#n) OR #n <= :v) AND (attribute_not_exists(version) OR version > :w)",
      ":v",
      ":w",
    ],
  ];
  const UPDATES: readonly (readonly [expression: string, ...values: string[]])[] = [
    ["SET version = :x", ":x"],
    ["REMOVE version ADD #n :y", ":y"],
    ["ADD #n :y", ":y"],
    ["SET version = if_not_exists(version, :x), #m = :y", ":x", ":y"],
  ];
  const number = fc.nat(2);
  const someKey = fc.record({ pk: fc.constantFrom("A", "B"), sk: fc.constantFrom("1", "2", "3") });
  const values = fc.record({ ":v": number, ":w": number, ":x": number, ":y": number });
  const write = fc.record({
    kind: fc.constantFrom("Put", "Delete", "Update", "ConditionCheck"),
    key: someKey,
    version: number,
    condition: fc.option(fc.constantFrom(...CONDITIONS)),
    update: fc.constantFrom(...UPDATES),
    values,
  });
  type AnyWrite = typeof write extends fc.Arbitrary<infer One> ? One : never;

  const writeTo = (TableName: string, pk: string, one: AnyWrite): Write => {
    const Key = { ...one.key, pk: `${pk}${one.key.pk}` };
    const condition = one.condition ?? (one.kind === "ConditionCheck" ? CONDITIONS[0] : undefined);
    const isUpdate = one.kind === "Update";
    const used = new Set([...(condition?.slice(1) ?? []), ...(isUpdate ? one.update.slice(1) : [])]);
    const given = Object.entries(one.values).filter(([name]) => used.has(name));
    const conditional = {
      TableName,
      ...(condition !== undefined && { ConditionExpression: condition[0] }),
      ...namesIn(`${condition?.[0] ?? ""} ${isUpdate ? one.update[0] : ""}`),
      ...(given.length > 0 && { ExpressionAttributeValues: Object.fromEntries(given) }),
    };
    if (one.kind === "Put") return { Put: { ...conditional, Item: { ...Key, version: one.version } } };
    if (isUpdate) return { Update: { ...conditional, Key, UpdateExpression: one.update[0] } };
    if (one.kind === "Delete") return { Delete: { ...conditional, Key } };
    return { ConditionCheck: { ConditionExpression: "attribute_exists(pk)", ...conditional, Key } };
  };

  const ofDistinctItems = fc.uniqueArray(write, {
    minLength: 1,
    maxLength: 4,
    selector: ({ key }) => JSON.stringify(key),
  });
  const request = fc.oneof(
    fc.record({ how: fc.constant("transaction" as const), writes: ofDistinctItems }),
    fc.record({ how: fc.constant("alone" as const), writes: fc.tuple(write) }),
    fc.record({
      how: fc.constant("page" as const),
      writes: fc.tuple(write),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  );

  const send = async (
    table: TestTable,
    pk: string,
    one: typeof request extends fc.Arbitrary<infer One> ? One : never,
  ): Promise<unknown> => {
    const { alone, query, transact } = requestsTo(table);
    if (one.how === "page")
      return query(`${pk}A`, {
        KeyConditionExpression: "#pk = :pk AND sk > :after",
        ExpressionAttributeValues: { ":after": one.writes[0].key.sk },
        Limit: one.limit,
      });
    const writes = one.writes.map((each) => writeTo(table.name, pk, each));
    const [first = {}] = writes;
    return one.how === "transaction" ? transact(writes) : alone(first, { ReturnValues: "ALL_NEW" });
  };

  test(
    "have the same results and leave the same items on both",
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), async (requests) => {
          const pk = aPartition();
          for (const one of requests) await alike((table) => send(table, pk, one));
          await alike((table) => table.items(pk));
        }),
        cases(40, 2_000),
      ),
    TIMEOUT,
  );
});
