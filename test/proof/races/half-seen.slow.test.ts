import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import fc from "fast-check";
import { v7 as uuid } from "uuid";
import { auditEntry } from "../../../lib/administration/reports/audit.ts";
import type { TransferPolicy } from "../../../lib/applications/application.ts";
import { ServiceError } from "../../../lib/contract/errors.ts";
import { eachOnce, type AccountCustomer } from "../../../lib/customers/storing/customer-table.ts";
import type { StoredCustomer } from "../../../lib/customers/storing/records.ts";
import type { AssertedBy } from "../../../lib/contract/schemas.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { createWorld, device, owned, type World } from "../../../testing/support/world.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { createMemoryTable, type MemoryTable } from "../../../testing/support/table/memory-table.ts";
import { choice, type Made } from "../model/histories/choices.ts";

/**
 * Neither a Query nor a batch of reads is a snapshot: it may see some items of a transaction and not the others.
 * Whatever happens to customers meanwhile, an account is read as it was before or after.
 */

type Item = Readonly<Record<string, unknown>>;

const ACCOUNTS = ["a", "b", "c"] as const;
const PURCHASES = ["1", "2", "3", "4", "5"] as const;
const DEVICES = ["1", "2"] as const;

const account = choice(...ACCOUNTS);
const purchase = choice(...PURCHASES);
const happening = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      does: choice("store"),
      /** An app transaction id. */
      device: fc.option(choice(...DEVICES), { freq: 2 }),
      purchases: fc.subarray([...PURCHASES], { maxLength: 4 }),
      claim: fc.option(fc.record({ account, assertedBy: choice("credential", "credential", "client") }), {
        freq: 4,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: choice("unlink", "erase"), purchase }) },
  { weight: 2, arbitrary: fc.record({ does: choice("move"), purchase, to: account }) },
  /** Time to live deletes items that may expire: all of them, or every other one. */
  { weight: 1, arbitrary: fc.record({ does: choice("expire"), every: choice(1, 2) }) },
);
type Happening = Made<typeof happening>;

interface Step {
  readonly happening: Happening;
  /** The step's transaction that fails, from 0: by a crash, or by a conflicting write; null: none. */
  readonly failure: { readonly at: number; readonly as: "crash" | "conflict" } | null;
}

const stored = (
  purchases: (typeof PURCHASES)[number][],
  account?: (typeof ACCOUNTS)[number],
  assertedBy: AssertedBy = "credential",
): Step => {
  const claim = account === undefined ? null : { account, assertedBy };
  return { happening: { does: "store", device: null, purchases, claim }, failure: null };
};

/** Two merged customers of account a, the absorbed item still there; and a customer that a client claimed for b. */
const MERGED = [stored(["1"], "a"), stored(["2"], "a"), stored(["3"], "b", "client"), stored(["1", "2"])];

const history = (failure: fc.Arbitrary<Step["failure"]>): fc.Arbitrary<Step[]> =>
  fc
    .tuple(
      fc.constantFrom([], MERGED),
      fc.array(fc.record({ happening, failure }), { minLength: 1, maxLength: 8 }),
    )
    .map(([before, steps]) => [...before, ...steps]);

const ownerOf = async (
  { factStore: { table }, application }: World,
  key: string,
): Promise<StoredCustomer | null> => {
  const known = await table.findFacts(application.identifier, [], [owned(key)], NOW);
  const named = [...known.purchases.values()].map(({ customer }) => customer);
  const { living } = await table.findCustomers(application.identifier, named);
  return eachOnce(living)[0] ?? null;
};

const AUTHORITY = { by: "an operator", caller: null, reason: "a proof" };

const expire = async (table: MemoryTable, every: number): Promise<void> => {
  const expiring = (await table.items()).filter((item) => "expiresAt" in item);
  const TransactItems = expiring
    .filter((_, index) => index % every === 0)
    .map(({ pk, sk }) => ({ Delete: { TableName: table.name, Key: { pk, sk } } }));
  if (TransactItems.length > 0) await table.client.send(new TransactWriteCommand({ TransactItems }));
};

const act = async (world: World, table: MemoryTable, happens: Happening): Promise<unknown> => {
  if (happens.does === "expire") return expire(table, happens.every);
  if (happens.does === "store") {
    const { device: name, purchases, claim } = happens;
    return world.submit(
      { identities: name === null ? [] : [device(name)], purchases: purchases.map((key) => owned(key)) },
      claim && { ...claim, account: accountId(claim.account) },
    );
  }
  const customer = await ownerOf(world, happens.purchase);
  if (customer === null) return null;
  const resolved = { ...customer, toAcknowledge: null };
  if (happens.does === "unlink") return world.unlink(resolved);
  if (happens.does === "move") return world.unlink(resolved, happens.to);
  // The part of an erasure that changes the account; tombstones belong to no account.
  const { application, operations } = world;
  const entry = auditEntry("erase", operations.now(), AUTHORITY, { customer: customer.identifier });
  return operations.table.end(application.identifier, customer, { entryIdentifier: uuid(), entry });
};

class Crash extends Error {}

const conflict = (): Error =>
  new TransactionCanceledException({
    message: "Transaction cancelled",
    CancellationReasons: [{ Code: "TransactionConflict" }],
    $metadata: {},
  });

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
      throw failure.as === "crash" ? new Crash() : conflict();
    states.push(await table.items());
  };
  await act(world, table, happening).catch((error: unknown) => {
    // The customer was erased, or this step was meant to crash.
    if (!(error instanceof ServiceError || error instanceof Crash)) throw error;
  });
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
  const table = createMemoryTable();
  const TransactItems = items.map((Item) => ({ Put: { TableName: table.name, Item } }));
  if (TransactItems.length > 0) await table.client.send(new TransactWriteCommand({ TransactItems }));
  const customers = createCustomerTable(table, () => Promise.resolve());
  const readings = await Promise.all(
    ACCOUNTS.map((name) => customers.findAccount(application.identifier, accountId(name))),
  );
  await table.remove();
  return readings;
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
          throw new Error(JSON.stringify({ before: before[place], after: after[place], seen, happening }));
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
  for (const facts of everything)
    await world.submit(facts).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
    });
  // The erasure stops before the tombstones, so identities still name the customer.
  if (!steps.some(({ happening }) => happening.does === "erase"))
    expect(
      checkInvariants(await table.items(), { crashedMoves: steps.some(({ failure }) => failure !== null) }),
    ).toEqual([]);
  await table.remove();
};

test.each([null, "conflict", "crash"] as const)(
  "an account reads as before or after a change, without duplicates (failure: %s)",
  (as) => {
    const failure =
      as === null ? fc.constant(null) : fc.option(fc.record({ at: fc.nat(2), as: fc.constant(as) }));
    const transfers = fc.constantFrom<TransferPolicy>("refuse", "always");
    return fc.assert(fc.asyncProperty(transfers, history(failure), expectHistory), cases(90, 10_000));
  },
  TIMEOUT,
);
