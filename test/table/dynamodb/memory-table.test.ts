import { PLAIN_NAMES, type Item } from "../../../testing/support/table/expressions.ts";
import { bothTables, namesIn, requestsTo } from "./both-tables.ts";

const { aPartition, alike } = bothTables();

const REFUSED = "ConditionalCheckFailedException";
const INVALID = "ValidationException";
const ALL_OLD = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

const many = (pk: string, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ pk, sk: `S${index}` }));

describe("a condition", () => {
  const STORED = { text: "b", number: 2, none: null, flag: true, list: ["a", 1], map: { a: 1, b: 2 } };
  test.each<[expression: string, ...values: unknown[]]>([
    ["attribute_exists(#none)"],
    ["attribute_exists(#missing)"],
    ["attribute_not_exists(#missing)"],
    ...[2, "2"].map((value): [string, unknown] => ["#number = :v", value]),
    ["#text = :v", "b"],
    ["#none = :v", null],
    ["#flag = :v", true],
    ...[
      ["a", 1],
      [1, "a"],
    ].map((value): [string, unknown] => ["#list = :v", value]),
    ["#map = :v", { b: 2, a: 1 }],
    ...[1, 2].map((value): [string, unknown] => ["#map.#a = :v", value]),
    ...["map.#missing", "none.#a", "missing.#a", "text.#a"].map((name): [string, unknown] => [
      `#${name} <> :v`,
      1,
    ]),
    ["#missing = :v", null],
    ...[2, "2"].map((value): [string, unknown] => ["#number <> :v", value]),
    ["#missing <> :v", 2],
    ...[3, 2, 10, "3"].map((value): [string, unknown] => ["#number < :v", value]),
    ["#number <= :v", 2],
    ...[1, "1"].map((value): [string, unknown] => ["#number > :v", value]),
    ["#number >= :v", 2],
    ["#missing <= :v", 2],
    ["#missing > :v", 0],
    ...["c", "ab"].map((value): [string, unknown] => ["#text < :v", value]),
    ["#text >= :v", "B"],
    ...["b", "bc"].map((value): [string, unknown] => ["begins_with(#text, :v)", value]),
    ["begins_with(#number, :v)", "2"],
    ["begins_with(#missing, :v)", "b"],
    ...["b", "c"].map((value): [string, ...unknown[]] => ["#number = :v AND #text = :w", 2, value]),
    ["#number = :v OR #text = :w", 3, "b"],
    ["#number = :v OR #text = :w AND #flag = :x", 2, "c", false],
    ["(#number = :v OR #text = :w) AND #flag = :x", 2, "c", false],
    [
      "(attribute_not_exists(#missing) OR #missing <= :v) AND (attribute_not_exists(#text) OR #text = :w)",
      1,
      "b",
    ],
  ])("%s holds alike alone, in a transaction and for a deletion: %j %j", async (expression, ...values) => {
    const key = { pk: aPartition(), sk: "S" };
    const given = Object.fromEntries(values.map((value, index) => [`:${"vwx"[index]}`, value]));
    const Item = { ...key, ...STORED };
    const outcome = await alike(async (table) => {
      const { alone, put, read, TableName } = requestsTo(table);
      const condition = {
        TableName,
        ConditionExpression: expression,
        ...namesIn(expression),
        ...(values.length > 0 && { ExpressionAttributeValues: given }),
      };
      await put(Item);
      return [
        await alone({ Put: { ...condition, Item } }),
        await alone({ ConditionCheck: { ...condition, Key: key } }),
        await alone({ Delete: { ...condition, Key: key } }),
        await read(key),
      ];
    });
    const refused = [REFUSED, ["ConditionalCheckFailed"], REFUSED, { Item }];
    expect([[{}, {}, {}, {}], refused]).toContainEqual(outcome);
  });

  test.each([...PLAIN_NAMES])("names %s without a placeholder: it is no reserved word", async (name) => {
    const put = { Item: { pk: aPartition(), sk: "S" }, ConditionExpression: `attribute_not_exists(${name})` };
    const puts = alike((table) => requestsTo(table).alone({ Put: { TableName: table.name, ...put } }));
    expect(await puts).toEqual({});
  });
});

