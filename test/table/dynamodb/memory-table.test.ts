import { setTimeout as sleep } from "node:timers/promises";
import { ConditionalCheckFailedException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
  type QueryCommandInput,
  type TransactWriteCommandInput,
  type UpdateCommandInput,
} from "@aws-sdk/lib-dynamodb";
import fc from "fast-check";
import { TABLE } from "../../../lib/table/dynamodb/key.ts";
import { PLAIN_NAMES, type Item } from "../../../testing/support/table/expressions.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";

/** The same cases on the table in memory and on DynamoDB Local. Where the two differ, the memory is wrong. */
const tables: Partial<Record<"memory" | "DynamoDB Local", TestTable>> = {};
beforeAll(async () => {
  tables.memory = createMemoryTable();
  tables["DynamoDB Local"] = await createTestTable();
});
afterAll(async () => {
  for (const one of Object.values(tables)) await one.remove();
});

type Write = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];
type Placeholders = Pick<UpdateCommandInput, "ExpressionAttributeNames" | "ExpressionAttributeValues">;

/** Names for the `#` placeholders of an expression, each after itself. */
const namesIn = (expression: string): Pick<Placeholders, "ExpressionAttributeNames"> => {
  const names = [...expression.matchAll(/#(\w+)/g)].map(([placeholder, name]) => [placeholder, name]);
  return names.length === 0 ? {} : { ExpressionAttributeNames: Object.fromEntries(names) };
};

let partitions = 0;
/** A partition that no other case uses. */
const aPartition = (): string => `P${(partitions += 1)}`;

/** Result of an operation, or the name of its error, with the reasons of a cancelled transaction. */
const resultOf = async (act: Promise<{ readonly $metadata: unknown }>): Promise<unknown> =>
  act.then(
    (result) =>
      Object.fromEntries(
        Object.entries(result).filter(
          ([name, value]) => !["$metadata", "ConsumedCapacity"].includes(name) && value !== undefined,
        ),
      ),
    (error: unknown) => {
      if (error instanceof TransactionCanceledException)
        return error.CancellationReasons?.map(({ Code, Item }) => (Item === undefined ? Code : [Code, Item]));
      if (error instanceof ConditionalCheckFailedException && error.Item !== undefined)
        return [error.name, error.Item];
      return error instanceof Error ? error.name : error;
    },
  );

describe.each(["memory", "DynamoDB Local"] as const)("%s", (kind) => {
  const table = (): TestTable => {
    const one = tables[kind];
    if (one === undefined) throw new Error("The table is not there yet.");
    return one;
  };
  const named = () => ({ TableName: table().name });
  const put = (item: Item, more: object = {}) =>
    resultOf(table().client.send(new PutCommand({ ...named(), Item: item, ...more })));
  const update = (Key: Item, UpdateExpression: string, more: Partial<UpdateCommandInput> = {}) =>
    resultOf(
      table().client.send(
        new UpdateCommand({
          ...named(),
          Key,
          UpdateExpression,
          ...namesIn(`${UpdateExpression} ${more.ConditionExpression ?? ""}`),
          ...more,
        }),
      ),
    );
  const read = async (Key: Item): Promise<unknown> => {
    const { Item } = await table().client.send(new GetCommand({ ...named(), Key, ConsistentRead: true }));
    return Item;
  };
  const transact = (writes: (name: { readonly TableName: string }) => Write[]) =>
    resultOf(table().client.send(new TransactWriteCommand({ TransactItems: writes(named()) })));
  const putAll = async (items: readonly Item[]): Promise<void> => {
    for (const item of items) expect(await put(item)).toEqual({});
  };

  describe("a condition", () => {
    const STORED = { text: "b", number: 2, none: null, flag: true, list: ["a", 1], map: { a: 1, b: 2 } };
    test.each<[expression: string, given: Placeholders["ExpressionAttributeValues"], holds: boolean]>([
      ["attribute_exists(pk)", undefined, true],
      ["attribute_exists(#none)", undefined, true],
      ["attribute_exists(#missing)", undefined, false],
      ["attribute_not_exists(#missing)", undefined, true],
      ["attribute_not_exists(#number)", undefined, false],
      ["#number = :v", { ":v": 2 }, true],
      ["#number = :v", { ":v": "2" }, false],
      ["#text = :v", { ":v": "b" }, true],
      ["#none = :v", { ":v": null }, true],
      ["#flag = :v", { ":v": true }, true],
      ["#list = :v", { ":v": ["a", 1] }, true],
      ["#list = :v", { ":v": [1, "a"] }, false],
      ["#map = :v", { ":v": { b: 2, a: 1 } }, true],
      ["#missing = :v", { ":v": null }, false],
      ["#number <> :v", { ":v": 2 }, false],
      ["#number <> :v", { ":v": "2" }, true],
      ["#missing <> :v", { ":v": 2 }, true],
      ["#number < :v", { ":v": 3 }, true],
      ["#number < :v", { ":v": 2 }, false],
      ["#number < :v", { ":v": 10 }, true],
      ["#number < :v", { ":v": "3" }, false],
      ["#number <= :v", { ":v": 2 }, true],
      ["#number > :v", { ":v": 1 }, true],
      ["#number > :v", { ":v": "1" }, false],
      ["#number >= :v", { ":v": 2 }, true],
      ["#missing <= :v", { ":v": 2 }, false],
      ["#missing > :v", { ":v": 0 }, false],
      ["#text < :v", { ":v": "c" }, true],
      ["#text < :v", { ":v": "ab" }, false],
      ["#text >= :v", { ":v": "B" }, true],
      ["begins_with(#text, :v)", { ":v": "b" }, true],
      ["begins_with(#text, :v)", { ":v": "bc" }, false],
      ["begins_with(#number, :v)", { ":v": "2" }, false],
      ["begins_with(#missing, :v)", { ":v": "b" }, false],
      ["#number = :v AND #text = :w", { ":v": 2, ":w": "b" }, true],
      ["#number = :v AND #text = :w", { ":v": 2, ":w": "c" }, false],
      ["#number = :v OR #text = :w", { ":v": 3, ":w": "b" }, true],
      ["#number = :v OR #text = :w AND #flag = :x", { ":v": 2, ":w": "c", ":x": false }, true],
      ["(#number = :v OR #text = :w) AND #flag = :x", { ":v": 2, ":w": "c", ":x": false }, false],
      [
        "(attribute_not_exists(#missing) OR #missing <= :v) AND (attribute_not_exists(#text) OR #text = :w)",
        { ":v": 1, ":w": "b" },
        true,
      ],
    ])("%s with %j: %j", async (ConditionExpression, given, holds) => {
      const key = { pk: aPartition(), sk: "S" };
      await put({ ...key, ...STORED });
      const condition = {
        ConditionExpression,
        ...namesIn(ConditionExpression),
        ...(given !== undefined && { ExpressionAttributeValues: given }),
      };
      const refused = "ConditionalCheckFailedException";
      expect(await put({ ...key, ...STORED }, condition)).toEqual(holds ? {} : refused);
      expect(await transact((name) => [{ ConditionCheck: { ...name, Key: key, ...condition } }])).toEqual(
        holds ? {} : ["ConditionalCheckFailed"],
      );
      expect(
        await resultOf(table().client.send(new DeleteCommand({ ...named(), Key: key, ...condition }))),
      ).toEqual(holds ? {} : refused);
      expect(await read(key)).toEqual(holds ? undefined : { ...key, ...STORED });
    });

    test.each([...PLAIN_NAMES])("names %s without a placeholder: it is no reserved word", async (name) => {
      const key = { pk: aPartition(), sk: "S" };
      const condition = { ConditionExpression: `attribute_not_exists(${name})` };
      expect(await put(key, condition)).toEqual({});
    });
    test("on an item that is not there sees no attribute", async () => {
      const key = { pk: aPartition(), sk: "S" };
      expect(await put(key, { ConditionExpression: "attribute_exists(pk)" })).toBe(
        "ConditionalCheckFailedException",
      );
      expect(await put(key, { ConditionExpression: "attribute_not_exists(pk)" })).toEqual({});
      expect(await put(key, { ConditionExpression: "attribute_not_exists(pk)" })).toBe(
        "ConditionalCheckFailedException",
      );
    });
  });

  describe("an update", () => {
    test.each<[before: Item | null, expression: string, given: Item | undefined, after: Item]>([
      [{ a: 1 }, "SET #a = :a, #b = :b", { ":a": null, ":b": { c: [1] } }, { a: null, b: { c: [1] } }],
      [{ a: 1, b: 2 }, "REMOVE #a, #missing", undefined, { b: 2 }],
      [{ a: 1, b: 2 }, "REMOVE #a, #b ADD #n :one", { ":one": 1 }, { n: 1 }],
      [{ a: 1, n: 2 }, "SET #a = :a ADD #n :one", { ":a": 5, ":one": -3 }, { a: 5, n: -1 }],
      [{ n: 2 }, "SET #a = :a REMOVE #n", { ":a": "x" }, { a: "x" }],
      [{}, "ADD #n :one, #m :two", { ":one": 1, ":two": 2 }, { n: 1, m: 2 }],
      [{ a: 1 }, "SET #a = if_not_exists(#a, :a), #b = if_not_exists(#b, :a)", { ":a": 9 }, { a: 1, b: 9 }],
      [{ a: null }, "SET #a = if_not_exists(#a, :a)", { ":a": 9 }, { a: null }],
      [null, "SET #a = :a", { ":a": 1 }, { a: 1 }],
      [null, "REMOVE #a", undefined, {}],
      [null, "ADD #n :one", { ":one": 1 }, { n: 1 }],
    ])("of %j: %s with %j", async (before, expression, given, after) => {
      for (const within of ["alone", "in a transaction"]) {
        const key = { pk: aPartition(), sk: "S" };
        if (before !== null) await put({ ...key, ...before });
        const values = given === undefined ? {} : { ExpressionAttributeValues: given };
        const written =
          within === "alone"
            ? update(key, expression, values)
            : transact((name) => [
                {
                  Update: {
                    ...name,
                    Key: key,
                    UpdateExpression: expression,
                    ...namesIn(expression),
                    ...values,
                  },
                },
              ]);
        expect(await written).toEqual({});
        expect(await read(key)).toEqual({ ...key, ...after });
      }
    });

    test("returns nothing unless it is asked to", async () => {
      const key = { pk: aPartition(), sk: "S" };
      expect(await update(key, "SET #a = :a", { ExpressionAttributeValues: { ":a": 1 } })).toEqual({});
    });

    test("whose condition fails changes nothing, and can return the item", async () => {
      const key = { pk: aPartition(), sk: "S" };
      const condition = {
        ConditionExpression: "#a = :old",
        ExpressionAttributeValues: { ":old": 2, ":a": 3 },
      };
      const ALL_OLD = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
      expect(await update(key, "SET #a = :a", { ...condition, ...ALL_OLD })).toBe(
        "ConditionalCheckFailedException",
      );
      await put({ ...key, a: 1, text: "t", list: [true, null], map: { b: "c" } });
      expect(await update(key, "SET #a = :a", condition)).toBe("ConditionalCheckFailedException");
      expect(await update(key, "SET #a = :a", { ...condition, ...ALL_OLD })).toEqual([
        "ConditionalCheckFailedException",
        {
          pk: { S: key.pk },
          sk: { S: "S" },
          a: { N: "1" },
          text: { S: "t" },
          list: { L: [{ BOOL: true }, { NULL: true }] },
          map: { M: { b: { S: "c" } } },
        },
      ]);
      expect(await read(key)).toMatchObject({ a: 1 });
    });
  });

  describe("a transaction", () => {
    test("writes all of its items", async () => {
      const pk = aPartition();
      await putAll([
        { pk, sk: "deleted" },
        { pk, sk: "checked" },
        { pk, sk: "replaced", a: 1 },
      ]);
      const written = await transact((name) => [
        { Put: { ...name, Item: { pk, sk: "replaced", b: 2 } } },
        { Delete: { ...name, Key: { pk, sk: "deleted" } } },
        { Delete: { ...name, Key: { pk, sk: "never there" } } },
        {
          ConditionCheck: {
            ...name,
            Key: { pk, sk: "checked" },
            ConditionExpression: "attribute_exists(pk)",
          },
        },
        {
          Update: {
            ...name,
            Key: { pk, sk: "updated" },
            UpdateExpression: "ADD #n :one",
            ...namesIn("#n"),
            ExpressionAttributeValues: { ":one": 1 },
          },
        },
      ]);
      expect(written).toEqual({});
      expect(await table().items(pk)).toEqual([
        { pk, sk: "checked" },
        { pk, sk: "replaced", b: 2 },
        { pk, sk: "updated", n: 1 },
      ]);
    });

    test("writes nothing where a condition fails, and gives each reason", async () => {
      const pk = aPartition();
      await putAll([{ pk, sk: "there", a: 1 }]);
      const present = { ConditionExpression: "attribute_exists(pk)" };
      const absent = { ConditionExpression: "attribute_not_exists(pk)" };
      const cancelled = await transact((name) => [
        { Put: { ...name, Item: { pk, sk: "new" }, ...absent } },
        { Put: { ...name, Item: { pk, sk: "there" }, ...absent } },
        { Delete: { ...name, Key: { pk, sk: "missing" }, ...present } },
      ]);
      expect(cancelled).toEqual(["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
      expect(await table().items(pk)).toEqual([{ pk, sk: "there", a: 1 }]);
    });

    test("returns the item of a failed condition where it is asked to", async () => {
      const pk = aPartition();
      await putAll([{ pk, sk: "there", a: 1 }]);
      const failing = {
        ConditionExpression: "#a = :a",
        ...namesIn("#a"),
        ExpressionAttributeValues: { ":a": 2 },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      } as const;
      expect(
        await transact((name) => [
          { ConditionCheck: { ...name, Key: { pk, sk: "there" }, ...failing } },
          { ConditionCheck: { ...name, Key: { pk, sk: "missing" }, ...failing } },
        ]),
      ).toEqual([
        ["ConditionalCheckFailed", { pk: { S: pk }, sk: { S: "there" }, a: { N: "1" } }],
        "ConditionalCheckFailed",
      ]);
    });

    test("with an item twice, none, or more than 100 is invalid", async () => {
      const pk = aPartition();
      const puts =
        (keys: readonly string[]) =>
        (name: { readonly TableName: string }): Write[] =>
          keys.map((sk) => ({ Put: { ...name, Item: { pk, sk } } }));
      const many = (count: number) => Array.from({ length: count }, (_, index) => `S${index}`);
      expect(await transact(puts(["1", "2", "1"]))).toBe("ValidationException");
      expect(await transact(puts([]))).toBe("ValidationException");
      expect(await transact(puts(many(101)))).toBe("ValidationException");
      expect(await table().items(pk)).toEqual([]);
      expect(await transact(puts(many(100)))).toEqual({});
    });

    test("reads items in the order in which they are named", async () => {
      const pk = aPartition();
      await putAll([
        { pk, sk: "1", a: 1, b: 2, c: 3 },
        { pk, sk: "2", a: 4 },
      ]);
      const get = (sk: string, more: object = {}) => ({ Get: { ...named(), Key: { pk, sk }, ...more } });
      const reading = (TransactItems: ReturnType<typeof get>[]) =>
        resultOf(table().client.send(new TransactGetCommand({ TransactItems })));
      expect(
        await reading([
          get("2"),
          get("missing"),
          get("1", { ProjectionExpression: "pk, #a, #b, #d", ...namesIn("#a #b #d") }),
        ]),
      ).toEqual({ Responses: [{ Item: { pk, sk: "2", a: 4 } }, {}, { Item: { pk, a: 1, b: 2 } }] });
      expect(await reading([get("1"), get("1")])).toBe("ValidationException");
    });
  });

  describe("a batch", () => {
    const getAll = (Keys: Item[]) =>
      resultOf(
        table().client.send(
          new BatchGetCommand({ RequestItems: { [table().name]: { Keys, ConsistentRead: true } } }),
        ),
      );
    const many = (pk: string, count: number): Item[] =>
      Array.from({ length: count }, (_, index) => ({ pk, sk: `S${index}` }));

    test("of reads skips missing items, and has at most 100", async () => {
      const pk = aPartition();
      await putAll([
        { pk, sk: "1", a: 1 },
        { pk, sk: "2" },
      ]);
      const found = await getAll([
        { pk, sk: "2" },
        { pk, sk: "3" },
        { pk, sk: "1" },
      ]);
      const { Responses = {} } = found as { readonly Responses?: Readonly<Record<string, readonly Item[]>> };
      expect(found).toMatchObject({ UnprocessedKeys: {} });
      expect(
        Responses[table().name]?.toSorted((a, b) => (String(a["sk"]) < String(b["sk"]) ? -1 : 1)),
      ).toEqual([
        { pk, sk: "1", a: 1 },
        { pk, sk: "2" },
      ]);
      expect(
        await getAll([
          { pk, sk: "1" },
          { pk, sk: "1" },
        ]),
      ).toBe("ValidationException");
      expect(await getAll(many(pk, 101))).toBe("ValidationException");
      expect(await getAll(many(pk, 100))).toMatchObject({ Responses: { [table().name]: [] } });
    });

    test("of writes replaces and deletes at most 25 items", async () => {
      const pk = aPartition();
      await putAll([
        { pk, sk: "1", a: 1 },
        { pk, sk: "2" },
      ]);
      const writeAll = (requests: readonly object[]) =>
        resultOf(
          table().client.send(new BatchWriteCommand({ RequestItems: { [table().name]: [...requests] } })),
        );
      const putting = (Item: Item) => ({ PutRequest: { Item } });
      expect(
        await writeAll([
          putting({ pk, sk: "1", b: 2 }),
          { DeleteRequest: { Key: { pk, sk: "2" } } },
          { DeleteRequest: { Key: { pk, sk: "3" } } },
        ]),
      ).toEqual({ UnprocessedItems: {} });
      expect(await table().items(pk)).toEqual([{ pk, sk: "1", b: 2 }]);
      expect(await writeAll([putting({ pk, sk: "4" }), putting({ pk, sk: "4" })])).toBe(
        "ValidationException",
      );
      expect(await writeAll(many(pk, 26).map(putting))).toBe("ValidationException");
      expect(await writeAll(many(pk, 25).map(putting))).toEqual({ UnprocessedItems: {} });
    });
  });

  describe("a query", () => {
    const query = (pk: string, more: Partial<QueryCommandInput> = {}) => {
      const { KeyConditionExpression = "#pk = :pk", ExpressionAttributeValues, ...others } = more;
      return resultOf(
        table().client.send(
          new QueryCommand({
            ...named(),
            KeyConditionExpression,
            ExpressionAttributeNames: { "#pk": "pk" },
            ExpressionAttributeValues: { ":pk": pk, ...ExpressionAttributeValues },
            ConsistentRead: true,
            ...others,
          }),
        ),
      );
    };
    const SORTED = ["!", "1", "10", "2", "A", "B#1", "B#2", "a", "\u00e9", "\uffee", "\u{1f600}"];
    const filled = async (): Promise<string> => {
      const pk = aPartition();
      await putAll(SORTED.toReversed().map((sk) => ({ pk, sk })));
      return pk;
    };
    const keysIn = (result: unknown): unknown =>
      (result as { readonly Items: readonly Item[] }).Items.map(({ sk }) => sk);

    test("gives a partition in the order of the sort key's bytes", async () => {
      const pk = await filled();
      expect(await query(pk)).toEqual({
        Items: SORTED.map((sk) => ({ pk, sk })),
        Count: SORTED.length,
        ScannedCount: SORTED.length,
      });
      expect(await query(aPartition())).toEqual({ Items: [], Count: 0, ScannedCount: 0 });
    });

    test.each([
      ["begins_with(sk, :v)", "B#", ["B#1", "B#2"]],
      ["begins_with(sk, :v)", "1", ["1", "10"]],
      ["sk < :v", "10", ["!", "1"]],
      ["sk < :v", "11", ["!", "1", "10"]],
      ["sk > :v", "a", ["\u00e9", "\uffee", "\u{1f600}"]],
      ["sk > :v", "B#1", ["B#2", "a", "\u00e9", "\uffee", "\u{1f600}"]],
    ])("where %s (%s)", async (condition, value, keys) => {
      const pk = await filled();
      const given = {
        KeyConditionExpression: `#pk = :pk AND ${condition}`,
        ExpressionAttributeValues: { ":v": value },
      };
      expect(keysIn(await query(pk, given))).toEqual(keys);
    });

    test("gives pages of the limit, the last of which may be empty", async () => {
      const pk = aPartition();
      await putAll(["1", "2", "3", "4"].map((sk) => ({ pk, sk })));
      expect(await query(pk, { Limit: 3 })).toEqual({
        Items: ["1", "2", "3"].map((sk) => ({ pk, sk })),
        Count: 3,
        ScannedCount: 3,
        LastEvaluatedKey: { pk, sk: "3" },
      });
      expect(await query(pk, { Limit: 3, ExclusiveStartKey: { pk, sk: "3" } })).toEqual({
        Items: [{ pk, sk: "4" }],
        Count: 1,
        ScannedCount: 1,
      });
      expect(await query(pk, { Limit: 4 })).toMatchObject({ Count: 4, LastEvaluatedKey: { pk, sk: "4" } });
      expect(await query(pk, { Limit: 4, ExclusiveStartKey: { pk, sk: "4" } })).toEqual({
        Items: [],
        Count: 0,
        ScannedCount: 0,
      });
      // A key that is not there, such as of an item that was deleted meanwhile.
      expect(keysIn(await query(pk, { ExclusiveStartKey: { pk, sk: "25" } }))).toEqual(["3", "4"]);
    });

    test("gives at most 1 MB a page", async () => {
      const pk = aPartition();
      const text = "x".repeat(390 * 1024);
      await putAll(["1", "2", "3", "4"].map((sk) => ({ pk, sk, text })));
      const first = await query(pk);
      expect(first).toMatchObject({ Count: 3, LastEvaluatedKey: { pk, sk: "3" } });
      expect(keysIn(await query(pk, { ExclusiveStartKey: { pk, sk: "3" } }))).toEqual(["4"]);
    });

    test("of the index gives the keys of an owner, eventually", async () => {
      const pk = aPartition();
      const owner = `${pk}-owner`;
      await putAll([
        { pk, sk: "1", [TABLE.ownerAttribute]: owner, a: 1 },
        { pk, sk: "2" },
      ]);
      const byOwner = {
        IndexName: TABLE.ownerIndex,
        ExpressionAttributeNames: { "#pk": TABLE.ownerAttribute },
      };
      const found = async (): Promise<unknown> => {
        const result = await query(owner, { ...byOwner, ConsistentRead: false });
        return result;
      };
      for (let tries = 0; tries < 50; tries += 1) {
        if ((keysIn(await found()) as readonly unknown[]).length > 0) break;
        await sleep(20);
      }
      expect(await found()).toEqual({
        Items: [{ pk, sk: "1", [TABLE.ownerAttribute]: owner }],
        Count: 1,
        ScannedCount: 1,
      });
      expect(await query(owner, byOwner)).toBe("ValidationException");
    });
  });

  describe("a scan", () => {
    const scan = (more: object) =>
      table().client.send(new ScanCommand({ ...named(), ConsistentRead: true, ...more }));

    test("filters after it reads, and gives the attributes that it names", async () => {
      const prefix = aPartition();
      await putAll([
        { pk: `${prefix}a`, sk: "1", a: 1, b: 2 },
        { pk: `${prefix}a`, sk: "2", a: 1 },
        { pk: `${prefix}b`, sk: "1", a: null },
      ]);
      const filter = {
        FilterExpression: "begins_with(pk, :prefix) AND begins_with(sk, :one) AND #a = :a",
        ProjectionExpression: "pk, #b",
        ...namesIn("#a #b"),
        ExpressionAttributeValues: { ":prefix": prefix, ":one": "1", ":a": 1 },
      };
      const found: Item[] = [];
      let scanned = 0;
      let from: Item | undefined;
      do {
        const page = await scan({ ...filter, ...(from !== undefined && { ExclusiveStartKey: from }) });
        found.push(...(page.Items ?? []));
        scanned += page.ScannedCount ?? 0;
        from = page.LastEvaluatedKey;
      } while (from !== undefined);
      expect(found).toEqual([{ pk: `${prefix}a`, b: 2 }]);
      expect(scanned).toBe((await table().items()).length);
    });

    test("gives each item once in pages, partition by partition", async () => {
      const keys: string[] = [];
      let from: Item | undefined;
      do {
        const page = await scan({ Limit: 7, ...(from !== undefined && { ExclusiveStartKey: from }) });
        expect(page.ScannedCount).toBeLessThanOrEqual(7);
        keys.push(...(page.Items ?? []).map(({ pk, sk }) => JSON.stringify([pk, sk])));
        from = page.LastEvaluatedKey;
      } while (from !== undefined);
      const all = (await table().items()).map(({ pk, sk }) => JSON.stringify([pk, sk]));
      expect([...keys].sort()).toEqual([...all].sort());
      const order = keys.map((key) => String(JSON.parse(key)[0]));
      expect(order.filter((pk, index) => pk !== order[index - 1])).toEqual([...new Set(order)]);
    });
  });

  test("a consistent read sees what another client has just written", async () => {
    const pk = aPartition();
    const other = table().connect();
    for (let n = 1; n <= 5; n += 1) {
      await table().client.send(new PutCommand({ ...named(), Item: { pk, sk: "S", n } }));
      const item = { pk, sk: "S", n };
      const Key = { pk, sk: "S" };
      const got = await other.send(new GetCommand({ ...named(), Key, ConsistentRead: true }));
      const batch = await other.send(
        new BatchGetCommand({ RequestItems: { [table().name]: { Keys: [Key], ConsistentRead: true } } }),
      );
      const queried = await other.send(
        new QueryCommand({
          ...named(),
          KeyConditionExpression: "#pk = :pk",
          ExpressionAttributeNames: { "#pk": "pk" },
          ExpressionAttributeValues: { ":pk": pk },
          ConsistentRead: true,
        }),
      );
      const together = await other.send(
        new TransactGetCommand({ TransactItems: [{ Get: { ...named(), Key } }] }),
      );
      expect([
        got.Item,
        batch.Responses?.[table().name],
        queried.Items,
        together.Responses?.map(({ Item }) => Item),
      ]).toEqual([item, [item], [item], [item]]);
    }
    other.destroy();
  });

  describe("a value", () => {
    test("comes back as it was stored, and is a copy", async () => {
      const key = { pk: aPartition(), sk: "S" };
      const item = { ...key, a: "", b: -1.5, c: 1e15, d: [], e: {}, f: [[{ g: null }], false], "h i": "j" };
      const given = structuredClone(item);
      await put(given);
      given.f.push(true);
      expect(await read(key)).toEqual(item);
    });
    test("that is undefined is left out", async () => {
      const key = { pk: aPartition(), sk: "S" };
      expect(await put({ ...key, value: undefined })).toEqual({});
      expect(await read(key)).toEqual(key);
    });
    test.each<[what: string, value: unknown]>([
      ["undefined in another", { a: [undefined] }],
      ["not a number", Number.NaN],
      ["infinite", Infinity],
    ])("that is %s is refused", async (_, value) => {
      const key = { pk: aPartition(), sk: "S" };
      expect(await put({ ...key, value })).toBe("Error");
      expect(await read(key)).toBeUndefined();
    });
    test("of more than 400 KB is refused", async () => {
      const key = { pk: aPartition(), sk: "S" };
      const rest = Buffer.byteLength(`pk${key.pk}skStext`);
      const item = (bytes: number) => ({ ...key, text: "x".repeat(bytes - rest) });
      expect(await put(item(400 * 1024 + 1))).toBe("ValidationException");
      expect(await put(item(400 * 1024))).toEqual({});
    });
  });
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
    { client, name: TableName }: TestTable,
    pk: string,
    one: typeof request extends fc.Arbitrary<infer One> ? One : never,
  ): Promise<unknown> => {
    const writes = one.writes.map((each) => writeTo(TableName, pk, each));
    const [first] = writes;
    if (one.how === "page")
      return resultOf(
        client.send(
          new QueryCommand({
            TableName,
            KeyConditionExpression: "#pk = :pk AND sk > :after",
            ExpressionAttributeNames: { "#pk": "pk" },
            ExpressionAttributeValues: { ":pk": `${pk}A`, ":after": one.writes[0].key.sk },
            Limit: one.limit,
            ConsistentRead: true,
          }),
        ),
      );
    if (one.how === "transaction" || first === undefined || first.ConditionCheck !== undefined)
      return resultOf(client.send(new TransactWriteCommand({ TransactItems: writes })));
    if (first.Put !== undefined) return resultOf(client.send(new PutCommand(first.Put)));
    if (first.Delete !== undefined) return resultOf(client.send(new DeleteCommand(first.Delete)));
    return resultOf(
      client.send(new UpdateCommand({ ReturnValues: "ALL_NEW", ...(first.Update as UpdateCommandInput) })),
    );
  };

  test(
    "have the same results and leave the same items on both",
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), async (requests) => {
          const pk = aPartition();
          const both = [tables.memory, tables["DynamoDB Local"]].filter((one) => one !== undefined);
          for (const one of requests) {
            const [inMemory, local] = await Promise.all(both.map((table) => send(table, pk, one)));
            expect(inMemory).toEqual(local);
          }
          const [inMemory, local] = await Promise.all(both.map((table) => table.items(pk)));
          expect(inMemory).toEqual(local);
        }),
        cases(40, 2_000),
      ),
    TIMEOUT,
  );
});
