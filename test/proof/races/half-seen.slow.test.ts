import fc from "fast-check";
import type { TransferPolicy } from "../../../lib/applications/application.ts";
import type { AccountCustomer } from "../../../lib/customers/storing/records.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { createWorld, device, owned, type World } from "../../../testing/support/world.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { transactionConflict } from "../../../testing/support/table/table.ts";
import { createMemoryTable, type MemoryTable } from "../../../testing/support/table/memory-table.ts";
import {
  ACCOUNTS,
  act,
  Crash,
  DEVICES,
  happening,
  MERGED,
  PURCHASES,
  stored,
  tableOf,
  unlessStopped,
  type Item,
  type Step,
} from "./happenings.ts";

/** Neither a Query nor a batch of reads is a snapshot. An account is read as it was before a change or after it. */

const history = (failure: fc.Arbitrary<Step["failure"]>): fc.Arbitrary<Step[]> =>
  fc
    .tuple(
      fc.constantFrom([], MERGED),
      fc.array(fc.record({ happening, failure }), { minLength: 1, maxLength: 8 }),
    )
    .map(([before, steps]) => [...before, ...steps]);

/** The table's items before each transaction of a step, and after the last. */
const statesDuring = async (
  world: World,
  table: MemoryTable,
  { happening, failure }: Step,
): Promise<Item[][]> => {
  const states: Item[][] = [];
  let sent = 0;
  table.turn = async (command) => {
    if (command !== "TransactWriteItemsCommand") return;
    if (happening.does !== "expire" && failure?.at === sent++)
      throw failure.as === "crash" ? new Crash() : transactionConflict();
    states.push(await table.items());
  };
  await unlessStopped(act(world, table, happening));
  table.turn = () => Promise.resolve();
  return [...states, await table.items()];
};

const nameOf = ({ pk, sk }: Item): string => JSON.stringify([pk, sk]);
const isOfAccount = ({ pk }: Item): boolean => String(pk).includes("#ACCOUNT#");

/** Every possible view of the accounts during a transaction: each changed item is old or new. */
const seenBetween = (before: readonly Item[], after: readonly Item[]): Item[][] => {
  const [old, young] = [before, after].map(
    (items) => new Map(items.filter(isOfAccount).map((item) => [nameOf(item), item])),
  );
  const changed = [...new Set([...(old?.keys() ?? []), ...(young?.keys() ?? [])])].filter(
    (name) => JSON.stringify(old?.get(name)) !== JSON.stringify(young?.get(name)),
  );
  return Array.from({ length: 2 ** changed.length }, (_, subset) => {
    const seen = new Map(old);
    for (const [index, name] of changed.entries()) {
      const item = young?.get(name);
      if ((subset & (1 << index)) === 0) continue;
      if (item === undefined) seen.delete(name);
      else seen.set(name, item);
    }
    return [...seen.values()];
  });
};

type Reading = readonly AccountCustomer[];

/** The customers of each account in a table with these items. */
const readingsOf = async ({ application }: World, items: readonly Item[]): Promise<Reading[]> => {
  const table = await tableOf(items.filter(isOfAccount));
  const customers = createCustomerTable(table);
  return Promise.all(ACCOUNTS.map((name) => customers.findAccount(application.identifier, accountId(name))));
};

const keysIn = (reading: Reading): string[] =>
  reading.flatMap(({ holdings }) => holdings.map(({ key }) => key));
const repeatedIn = (values: readonly string[]): string[] =>
  values.filter((value, index) => values.indexOf(value) < index);

/** As before, or as after. An account that several customers leave at once may be seen with some of them. */
const isOneOf = (before: Reading, after: Reading, seen: Reading): boolean => {
  const [old, young, now] = [before, after, seen].map((reading) => reading.map((one) => JSON.stringify(one)));
  const within = (some: string[] = [], all: string[] = []): boolean => some.every((one) => all.includes(one));
  const isEqual = (other: string[] = []): boolean => within(now, other) && within(other, now);
  const onlyLoses = within(young, old);
  return isEqual(old) || isEqual(young) || (onlyLoses && within(now, old) && within(young, now));
};

const expectReadsOf = async (world: World, states: readonly Item[][], { happening }: Step): Promise<void> => {
  const first = states[0] ?? [];
  // Time to live may delete these items at any time, so it must not change a reading.
  const last = (happening.does === "expire" ? first : states.at(-1)) ?? [];
  const [before, after] = [await readingsOf(world, first), await readingsOf(world, last)];
  for (const [index, state] of states.entries())
    for (const items of seenBetween(state, states[index + 1] ?? state)) {
      const readings = await readingsOf(world, items);
      expect(repeatedIn(readings.flatMap(keysIn))).toEqual([]);
      for (const [place, seen] of readings.entries())
        if (!isOneOf(before[place] ?? [], after[place] ?? [], seen))
          throw new Error(
            `${happening.does}: account ${ACCOUNTS[place]} reads neither as before nor as after: ${JSON.stringify(
              { before: before[place], after: after[place], seen },
            )}`,
          );
    }
};

/** Checks every reading during a history, and the invariants at its end. */
const expectHistory = async (transfers: TransferPolicy, steps: readonly Step[]): Promise<void> => {
  const table = createMemoryTable();
  const { application, with: change } = createWorld(table);
  const world = change({ application: { ...application, transfers } });
  for (const [index, step] of steps.entries())
    await expectReadsOf(world, await statesDuring(world.at(NOW + index), table, step), step);
  // The next request completes what a crash left half written.
  const everything = [
    ...PURCHASES.map((key) => ({ purchases: [owned(key)] })),
    ...DEVICES.map((name) => ({ identities: [device(name)] })),
  ];
  for (const facts of everything) await unlessStopped(world.submit(facts));
  // The erasure stops before the tombstones, so identities still name the customer.
  if (!steps.some(({ happening }) => happening.does === "erase"))
    expect(
      checkInvariants(await table.items(), { crashedMoves: steps.some(({ failure }) => failure !== null) }),
    ).toEqual([]);
};

const holds = (failure: fc.Arbitrary<Step["failure"]>) =>
  fc.asyncProperty(fc.constantFrom<TransferPolicy>("refuse", "always"), history(failure), expectHistory);

test("after a crashed move, time to live deletes nothing that counts", () =>
  expectHistory("refuse", [
    stored(["1"], "a"),
    stored(["2"], "a"),
    stored(["3"], "b", "client"),
    { ...stored(["1", "2", "3"], "a"), failure: { at: 1, as: "crash" } },
    { happening: { does: "expire", every: 1 }, failure: null },
  ]));

test(
  "an account reads as before or after a change, without duplicates",
  () => fc.assert(holds(fc.constant(null)), cases(90, 10_000)),
  TIMEOUT,
);

test.each(["conflict", "crash"] as const)(
  "the same holds when transactions fail (%s), and later requests complete them",
  (as) => fc.assert(holds(fc.option(fc.record({ at: fc.nat(2), as: fc.constant(as) }))), cases(90, 10_000)),
  TIMEOUT,
);