describe("an update", () => {
  test.each<[before: Item | null, expression: string, given: Item | null]>([
    [{ a: 1 }, "SET #a = :a, #b = :b", { ":a": null, ":b": { c: [1] } }],
    [{ a: 1, b: 2 }, "REMOVE #a, #missing", null],
    [{ a: 1, b: 2 }, "REMOVE #a, #b ADD #n :one", { ":one": 1 }],
    [{ a: 1, n: 2 }, "SET #a = :a ADD #n :one", { ":a": 5, ":one": -3 }],
    [{ n: 2 }, "SET #a = :a REMOVE #n", { ":a": "x" }],
    [{}, "ADD #n :one, #m :two", { ":one": 1, ":two": 2 }],
    [{ a: 1 }, "SET #a = if_not_exists(#a, :a), #b = if_not_exists(#b, :a)", { ":a": 9 }],
    [{ a: null }, "SET #a = if_not_exists(#a, :a)", { ":a": 9 }],
    [null, "SET #a = :a", { ":a": 1 }],
    [null, "REMOVE #a", null],
    [null, "ADD #n :one", { ":one": 1 }],
  ])("of %j leaves the same alone and in a transaction: %s", async (before, UpdateExpression, given) => {
    const keys = ["alone", "together"].map((sk) => ({ pk: aPartition(), sk }));
    const values = given === null ? {} : { ExpressionAttributeValues: given };
    const updated = await alike(async (table) => {
      const { put, alone, transact, read, TableName } = requestsTo(table);
      if (before !== null) for (const key of keys) await put({ ...key, ...before });
      const [one, other] = keys.map((Key) => ({
        Update: { TableName, Key, UpdateExpression, ...namesIn(UpdateExpression), ...values },
      }));
      expect([await alone(one ?? {}), await transact([other ?? {}])]).toEqual([{}, {}]);
      return Promise.all(keys.map(read));
    });
    expect(updated).toEqual([{ Item: expect.objectContaining(keys[0] ?? {}) }, expect.anything()]);
  });

  test("whose condition fails changes nothing, and can return the item", async () => {
    const key = { pk: aPartition(), sk: "S" };
    const update = {
      Key: key,
      UpdateExpression: "SET #a = :a",
      ConditionExpression: "#a = :old",
      ...namesIn("#a"),
      ExpressionAttributeValues: { ":old": 2, ":a": 3 },
    };
    const results = await alike(async (table) => {
      const { put, alone, read, TableName } = requestsTo(table);
      const returning = () => alone({ Update: { TableName, ...update, ...ALL_OLD } });
      const missing = await returning();
      await put({ ...key, a: 1, text: "t", list: [true, null], map: { b: "c" } });
      return [missing, await alone({ Update: { TableName, ...update } }), await returning(), await read(key)];
    });
    const [unchanged, returned] = [expect.objectContaining({ a: 1 }), [REFUSED, expect.anything()]];
    expect(results).toEqual([REFUSED, REFUSED, returned, { Item: unchanged }]);
  });
});

/** Requests of one kind, on items of a partition; the two tables answer and hold the same. */
type Case = (requests: ReturnType<typeof requestsTo>, pk: string) => Promise<unknown>;

const absent = { ConditionExpression: "attribute_not_exists(pk)" };
const present = { ConditionExpression: "attribute_exists(pk)" };
const puts = ({ TableName }: { readonly TableName: string }, items: readonly Item[]) =>
  items.map((Item) => ({ Put: { TableName, Item } }));
const putting = (Item: Item) => ({ PutRequest: { Item } });
const text = (bytes: number) => "x".repeat(bytes);

