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
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import {
  byCredential,
  createWorld,
  device,
  owned,
  refunded,
  type World,
} from "../../../testing/support/world.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { createMemoryTable, type MemoryTable } from "../../../testing/support/table/memory-table.ts";

/**
 * Neither a Query nor a batch of reads is a snapshot: it may see some items of a transaction and not the others.
 * Whatever happens to customers meanwhile, an account is read as it was before or after, and a request is answered so.
 */

type Item = Readonly<Record<string, unknown>>;

const ACCOUNTS = ["a", "b", "c"] as const;
const PURCHASES = ["1", "2", "3", "4", "5"] as const;
const DEVICES = ["1", "2"] as const;

type Happening =
  | {
      readonly does: "store";
      /** An app transaction id. */
      readonly device: string | null;
      readonly purchases: readonly string[];
      readonly claim: { readonly account: string; readonly assertedBy: AssertedBy } | null;
    }
  | { readonly does: "unlink" | "erase"; readonly purchase: string }
  | { readonly does: "move"; readonly purchase: string; readonly to: string }
  /** Time to live deletes items that may expire: all of them, or every other one. */
  | { readonly does: "expire"; readonly every: 1 | 2 };

type Storing = Extract<Happening, { does: "store" }>;

interface Step {
  readonly happening: Happening;
  /** The step's transaction that fails, from 0: by a crash, or by a conflicting write; null: none. */
  readonly failure: { readonly at: number; readonly as: "crash" | "conflict" } | null;
}

const account = fc.constantFrom(...ACCOUNTS);
const purchase = fc.constantFrom(...PURCHASES);
const storing: fc.Arbitrary<Storing> = fc.record({
  does: fc.constant("store"),
  device: fc.option(fc.constantFrom(...DEVICES), { freq: 2 }),
  purchases: fc.subarray([...PURCHASES], { maxLength: 4 }),
  claim: fc.option(
    fc.record({ account, assertedBy: fc.constantFrom<AssertedBy>("credential", "credential", "client") }),
    { freq: 4 },
  ),
});
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: storing },
  fc.record({ does: fc.constantFrom("unlink", "erase"), purchase }),
  { weight: 2, arbitrary: fc.record({ does: fc.constant("move"), purchase, to: account }) },
  fc.record({ does: fc.constant("expire"), every: fc.constantFrom(1, 2) }),
);

const stored = (
  purchases: readonly string[],
  account?: string,
  assertedBy: AssertedBy = "credential",
): Step => ({
  happening: {
    does: "store",
    device: null,
    purchases,
    claim: account === undefined ? null : { account, assertedBy },
  },
  failure: null,
});

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

const requestOf = ({ device: name, purchases, claim }: Storing): Parameters<World["submit"]> => [
  { identities: name === null ? [] : [device(name)], purchases: purchases.map((key) => owned(key)) },
  claim && { ...claim, account: accountId(claim.account) },
];

