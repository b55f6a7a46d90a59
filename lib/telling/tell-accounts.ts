import { createHash } from "node:crypto";
import type { Application } from "../applications/application.ts";
import type { CustomerEntitlement } from "../contract/schemas.ts";
import type { CustomerTable } from "../customers/storing/fact-store.ts";
import { accountHoldings, type AccountCustomer } from "../customers/storing/records.ts";
import { entitlementsAt, nextChangeAt } from "../entitlements/entitlements.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, CustomerId } from "../identifiers.ts";
import { compare } from "../order.ts";
import type { AccountTelling, ChangeTable, Look, StateDigest, TellingTurn, Told } from "./change.ts";

export interface TellingStep {
  readonly changes: ChangeTable;
  readonly accounts: Pick<CustomerTable, "findAccount">;
  readonly now: () => Instant;
}

export interface AccountLooks {
  readonly account: AccountId;
  readonly looks: readonly Look[];
}

/** `again`: a write was still being applied, or came first; nothing, or only a part, was told. */
export interface TellingOutcome {
  readonly outcome: "told" | "again";
  /** The turn after what was told. */
  readonly turn: TellingTurn;
}

interface Seen extends AccountLooks {
  readonly told: Told;
  readonly customers: readonly AccountCustomer[];
}

/** Customers that an account may gain, or stop being found by, in one transaction; each takes an item. */
const CUSTOMERS_AT_ONCE = 30;

const customersOf = ({ customers }: Seen): readonly CustomerId[] => customers.map(({ customer }) => customer);

const isToldWith = ({ told }: Seen, customer: CustomerId): boolean =>
  told.digest.customers.includes(customer);

const gainedBy = (seen: Seen): readonly CustomerId[] =>
  customersOf(seen).filter((customer) => !isToldWith(seen, customer));

const lostBy = (seen: Seen): readonly CustomerId[] => {
  const own = new Set(customersOf(seen));
  return seen.told.digest.customers.filter((customer) => !own.has(customer));
};

/** Gained customers for a later version: losses are told first, and {@link CUSTOMERS_AT_ONCE} are gained at once. */
const waitingIn = (seen: Seen): ReadonlySet<CustomerId> =>
  new Set(gainedBy(seen).slice(lostBy(seen).length > 0 ? 0 : CUSTOMERS_AT_ONCE));

const isOfErasure = ({ cause }: Look): boolean => cause?.erased === true;

const see = async (
  { changes, accounts }: TellingStep,
  { identifier }: Application,
  wanted: readonly AccountLooks[],
): Promise<readonly Seen[]> => {
  const [told, customers] = await Promise.all([
    changes.toldOf(
      identifier,
      wanted.map(({ account }) => account),
    ),
    Promise.all(wanted.map(async ({ account }) => accounts.findAccount(identifier, account))),
  ]);
  return wanted.map((one, index) => ({
    ...one,
    told: told[index] as Told,
    customers: customers[index] ?? [],
  }));
};

/** Accounts as read, and those from which they gained customers, over any number of moves. */
interface Moves {
  readonly seen: readonly Seen[];
  /** Accounts by the gained and lost customers that their last told version has. */
  readonly toldWith: ReadonlyMap<CustomerId, AccountId>;
}

/**
 * Also reads the accounts from which others gained customers: losses are told first. Null: a read is outdated, as a
 * customer is in two accounts.
 */
const withLosers = async (
  step: TellingStep,
  application: Application,
  first: readonly Seen[],
): Promise<Moves | null> => {
  let seen = first;
  const toldWith = new Map<CustomerId, AccountId>();
  for (let asked = seen; asked.length > 0;) {
    const moved = asked.flatMap((one) => [...gainedBy(one), ...lostBy(one), ...one.told.left]);
    const found = await step.changes.accountsOf(application.identifier, [...new Set(moved)]);
    for (const [customer, account] of found) toldWith.set(customer, account);
    const known = new Set(seen.map(({ account }) => account));
    const losers = new Set([...found.values()].filter((account) => !known.has(account)));
    asked = await see(
      step,
      application,
      [...losers].map((account) => ({ account, looks: [] })),
    );
    seen = [...seen, ...asked];
  }
  const owners = seen.flatMap(customersOf);
  return new Set(owners).size < owners.length ? null : { seen, toldWith };
};

