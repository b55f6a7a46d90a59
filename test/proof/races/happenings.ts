import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import fc from "fast-check";
import { ServiceError } from "../../../lib/contract/errors.ts";
import type { AssertedBy } from "../../../lib/contract/schemas.ts";
import { eachOnce, type StoredCustomer } from "../../../lib/customers/storing/records.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { createMemoryTable, type MemoryTable } from "../../../testing/support/table/memory-table.ts";
import { device, owned, refunded, type World } from "../../../testing/support/world.ts";

/** What happens to customers while others read them. */

export type Item = Readonly<Record<string, unknown>>;

export const ACCOUNTS = ["a", "b", "c"] as const;
export const PURCHASES = ["1", "2", "3", "4", "5"] as const;
export const DEVICES = ["1", "2"] as const;

export type Happening =
  | {
      readonly does: "store";
      /** An app transaction id. */
      readonly device: string | null;
      readonly purchases: readonly string[];
      /** Whether the store has refunded them; unset: no. */
      readonly refunds?: boolean;
      readonly claim: { readonly account: string; readonly assertedBy: AssertedBy } | null;
    }
  | { readonly does: "unlink" | "erase"; readonly purchase: string }
  | { readonly does: "move"; readonly purchase: string; readonly to: string }
  /** Time to live deletes items that may expire: all of them, or every other one. */
  | { readonly does: "expire"; readonly every: 1 | 2 };

export type Storing = Extract<Happening, { does: "store" }>;

export interface Step {
  readonly happening: Happening;
  /** The step's transaction that fails, from 0: by a crash, or by a conflicting write; null: none. */
  readonly failure: { readonly at: number; readonly as: "crash" | "conflict" } | null;
}

export const account = fc.constantFrom(...ACCOUNTS);
export const purchase = fc.constantFrom(...PURCHASES);
export const storing: fc.Arbitrary<Storing> = fc.record({
  does: fc.constant("store"),
  device: fc.option(fc.constantFrom(...DEVICES), { freq: 2 }),
  purchases: fc.subarray([...PURCHASES], { maxLength: 4 }),
  claim: fc.option(
    fc.record({ account, assertedBy: fc.constantFrom<AssertedBy>("credential", "credential", "client") }),
    { freq: 4 },
  ),
});
export const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: storing },
  fc.record({ does: fc.constantFrom("unlink", "erase"), purchase }),
  { weight: 2, arbitrary: fc.record({ does: fc.constant("move"), purchase, to: account }) },
  fc.record({ does: fc.constant("expire"), every: fc.constantFrom(1, 2) }),
);

export const storedOf = (request: Partial<Storing>): Storing => ({
  does: "store",
  device: null,
  purchases: [],
  claim: null,
  ...request,
});

export const stored = (
  purchases: readonly string[],
  account?: string,
  assertedBy: AssertedBy = "credential",
): Step => ({
  happening: storedOf({ purchases, claim: account === undefined ? null : { account, assertedBy } }),
  failure: null,
});

/** Two merged customers of account a, the absorbed item still there; and a customer that a client claimed for b. */
export const MERGED = [
  stored(["1"], "a"),
  stored(["2"], "a"),
  stored(["3"], "b", "client"),
  stored(["1", "2"]),
];

export const ownerOf = async (
  { factStore: { table, now }, application }: World,
  key: string,
): Promise<StoredCustomer | null> => {
  const known = await table.findFacts(application.identifier, [], [owned(key)], now());
  const named = [...known.purchases.values()].map(({ customer }) => customer);
  const { living } = await table.findCustomers(application.identifier, named);
  return eachOnce(living)[0] ?? null;
};

const expire = async (table: MemoryTable, every: number): Promise<void> => {
  const expiring = (await table.items()).filter((item) => "timeToLive" in item);
  const TransactItems = expiring
    .filter((_, index) => index % every === 0)
    .map(({ pk, sk }) => ({ Delete: { TableName: table.name, Key: { pk, sk } } }));
  if (TransactItems.length > 0) await table.client.send(new TransactWriteCommand({ TransactItems }));
};

export const requestOf = ({
  device: name,
  purchases,
  refunds = false,
  claim,
}: Storing): Parameters<World["submit"]> => [
  {
    identities: name === null ? [] : [device(name)],
    purchases: purchases.map((key) => (refunds ? refunded(key) : owned(key))),
  },
  claim && { ...claim, account: accountId(claim.account) },
];

export const act = async (world: World, table: MemoryTable, happens: Happening): Promise<unknown> => {
  if (happens.does === "expire") return expire(table, happens.every);
  if (happens.does === "store") return world.submit(...requestOf(happens));
  const customer = await ownerOf(world, happens.purchase);
  if (customer === null) return null;
  if (happens.does === "unlink") return world.unlink(customer);
  if (happens.does === "move") return world.unlink(customer, happens.to);
  // The part of an erasure that changes the account; tombstones belong to no account.
  return world.beginErasure(customer);
};

/** Ends a transaction half way. */
export class Crash extends Error {}

/** Awaits what may be refused, or crash as it was meant to. */
export const unlessStopped = async (acting: Promise<unknown>): Promise<void> => {
  await acting.catch((error: unknown) => {
    if (!(error instanceof ServiceError || error instanceof Crash)) throw error;
  });
};

export const tableOf = async (items: readonly Item[]): Promise<MemoryTable> => {
  const table = createMemoryTable();
  const TransactItems = items.map((Item) => ({ Put: { TableName: table.name, Item } }));
  if (TransactItems.length > 0) await table.client.send(new TransactWriteCommand({ TransactItems }));
  return table;
};
