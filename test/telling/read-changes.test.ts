import { DeleteCommand } from "@aws-sdk/lib-dynamodb";
import type { ChangesPage } from "../../lib/contract/schemas.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { readChanges } from "../../lib/telling/read-changes.ts";
import { createFeedTable } from "../../lib/table/telling/feed.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import {
  byCredential,
  createToldWorld,
  owned,
  refusal,
  type ToldWorld,
} from "../../testing/support/world.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(() => table.remove());

const reading = (now = NOW) => ({ feed: createFeedTable(table), now: () => now });

const page = async (
  { world }: ToldWorld,
  request: { after?: string; limit?: number } = {},
  now = NOW,
): Promise<ChangesPage> => readChanges(reading(now), world.application.identifier, request);

const short = ({ changes }: ChangesPage) =>
  changes.map(({ applicationAccountIdentifier, version }) => [applicationAccountIdentifier, version]);

/** Tells of accounts that time does not change, each in a transaction of its own. */
const tellOf = async (told: ToldWorld, accounts: readonly string[], moment = NOW): Promise<void> => {
  for (const account of accounts) {
    await told.world.store({ purchases: [owned(account, { endsAt: null })] }, byCredential(account));
    await told.tell(moment);
  }
};

const changeItems = async (told: ToldWorld) =>
  (await told.itemsOf("#CHANGES#")).toSorted((a, b) => Number(a["sequence"]) - Number(b["sequence"]));

test("every change is answered in its order, page by page, across days", async () => {
  const told = createToldWorld(table);
  await tellOf(told, ["a", "b"]);
  await tellOf(told, ["c"], NOW + 20 * DAY);
  const later = NOW + 20 * DAY;
  const first = await page(told, { limit: 2 }, later);
  expect(short(first)).toEqual([
    ["a", 1],
    ["b", 1],
  ]);
  const second = await page(told, { after: first.next, limit: 2 }, later);
  expect(second.changes).toEqual([
    { ...(await told.changes())[2], timestamp: isoTime(later), cursor: second.next },
  ]);
  expect(short(await page(told, { after: first.changes[0]?.cursor ?? "" }, later))).toEqual([
    ["b", 1],
    ["c", 1],
  ]);
});

test("the last cursor answers an empty list and itself, until more follows", async () => {
  const told = createToldWorld(table);
  for (const [index, account] of ["a", "b"].entries()) {
    const { next } = await page(told);
    expect(await page(told, { after: next })).toEqual({ changes: [], next });
    await tellOf(told, [account]);
    expect(short(await page(told, { after: next }))).toEqual([[account, 1]]);
    expect((await page(told)).changes).toHaveLength(index + 1);
  }
});

test.each([0, 1, 2])("what follows a change %i that is not whole yet is left for later", async (missing) => {
  const told = createToldWorld(table);
  for (const account of ["a", "b", "c"])
    await told.world.store({ purchases: [owned(account)] }, byCredential(account));
  await told.tell();
  const { pk, sk } = (await changeItems(told))[missing] ?? {};
  await table.client.send(new DeleteCommand({ TableName: table.name, Key: { pk, sk } }));
  const found = await page(told);
  expect(found.changes).toHaveLength(missing);
  // Nothing is passed over: the cursor leads to the missing one.
  expect(await page(told, { after: found.next })).toEqual({ changes: [], next: found.next });
});

describe("a cursor", () => {
  test("older than what is kept has expired", async () => {
    const told = createToldWorld(table);
    await tellOf(told, ["a", "b"]);
    const [first] = (await page(told)).changes;
    await tellOf(told, ["c"], NOW + 40 * DAY);
    const after = first?.cursor ?? "";
    expect(await refusal(page(told, { after }, NOW + 40 * DAY))).toBe("CURSOR_EXPIRED");
    expect(await refusal(page(told, { after }, NOW + 80 * DAY))).toBe("CURSOR_EXPIRED");
  });
  test("however old is good where nothing was told in between", async () => {
    const told = createToldWorld(table);
    await tellOf(told, ["a"]);
    const { next } = await page(told);
    expect(await page(told, { after: next }, NOW + 400 * DAY)).toEqual({ changes: [], next });
    await tellOf(told, ["b"], NOW + 400 * DAY);
    expect(short(await page(told, { after: next }, NOW + 400 * DAY))).toEqual([["b", 1]]);
  });
  test("is missing: the oldest kept change comes first", async () => {
    const told = createToldWorld(table);
    await tellOf(told, ["a"]);
    await tellOf(told, ["b"], NOW + 40 * DAY);
    expect(short(await page(told, {}, NOW + 40 * DAY))).toEqual([["b", 1]]);
    const last = await page(told, {}, NOW + 90 * DAY);
    expect(last.changes).toEqual([]);
    await tellOf(told, ["c"], NOW + 90 * DAY);
    expect(short(await page(told, { after: last.next }, NOW + 90 * DAY))).toEqual([["c", 1]]);
  });
  test.each([
    "x",
    "2026-06-15 1",
    ...["2026-06-15 01", "2026-13-45 1", "2026-06-15 00"].map((text) =>
      Buffer.from(text).toString("base64url"),
    ),
  ])("%j is not one", async (after) => {
    const told = createToldWorld(table);
    await tellOf(told, ["a"]);
    expect(await refusal(page(told, { after }))).toBe("INVALID_REQUEST");
  });
});

test("a follower behind during an erasure sees no customer in two accounts", async () => {
  const told = createToldWorld(table);
  const { world } = told;
  const erased = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const moved = await world.store({ purchases: [owned("2", { endsAt: null })] }, byCredential("a"));
  await told.tell();
  const { next: after } = await page(told);
  await world.unlink(moved, "b");
  await told.tell();
  await world.erase(erased);
  await told.tell();
  // Completing an erasure that broke off takes nothing more away.
  await world.erase(erased);
  await told.tell();

  const states = new Map<string, readonly (string | undefined)[]>([
    ["a", [erased?.identifier, moved?.identifier]],
  ]);
  const { changes } = await page(told, { after });
  for (const { applicationAccountIdentifier: account, customerIdentifiers } of changes) {
    states.set(account, customerIdentifiers);
    const customers = [...states.values()].flat();
    expect(new Set(customers).size).toBe(customers.length);
  }
  expect(short({ changes, next: "" })).toEqual([
    ["a", 2],
    ["b", 1],
    ["a", 3],
  ]);
  expect(JSON.stringify(await page(told))).not.toContain(erased?.identifier);
});

test("no application reads another's changes", async () => {
  const told = createToldWorld(table);
  await tellOf(told, ["a"]);
  const other = applicationId("0198c0de-0000-7000-8000-000000000002");
  expect((await readChanges(reading(), other, {})).changes).toEqual([]);
});
