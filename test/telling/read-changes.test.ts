import { DeleteCommand } from "@aws-sdk/lib-dynamodb";
import type { ChangesPage } from "../../lib/contract/schemas.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { readChanges } from "../../lib/telling/read-changes.ts";
import { createFeedTable } from "../../lib/table/telling/changes.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { byCredential, createToldWorld, owned, refusal } from "../../testing/support/world.ts";

const table = await createUseCaseTable();
afterAll(() => table.remove());

const short = ({ changes }: ChangesPage) =>
  changes.map(({ applicationAccountIdentifier, version }) => `${applicationAccountIdentifier} ${version}`);

/** The feed of an application, which was told of these accounts. */
const aFeed = async (...accounts: readonly string[]) => {
  const told = createToldWorld(table);
  /** Tells of accounts that time does not change, each in a transaction of its own. */
  const tellOf = async (some: readonly string[], moment = NOW): Promise<void> => {
    for (const account of some) {
      await told.world.store({ purchases: [owned(account, { endsAt: null })] }, byCredential(account));
      await told.tell(moment);
    }
  };
  const page = async (
    request: { after?: string; limit?: number } = {},
    moment = NOW,
    identifier = told.world.application.identifier,
  ): Promise<ChangesPage> =>
    readChanges({ feed: createFeedTable(table), now: () => moment }, identifier, request);
  await tellOf(accounts);
  return { told, tellOf, page };
};

test("every change is answered in its order, page by page, across days", async () => {
  const { told, tellOf, page } = await aFeed("a", "b");
  const later = NOW + 20 * DAY;
  await tellOf(["c"], later);
  const first = await page({ limit: 2 }, later);
  expect(short(first)).toEqual(["a 1", "b 1"]);
  const second = await page({ after: first.next, limit: 2 }, later);
  expect(second.changes).toEqual([
    { ...(await told.changes())[2], timestamp: isoTime(later), cursor: second.next },
  ]);
  expect(short(await page({ after: first.changes[0]?.cursor ?? "" }, later))).toEqual(["b 1", "c 1"]);
});

test("the last cursor answers an empty list and itself, until more follows", async () => {
  const { tellOf, page } = await aFeed();
  for (const [index, account] of ["a", "b"].entries()) {
    const { next } = await page();
    expect(await page({ after: next })).toEqual({ changes: [], next });
    await tellOf([account]);
    expect(short(await page({ after: next }))).toEqual([`${account} 1`]);
    expect((await page()).changes).toHaveLength(index + 1);
  }
});

test.each([0, 1, 2])("what follows a change %i that is not whole yet is left for later", async (missing) => {
  const { told, page } = await aFeed();
  for (const account of ["a", "b", "c"])
    await told.world.store({ purchases: [owned(account)] }, byCredential(account));
  await told.tell();
  const items = await told.itemsOf("#CHANGES#");
  const { pk, sk } = items.find(({ sequence }) => sequence === missing + 1) ?? {};
  await table.client.send(new DeleteCommand({ TableName: table.name, Key: { pk, sk } }));
  const found = await page();
  expect(found.changes).toHaveLength(missing);
  // Nothing is passed over: the cursor leads to the missing one.
  expect(await page({ after: found.next })).toEqual({ changes: [], next: found.next });
});

describe("a cursor", () => {
  test("older than what is kept has expired", async () => {
    const { tellOf, page } = await aFeed("a", "b");
    const after = (await page()).changes[0]?.cursor ?? "";
    await tellOf(["c"], NOW + 40 * DAY);
    for (const days of [40, 80])
      expect(await refusal(page({ after }, NOW + days * DAY))).toBe("CURSOR_EXPIRED");
  });
  test("however old is good where nothing was told in between", async () => {
    const { tellOf, page } = await aFeed("a");
    const { next } = await page();
    expect(await page({ after: next }, NOW + 400 * DAY)).toEqual({ changes: [], next });
    await tellOf(["b"], NOW + 400 * DAY);
    expect(short(await page({ after: next }, NOW + 400 * DAY))).toEqual(["b 1"]);
  });
  test("is missing: the oldest kept change comes first", async () => {
    const { tellOf, page } = await aFeed("a");
    await tellOf(["b"], NOW + 40 * DAY);
    expect(short(await page({}, NOW + 40 * DAY))).toEqual(["b 1"]);
    const last = await page({}, NOW + 90 * DAY);
    expect(last.changes).toEqual([]);
    await tellOf(["c"], NOW + 90 * DAY);
    expect(short(await page({ after: last.next }, NOW + 90 * DAY))).toEqual(["c 1"]);
  });
  const encoded = ["2026-06-15 01", "2026-13-45 1", "2026-06-15 00"].map((text) =>
    Buffer.from(text).toString("base64url"),
  );
  test.each(["x", "2026-06-15 1", ...encoded])("%j is not one", async (after) => {
    const { page } = await aFeed("a");
    expect(await refusal(page({ after }))).toBe("INVALID_REQUEST");
  });
});

test("a follower behind during an erasure sees no customer in two accounts", async () => {
  const { told, page } = await aFeed();
  const { world } = told;
  const erased = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const moved = await world.store({ purchases: [owned("2", { endsAt: null })] }, byCredential("a"));
  await told.tell();
  const { next: after } = await page();
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
  const { changes } = await page({ after });
  for (const { applicationAccountIdentifier: account, customerIdentifiers } of changes) {
    states.set(account, customerIdentifiers);
    const customers = [...states.values()].flat();
    expect(new Set(customers).size).toBe(customers.length);
  }
  expect(short({ changes, next: "" })).toEqual(["a 2", "b 1", "a 3"]);
  expect(JSON.stringify(await page())).not.toContain(erased?.identifier);
});

test("no application reads another's changes", async () => {
  const { page } = await aFeed("a");
  const other = applicationId("0198c0de-0000-7000-8000-000000000002");
  expect((await page({}, NOW, other)).changes).toEqual([]);
});
