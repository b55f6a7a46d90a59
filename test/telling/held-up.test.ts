import { PutCommand } from "@aws-sdk/lib-dynamodb";
import type { TellingRun } from "../../lib/telling/tell-changes.ts";
import { v7 as uuid } from "uuid";
import { deliverMessages, type DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { accountId, applicationId, customerId, type ApplicationId } from "../../lib/identifiers.ts";
import { createChangeTable } from "../../lib/table/telling/changes.ts";
import { chunks } from "../../lib/chunks.ts";
import { keys } from "../../lib/table/keys.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import { lookWrite } from "../../lib/table/telling/looks.ts";
import { transact } from "../../lib/table/dynamodb/transactions.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import { createUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import {
  byCredential,
  createToldWorld,
  keyedHash,
  owned,
  requests,
  type ToldWorld,
} from "../../testing/support/world.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(() => table.remove());

const pause = () => Promise.resolve();

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

test("nor do hundreds of looks at it", async () => {
  const told = createToldWorld(table);
  const { identifier } = told.world.application;
  await spoil(told, "bad");
  const looks = Array.from({ length: 700 }, (_, index) =>
    lookWrite(table.name, identifier, { account: accountId("bad"), dueAt: NOW - 1000 - index, cause: null }),
  );
  for (const some of chunks(looks, 100)) await transact(table, some);
  await store(told, ["a"]);
  const { onFailure } = collecting();
  await told.tell(NOW, { onFailure });
  expect(await toldAccounts(told)).toEqual(["a"]);
});

test("an account that is written all the time holds up no other", async () => {
  const told = createToldWorld(table);
  await store(told, ["a", "busy", "c"]);
  const changes = createChangeTable(table, pause, keyedHash);
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

test("large items are read few at once, within DynamoDB's 4 MB", async () => {
  const told = createToldWorld(table);
  const looks = Array.from({ length: 24 }, (_, index) => customerId(`customer-${index}`)).map((customer) => ({
    account: accountId("large"),
    dueAt: NOW,
    cause: { customer, version: 1, customers: [customer], erased: false },
  }));
  const changes = createChangeTable(table, pause, keyedHash);
  // Each of the 24 items may have 400 KB.
  const sent = await requests(table, () => changes.areApplied(told.world.application.identifier, looks));
  expect(sent).toEqual(["TransactGetItems", "TransactGetItems", "TransactGetItems"]);
});

describe("where a run is too short, each has its turn later:", () => {
  const names = Array.from({ length: 47 }, () => applicationId(uuid()));
  /** Runs each minute, with time for few. */
  const seenIn = async (
    run: (world: ToldWorld, moment: number, seen: Set<string>) => Promise<unknown>,
  ): Promise<number> => {
    const told = createToldWorld(table);
    const seen = new Set<string>();
    for (let minute = 0; minute < names.length; minute += 1) await run(told, NOW + minute * 60_000, seen);
    return seen.size;
  };

  test("applications", async () => {
    const count = await seenIn((told, moment, seen) => {
      let now = moment;
      const byIdentifier = (name: ApplicationId) => {
        now += 1;
        seen.add(name);
        return Promise.resolve(null);
      };
      const passing = { now: () => now, applications: () => Promise.resolve(names) };
      return told.tell(moment, { ...passing, directory: { byIdentifier } }, moment + 6);
    });
    expect(count).toBe(names.length);
  });

  test("destinations", async () => {
    const count = await seenIn((told, moment, seen) => {
      let now = moment;
      const queue = createDeliveryQueue(table, pause);
      const run: DeliveryRun = {
        directory: {
          byIdentifier: (identifier) => Promise.resolve({ ...told.world.application, identifier }),
        },
        queue: {
          ...queue,
          waiting: (reference, perPage) => {
            now += 1;
            seen.add(reference.application);
            return queue.waiting(reference, perPage);
          },
        },
        applications: () => Promise.resolve(names),
        send: () => Promise.resolve([]),
        newWorker: uuid,
        now: () => now,
        wait: pause,
        onFailure: (error) => {
          throw error;
        },
      };
      return deliverMessages(run, moment + 6);
    });
    expect(count).toBe(names.length);
  });
});