const act = async (world: World, table: MemoryTable, happens: Happening): Promise<unknown> => {
  if (happens.does === "expire") return expire(table, happens.every);
  if (happens.does === "store") return world.submit(...requestOf(happens));
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

const tableOf = async (items: readonly Item[]): Promise<MemoryTable> => {
  const table = createMemoryTable();
  const TransactItems = items.map((Item) => ({ Put: { TableName: table.name, Item } }));
  if (TransactItems.length > 0) await table.client.send(new TransactWriteCommand({ TransactItems }));
  return table;
};

/** The customers of each account in a table with these items. */
const readingsOf = async ({ application }: World, items: readonly Item[]): Promise<Reading[]> => {
  const table = await tableOf(items.filter(isOfAccount));
  const customers = createCustomerTable(table, () => Promise.resolve());
  const readings = await Promise.all(
    ACCOUNTS.map((name) => customers.findAccount(application.identifier, accountId(name))),
  );
  await table.remove();
  return readings;
};

/** Returns the values one after the other, then the last one repeatedly. */
const takenFrom = <T>(values: readonly T[]): (() => T) => {
  let next = 0;
  return () => {
    const value = values[Math.min(next, values.length - 1)];
    if (value === undefined) throw new RangeError("There is nothing to take from.");
    next += 1;
    return value;
  };
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
              {
                before: before[place],
                after: after[place],
                seen,
              },
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

describe("a request that sees a transaction half done", () => {
  interface Meeting {
    readonly history: readonly Step[];
    /** Its transaction number `at`, from 0, is seen half done; it does not go on after that. */
    readonly met: Happening;
    readonly at: number;
    readonly request: Storing;
    /** For each read of one of the transaction's items, in order: whether the read sees the new item. */
    readonly sees: readonly boolean[];
    readonly transfers: TransferPolicy;
  }

  type Answer =
    | { readonly refused: string }
    | { readonly customer: string | null; readonly holdings: readonly Purchase[] };

  /** The answer; a customer that did not exist before is called `new`. */
  const answerTo = async (world: World, request: Storing, before: readonly Item[]): Promise<Answer> => {
    const customers = new Set(before.map(({ customer }) => customer));
    const stored = await world.submit(...requestOf(request)).catch((error: unknown) => {
      if (error instanceof ServiceError) return error.code;
      throw error;
    });
    if (typeof stored === "string") return { refused: stored };
    if (stored.outcome === "refused") return { refused: stored.code };
    if (stored.customer === null) return { customer: null, holdings: [] };
    const { identifier, holdings } = stored.customer;
    return { customer: customers.has(identifier) ? identifier : "new", holdings };
  };

  /** The request's answer, and its answers just before and just after the transaction; null: there is no transaction. */
  const answersOf = async ({ history: before, met, at, request, sees, transfers }: Meeting) => {
    const table = createMemoryTable();
    const plain = createWorld(table);
    const world = plain.with({ application: { ...plain.application, transfers } });
    for (const { happening } of before)
      await act(world, table, happening).catch((error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
      });

    const states: Item[][] = [];
    table.turn = async (command) => {
      if (command === "TransactWriteItemsCommand") states.push(await table.items());
    };
    const [waits, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // A request that pauses waits until the transaction is over.
    const requesting = world.with({
      pause: () => {
        waits.resolve();
        return isOver.promise;
      },
    });
    let answer: Promise<Answer> | null = null;
    table.seesAfter = takenFrom(sees);
    table.midway = async () => {
      if (states.length <= at) return;
      table.turn = () => Promise.resolve();
      table.midway = null;
      answer = answerTo(requesting, request, states.at(-1) ?? []);
      states.push(await table.items());
      await Promise.race([answer, waits.promise]);
      throw new Crash();
    };
    await act(world, table, met).catch((error: unknown) => {
      if (!(error instanceof ServiceError || error instanceof Crash)) throw error;
    });
    isOver.resolve();
    if (answer === null) return null;
    const [old = [], young = []] = states.slice(-2);
    const answerIn = async (items: readonly Item[]): Promise<Answer> => {
      const { application } = world;
      return answerTo(createWorld(await tableOf(items), { application }), request, old);
    };
    return { answer: await answer, expected: [await answerIn(old), await answerIn(young)] };
  };

  const storedOf = (request: Partial<Storing>): Storing => ({
    does: "store",
    device: null,
    purchases: [],
    claim: null,
    ...request,
  });
  /** Two customers, each with an app transaction id and a purchase. {@link MERGE} shows that they are one. */
  const TWO_DEVICES = ["1", "2"].map((name): Step => ({
    happening: storedOf({ device: name, purchases: [name] }),
    failure: null,
  }));
  const MERGE = storedOf({ purchases: ["1", "2"] });

  const expectAnswer = async (meeting: Meeting): Promise<void> => {
    const answers = await answersOf(meeting);
    if (answers !== null) expect(answers.expected).toContainEqual(answers.answer);
  };

  test("finds a new customer's purchase without the customer, and is not refused", () =>
    expectAnswer({
      history: [],
      met: storedOf({ purchases: ["1"] }),
      at: 0,
      request: storedOf({ purchases: ["1"] }),
      // The purchase is seen, the customer is not.
      sees: [true, false],
      transfers: "refuse",
    }));

  test("finds a merge's alias without its survivor, and answers the absorbed purchases", () =>
    expectAnswer({
      history: TWO_DEVICES,
      met: MERGE,
      at: 0,
      request: storedOf({ device: "2" }),
      // The alias is seen, the survivor is not.
      sees: [true, false],
      transfers: "refuse",
    }));

  test("finds a moved customer's identity in the old account, and succeeds", () =>
    expectAnswer({
      history: [stored(["1"], "a"), stored(["2"], "b")],
      met: storedOf({ device: "1", purchases: ["1"], claim: { account: "b", assertedBy: "credential" } }),
      at: 0,
      request: storedOf({ device: "1", purchases: ["2"] }),
      // The app transaction id is seen, the customer's move is not.
      sees: [true, false],
      transfers: "always",
    }));

  test("stores a half-seen new customer's facts, even when refused", async () => {
    const table = createMemoryTable();
    const world = createWorld(table);
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const [isRead, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let refusing: ReturnType<World["submit"]> | undefined;
    // The first request's purchase 2 is seen, purchase 3 is not. The transaction is over before customers are read.
    table.seesAfter = takenFrom([true, false]);
    table.midway = () => {
      let reads = 0;
      table.turn = () => {
        reads += 1;
        if (reads !== 2) return Promise.resolve();
        isRead.resolve();
        return isOver.promise;
      };
      refusing = world.submit({ purchases: [owned("1"), refunded("2"), refunded("3")] });
      return isRead.promise;
    };
    await world.store({ purchases: [owned("2"), owned("3")] }, byCredential("b"));
    table.midway = null;
    isOver.resolve();
    expect(await refusing).toMatchObject({ outcome: "refused", code: "IDENTITY_CONFLICT" });
    for (const key of ["2", "3"])
      expect(await ownerOf(world, key)).toMatchObject({
        holdings: ["2", "3"].map((held) => ({ key: held, lines: [{ revokedAt: NOW - DAY }] })),
      });
  });

  test(
    "is answered as before the transaction or after it",
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.record({
            history: fc
              .tuple(
                fc.constantFrom<Step[][]>([], TWO_DEVICES, TWO_DEVICES, MERGED),
                fc.array(fc.record({ happening, failure: fc.constant(null) }), { maxLength: 3 }),
              )
              .map((steps) => steps.flat()),
            met: fc.oneof({ weight: 2, arbitrary: fc.constant(MERGE) }, { weight: 3, arbitrary: happening }),
            at: fc.constantFrom(0, 0, 1, 2),
            request: fc.oneof(
              storing,
              fc.constantFrom(...DEVICES).map((device) => storedOf({ device })),
            ),
            sees: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
            transfers: fc.constantFrom<TransferPolicy>("refuse", "always"),
          }),
          expectAnswer,
        ),
        cases(180, 20_000),
      ),
    TIMEOUT,
  );
});
