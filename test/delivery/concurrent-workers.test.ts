import { createChangeTable } from "../../lib/table/telling/changes.ts";
import { createMemoryTable, type MemoryTable } from "../../testing/support/table/memory-table.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import {
  byCredential,
  createToldWorld,
  createWorld,
  keyedHash,
  owned,
  refunded,
  type ToldWorld,
} from "../../testing/support/world.ts";
import { delivererOf, pause } from "./delivering.ts";
import { DELIVERED, failedWith } from "./sending.ts";

/** An account of which a version waits, while a teller's transaction writes the next one. */
const whileTelling = async (act: (table: MemoryTable, told: ToldWorld) => Promise<void>): Promise<void> => {
  const table = createMemoryTable();
  const told = createToldWorld(table, createWorld(table));
  await told.world.store({ purchases: [owned("1")] }, byCredential("a"));
  await told.tell();
  await told.world.store({ purchases: [refunded("1")] });
  table.midway = async () => {
    table.midway = null;
    await act(table, told);
  };
  expect(await told.tell()).toMatchObject({ told: 1 });
  const delivery = (await told.itemsOf("#DESTINATION#")).find(({ sk }) => sk !== "HEALTH");
  expect(delivery).toMatchObject({ version: 2, tries: 0, nextTryAt: 0 });
};

describe("while the next version of an account is written", () => {
  test.each([
    [DELIVERED, { delivered: 1, failed: 0 }],
    [failedWith(500), { delivered: 0, failed: 1 }],
  ])("a deliverer that %j goes on, and the next version waits", (outcome, report) =>
    whileTelling(async (table, told) => {
      const deliver = delivererOf(table, told, NOW + 1);
      expect(await deliver(NOW, { send: async () => outcome, wait: pause, now: () => NOW })).toMatchObject(
        report,
      );
    }),
  );

  test("no other worker has the turn, even after its lease", () =>
    whileTelling(async (table, { world: { application } }) => {
      const changes = createChangeTable(table, keyedHash);
      const later = NOW + 3600_000;
      expect(await changes.take(application.identifier, { worker: "another", until: later + 1 }, later)).toBe(
        null,
      );
      await changes.release(application.identifier, { worker: "another" });
    }));
});
