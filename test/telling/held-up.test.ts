import { PutCommand } from "@aws-sdk/lib-dynamodb";
import type { TellingRun } from "../../lib/telling/tell-changes.ts";
import { v7 as uuid } from "uuid";
import { accountId, applicationId, customerId, type ApplicationId } from "../../lib/identifiers.ts";
import { createChangeTable } from "../../lib/table/telling/changes.ts";
import { keys } from "../../lib/table/keys.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import {
  byCredential,
  createToldWorld,
  keyedHash,
  owned,
  type ToldWorld,
} from "../../testing/support/world.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(() => table.remove());

const store = async ({ world }: ToldWorld, accounts: readonly string[]): Promise<void> => {
  for (const account of accounts) await world.store({ purchases: [owned(account)] }, byCredential(account));
};

const toldAccounts = async (told: ToldWorld): Promise<readonly (string | undefined)[]> =>
  (await told.changes()).map((change) => change?.applicationAccountIdentifier).toSorted();

/** Gives an account an item that nobody can read. */
const spoil = async ({ world: { application } }: ToldWorld, account: string): Promise<void> => {
  const key = keys.accountCustomer(application.identifier, accountId(account), customerId("spoiled"));
  await table.client.send(new PutCommand({ TableName: table.name, Item: { ...key, customer: 1 } }));
};

const collecting = () => {
  const failures: unknown[] = [];
  const onFailure: TellingRun["onFailure"] = (error) => void failures.push(error);
  return { failures, onFailure };
};

test("an account that fails holds up no other, reported once", async () => {
  const told = createToldWorld(table);
  await store(told, ["a", "bad", "c", "d", "e"]);
  await spoil(told, "bad");
  const { failures, onFailure } = collecting();
  expect(await told.tell(NOW + 1000, { onFailure })).toEqual({ told: 4, oldest: 1000 });
  expect(failures).toHaveLength(1);
  expect(await toldAccounts(told)).toEqual(["a", "c", "d", "e"]);
  await told.tell(NOW, { onFailure });
  expect(failures).toHaveLength(2);
});

test("an account that is written all the time holds up no other", async () => {
  const told = createToldWorld(table);
  await store(told, ["a", "busy", "c"]);
  const changes = createChangeTable(table, keyedHash);
  const busy: Partial<TellingRun> = {
    changes: {
      ...changes,
      areApplied: async (application, looks) =>
        looks.every(({ account }) => account !== "busy") && changes.areApplied(application, looks),
    },
  };
  let moment = NOW;
  // Time passes, so that the turn ends.
  const passing = { now: () => moment, wait: async () => void (moment += 500) };
  await told.tell(NOW, { ...busy, ...passing }, NOW + 10_000);
  expect(await toldAccounts(told)).toEqual(["a", "c"]);
  await told.tell();
  expect(await toldAccounts(told)).toEqual(["a", "busy", "c"]);
});

test("where runs are too short, each application has its turn later", async () => {
  const names = Array.from({ length: 47 }, () => applicationId(uuid()));
  const told = createToldWorld(table);
  const seen = new Set<string>();
  for (let minute = 0; minute < names.length; minute += 1) {
    const moment = NOW + minute * 60_000;
    let now = moment;
    const byIdentifier = (name: ApplicationId) => {
      now += 1;
      seen.add(name);
      return Promise.resolve(null);
    };
    const run = { now: () => now, applications: () => Promise.resolve(names), directory: { byIdentifier } };
    await told.tell(moment, run, moment + 6);
  }
  expect(seen.size).toBe(names.length);
});
