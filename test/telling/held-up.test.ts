import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { MINUTE } from "../../lib/duration.ts";
import { accountId, applicationId, customerId, type ApplicationId } from "../../lib/identifiers.ts";
import { createChangeTable } from "../../lib/table/telling/changes.ts";
import { keys } from "../../lib/table/keys.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { byCredential, createToldWorld, keyedHash, owned } from "../../testing/support/world.ts";

const table = await createUseCaseTable();
afterAll(() => table.remove());

/** A world with a purchase of each account, of which nothing was told yet. */
const untold = async (...accounts: readonly string[]) => {
  const told = createToldWorld(table);
  for (const account of accounts)
    await told.world.store({ purchases: [owned(account)] }, byCredential(account));
  const toldAccounts = async () =>
    (await told.changes()).map((change) => change?.applicationAccountIdentifier).toSorted();
  return { told, toldAccounts };
};

test("an account that fails holds up no other, reported once", async () => {
  const { told, toldAccounts } = await untold("a", "bad", "c", "d", "e");
  const { identifier } = told.world.application;
  const key = keys.accountCustomer(identifier, accountId("bad"), customerId("spoiled"));
  await table.client.send(new PutCommand({ TableName: table.name, Item: { ...key, customer: 1 } }));
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  expect(await told.tell(NOW + 1000, { onFailure })).toEqual({ told: 4, oldest: 1000 });
  expect(failures).toHaveLength(1);
  expect(await toldAccounts()).toEqual(["a", "c", "d", "e"]);
  await told.tell(NOW, { onFailure });
  expect(failures).toHaveLength(2);
});

test("an account that is written all the time holds up no other", async () => {
  const { told, toldAccounts } = await untold("a", "busy", "c");
  const changes = createChangeTable(table, keyedHash);
  const areApplied: typeof changes.areApplied = async (application, looks) =>
    looks.every(({ account }) => account !== "busy") && changes.areApplied(application, looks);
  let moment = NOW;
  // Time passes, so that the turn ends.
  const passing = { now: () => moment, wait: async () => void (moment += 500) };
  await told.tell(NOW, { changes: { ...changes, areApplied }, ...passing }, NOW + 10_000);
  expect(await toldAccounts()).toEqual(["a", "c"]);
  await told.tell();
  expect(await toldAccounts()).toEqual(["a", "busy", "c"]);
});

test("where runs are too short, each application has its turn later", async () => {
  const names = Array.from({ length: 47 }, () => applicationId(uuid()));
  const { told } = await untold();
  const seen = new Set<string>();
  for (let moment = NOW; moment < NOW + names.length * MINUTE; moment += MINUTE) {
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