test.each<[what: string, run: Case, contains: unknown]>([
  [
    "a transaction writes all of its items",
    async ({ TableName, transact }, pk) =>
      transact([
        { Put: { TableName, Item: { pk, sk: "1", b: 2 } } },
        { Delete: { TableName, Key: { pk, sk: "2" } } },
        { Delete: { TableName, Key: { pk, sk: "never there" } } },
        { ConditionCheck: { TableName, Key: { pk, sk: "3" }, ...present } },
      ]),
    {},
  ],
  [
    "a transaction writes nothing where a condition fails, and gives each reason",
    async ({ TableName, transact }, pk) =>
      transact([
        { Put: { TableName, Item: { pk, sk: "new" }, ...absent } },
        { Put: { TableName, Item: { pk, sk: "1" }, ...absent, ...ALL_OLD } },
        { Delete: { TableName, Key: { pk, sk: "missing" }, ...present, ...ALL_OLD } },
      ]),
    "None",
  ],
  ["a transaction has an item", ({ transact }) => transact([]), INVALID],
  [
    "a transaction has no item twice",
    (to, pk) =>
      to.transact(
        puts(
          to,
          [1, 1].map(() => ({ pk, sk: "1" })),
        ),
      ),
    INVALID,
  ],
  ["a transaction has at most 100 items", (to, pk) => to.transact(puts(to, many(pk, 101))), INVALID],
  ["a transaction may have 100 items", (to, pk) => to.transact(puts(to, many(pk, 100))), {}],
  [
    "a transaction reads items in the order in which they are named",
    ({ readTogether }, pk) =>
      readTogether([
        { pk, sk: "2" },
        { pk, sk: "missing" },
        { pk, sk: "1", ProjectionExpression: "pk, #a, #d", ...namesIn("#a #d") },
      ]),
    expect.anything(),
  ],
  [
    "a transaction reads no item twice",
    ({ readTogether }, pk) => readTogether([1, 1].map(() => ({ pk, sk: "1" }))),
    INVALID,
  ],
  [
    "a batch of reads skips missing items",
    ({ readAll }, pk) => readAll(["2", "4", "1"].map((sk) => ({ pk, sk }))),
    expect.anything(),
  ],
  ["a batch reads no item twice", ({ readAll }, pk) => readAll([1, 1].map(() => ({ pk, sk: "1" }))), INVALID],
  ["a batch reads at most 100 items", ({ readAll }, pk) => readAll(many(pk, 101)), INVALID],
  ["a batch may read 100 items", ({ readAll }, pk) => readAll(many(pk, 100)), expect.anything()],
  [
    "a batch of writes replaces and deletes",
    ({ writeAll }, pk) =>
      writeAll([
        putting({ pk, sk: "1", b: 2 }),
        ...["2", "4"].map((sk) => ({ DeleteRequest: { Key: { pk, sk } } })),
      ]),
    { UnprocessedItems: {} },
  ],
  [
    "a batch writes no item twice",
    ({ writeAll }, pk) => writeAll([1, 1].map(() => putting({ pk, sk: "4" }))),
    INVALID,
  ],
  ["a batch writes at most 25 items", ({ writeAll }, pk) => writeAll(many(pk, 26).map(putting)), INVALID],
  [
    "a batch may write 25 items",
    ({ writeAll }, pk) => writeAll(many(pk, 25).map(putting)),
    { UnprocessedItems: {} },
  ],
  [
    "values come back as they were stored",
    ({ put }, pk) =>
      put({ pk, sk: "4", a: "", b: -1.5, c: 1e15, d: [], e: {}, f: [[{ g: null }], false], "h i": "j" }),
    {},
  ],
  ["an undefined attribute is left out", ({ put }, pk) => put({ pk, sk: "4", value: undefined }), {}],
  ["undefined within a value is refused", ({ put }, pk) => put({ pk, sk: "4", value: [undefined] }), "Error"],
  ["what is no number is refused", ({ put }, pk) => put({ pk, sk: "4", value: Number.NaN }), "Error"],
  [
    "more than 400 KB are refused",
    ({ put }, pk) => put({ pk, sk: "4", t: text(400 * 1024 - pk.length - 5) }),
    INVALID,
  ],
  ["400 KB are stored", ({ put }, pk) => put({ pk, sk: "4", t: text(400 * 1024 - pk.length - 6) }), {}],
])("%s", async (_, run, contains) => {
  const pk = aPartition();
  const [result] = (await alike(async (table) => {
    const requests = requestsTo(table);
    await requests.putAll([
      { pk, sk: "1", a: 1, b: 2, c: 3 },
      { pk, sk: "2", a: 4 },
      { pk, sk: "3" },
    ]);
    return [await run(requests, pk), await requests.items(pk)];
  })) as [unknown, Item[]];
  expect(Array.isArray(result) ? result : [result]).toContainEqual(contains);
});