/** A new verification time alone is not a change. */
const digestOf = (entitlement: CustomerEntitlement): string =>
  createHash("sha256")
    .update(JSON.stringify({ ...entitlement, lastVerifiedAt: null }))
    .digest("base64url")
    .slice(0, 22);

export const digestsOf = (
  customers: readonly CustomerId[],
  entitlements: readonly CustomerEntitlement[],
): StateDigest => ({
  customers,
  entitlements: new Map(entitlements.map((one) => [one.identifier, digestOf(one)])),
});

/** Identifiers of the entitlements that differ, sorted; empty where only the customers do; null: nothing differs. */
const changedIn = (before: StateDigest, after: StateDigest): readonly string[] | null => {
  const named = new Set([...before.entitlements.keys(), ...after.entitlements.keys()]);
  const changed = [...named]
    .filter((identifier) => before.entitlements.get(identifier) !== after.entitlements.get(identifier))
    .sort(compare);
  const hasSameCustomers =
    before.customers.length === after.customers.length &&
    before.customers.every((customer) => after.customers.includes(customer));
  return changed.length === 0 && hasSameCustomers ? null : changed;
};

/** The next version of an account; none if nothing differs. While customers wait or are left, its looks stay due. */
const tellingOf = (
  application: Application,
  seen: Seen,
  { seen: all, toldWith }: Moves,
  moment: Instant,
): AccountTelling => {
  const { told, looks, account } = seen;
  const waiting = waitingIn(seen);
  const shown = seen.customers.filter(({ customer }) => !waiting.has(customer));
  const customers = shown.map(({ customer }) => customer);
  const holdings = accountHoldings(shown);
  const entitlements = entitlementsAt(moment, holdings, application);
  const digest = digestsOf(customers, entitlements);
  const changed = changedIn(told.digest, digest);
  const gained = new Set(all.flatMap(gainedBy));
  const lost = [...new Set([...told.left, ...lostBy(seen)])].filter(
    (customer) => toldWith.get(customer) === account && !gained.has(customer),
  );
  const left = lost.slice(CUSTOMERS_AT_ONCE);
  const isPart = waiting.size > 0 || left.length > 0;
  return {
    before: told,
    looks: isPart ? [] : looks.filter((look) => !isOfErasure(look)),
    digest,
    lookAt: isPart ? told.lookAt : nextChangeAt(moment, holdings, application),
    gained: customers.filter((customer) => !isToldWith(seen, customer)),
    lost: lost.slice(0, CUSTOMERS_AT_ONCE),
    left,
    data:
      changed === null
        ? null
        : {
            applicationIdentifier: application.identifier,
            applicationAccountIdentifier: account,
            version: told.version + 1,
            changed,
            customerIdentifiers: customers,
            entitlements,
          },
  };
};

/**
 * Tells accounts that may have changed. A loss is told before the gain by another account: no follower of the changes
 * sees a purchase entitle two.
 */
export const tellAccounts = async (
  step: TellingStep,
  application: Application,
  turn: TellingTurn,
  wanted: readonly AccountLooks[],
): Promise<TellingOutcome> => {
  const { changes, now } = step;
  const { identifier, destinations } = application;
  const again = { outcome: "again", turn } as const;
  const isApplied = await changes.areApplied(
    identifier,
    wanted.flatMap(({ looks }) => looks),
  );
  if (!isApplied) return again;
  const moves = await withLosers(step, application, await see(step, application, wanted));
  if (moves === null) return again;

  const toldAt = Math.max(now(), turn.toldAt);
  const tellings = moves.seen
    .map((seen) => ({ loses: lostBy(seen).length > 0, telling: tellingOf(application, seen, moves, toldAt) }))
    .toSorted((a, b) => compare(b.loses, a.loses))
    .map(({ telling }) => telling);
  const written = await changes.write(identifier, { turn, toldAt, accounts: tellings, destinations });
  if (written.outcome === "conflict") return { outcome: "again", turn: written.turn };
  const leaving = new Set(tellings.flatMap(({ left, before }) => (left.length > 0 ? before.account : [])));
  for (const one of moves.seen) {
    const erased = one.looks.filter(isOfErasure);
    if (erased.length > 0 && waitingIn(one).size === 0 && !leaving.has(one.account))
      await changes.forget(identifier, one.account, erased);
  }
  return { outcome: "told", turn: written.turn };
};
