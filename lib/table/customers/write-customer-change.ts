import type { Audited } from "../../administration/acts/audit.ts";
import type { Remains, CustomerChange, PurchaseWrite } from "../../customers/storing/fact-store.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { sameHoldings } from "../../entitlements/holdings.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { chunks } from "../../chunks.ts";
import { claimsDifferences, countsThatEnd } from "./claims.ts";
import {
  absorbedItems,
  accountWrite,
  aliasWrite,
  claimsWrites,
  customerWrite,
  firstVersion,
  identityWrite,
  leaving,
  looksAt,
  purchaseWrites,
  recordWrites,
  unmoved,
} from "./customer-change-items.ts";
import { absent, ownedBy, ownedUnchanged, type Condition } from "../dynamodb/conditions.ts";
import { type Key, keyOf, keys } from "../keys.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import { check, deletion, ITEMS_PER_TRANSACTION, put, transact, type Write } from "../dynamodb/writes.ts";
import { askWrites } from "../queues/asks.ts";
import type { tombstoneItem } from "./items.ts";

/** Items for one purchase at most: the purchase, and its old and new place in the queue. */
const itemsOf = ({ ask, move }: PurchaseWrite): number =>
  1 + (move === null ? 0 : Number(move.from !== null) + Number(ask !== null));

/** Divides purchases into parts whose items fit: `firstRoom` for the first part, `room` for each other one. */
const inParts = (
  purchases: readonly PurchaseWrite[],
  firstRoom: number,
  room: number,
): readonly (readonly PurchaseWrite[])[] => {
  const parts: PurchaseWrite[][] = [[]];
  let left = firstRoom;
  for (const purchase of purchases) {
    if (itemsOf(purchase) > left) {
      parts.push([]);
      left = room;
    }
    left -= itemsOf(purchase);
    parts.at(-1)?.push(purchase);
  }
  return parts;
};

/**
 * Deletes absorbed customers' items from an account before the customer that lists them leaves it: without the list,
 * readers would count them. Safe to interrupt: readers skip listed ones.
 */
export const absorbedDeletions = (
  application: ApplicationId,
  customers: readonly StoredCustomer[],
): Write[][] =>
  chunks(
    customers.flatMap(({ link, absorbed }) =>
      link === null
        ? []
        : absorbed.map((customer) => deletion(keys.accountCustomer(application, link.account, customer))),
    ),
    ITEMS_PER_TRANSACTION,
  );

/** The customer, its account item and the look at the account take three places in each transaction. */
const ROOM_PER_TRANSACTION = ITEMS_PER_TRANSACTION - 3;

/**
 * A change's transactions, in the order to send them; most take one. Each writes the holdings of all purchases stored so
 * far, and repeating the request completes an interrupted change. A customer that moves leaves its old account first, and
 * is `unsettled` until the last transaction writes it into the new one: no Query finds it in both.
 *
 * @param ending accounts whose claims reach zero with the change
 * @param audit entry of an operator's change; unset: none, and moves are recorded as transfers
 */
export const transactionsOf = (
  change: CustomerChange,
  ending: ReadonlySet<AccountId>,
  audit?: Audited,
): Write[][] => {
  const { application, before, after, absorbed, identities, purchases } = change;
  const gone = leaving(change);
  const moves = gone.length > 0 && after.link !== null;
  const around = [
    ...gone.flatMap(({ link, identifier }) =>
      link === null ? [] : [deletion(keys.accountCustomer(application, link.account, identifier))],
    ),
    ...absorbed.map((other) => aliasWrite(change, other)),
    ...claimsWrites(change, ending),
    ...identities.map((identity) => identityWrite(change, identity)),
    ...recordWrites(change, audit),
    ...[...Map.groupBy(gone, ({ link }) => link?.account)].flatMap(([account, left]) => {
      const customers = left.map(({ identifier }) => identifier);
      return looksAt(change, account, customers, firstVersion(change));
    }),
    ...(moves ? [] : absorbedItems(change)),
  ];
  const room = ROOM_PER_TRANSACTION - around.length;
  if (room < 0) throw new RangeError("The change of one customer exceeds the items of one transaction.");

  let version = before?.version ?? 0;
  let written = 0;
  let held: readonly Purchase[] | null = null;
  const customer = (holdings: readonly Purchase[], unsettled: boolean): Write =>
    customerWrite(change, { holdings, unsettled, from: version, to: ++version });
  /** The customer's item in its account, and the look that sees it. */
  const inAccount = (holdings: readonly Purchase[]): Write[] => {
    const customers = [after.identifier, ...absorbed.map(({ identifier }) => identifier)];
    return [...accountWrite(change, holdings), ...looksAt(change, after.link?.account, customers, version)];
  };
  const steps = inParts(purchases, room, ROOM_PER_TRANSACTION).map((part): Write[] => {
    const known = held;
    written += part.length;
    held = written === purchases.length ? after.holdings : change.holdingsWith(purchases.slice(0, written));
    const isKnown = known !== null && sameHoldings(known, held);
    return [
      ...(isKnown ? [unmoved(change, version)] : [customer(held, moves), ...(moves ? [] : inAccount(held))]),
      ...(known === null ? around : []),
      ...part.flatMap((purchase) => purchaseWrites(change, purchase)),
    ];
  });
  if (moves)
    steps.push([customer(after.holdings, false), ...inAccount(after.holdings), ...absorbedItems(change)]);
  return [...absorbedDeletions(application, gone), ...steps];
};

/** Implements `WriteCustomerChange`. */
export const writeCustomerChange = async (
  table: Table,
  change: CustomerChange,
  audit?: Audited,
): Promise<"written" | "conflict"> => {
  const ending = await countsThatEnd(table, change.application, claimsDifferences(change));
  for (const items of transactionsOf(change, ending, audit)) {
    const { outcome } = await transact(table, items);
    if (outcome === "conflict") return outcome;
  }
  return "written";
};

/** Items per purchase or identity at most: tombstone, and deletion of its question. */
const ITEMS_PER_OWNED = 2;

/** Implements {@link Bury}. */
export const bury = async (
  table: Table,
  application: ApplicationId,
  end: CustomerId,
  { purchases, identities }: Remains,
  erasedUntil: Instant,
): Promise<"written" | "conflict"> => {
  const isGone = check(keys.customer(application, end), absent);
  const attributes = { erasedUntil, ...expiry(erasedUntil) } satisfies Attributes<typeof tombstoneItem>;
  const tombstone = (key: Key, condition: Condition) => put(key, attributes, condition);
  const tombstones = [
    ...purchases.map(({ purchase, customer, revision, ask, bundleOrPackage }) => [
      // Checks the revision, or a question that was moved meanwhile would keep its purchase token.
      tombstone(keys.purchase(application, purchase), ownedUnchanged(application, customer, revision)),
      ...(ask === null || bundleOrPackage === null
        ? []
        : askWrites(application, purchase, bundleOrPackage, { from: ask.at, to: null })),
    ]),
    ...identities.map(({ item, customer }) => [tombstone(keyOf(item), ownedBy(application, customer))]),
  ];
  let outcome: "written" | "conflict" = "written";
  for (const some of chunks(tombstones, Math.floor((ITEMS_PER_TRANSACTION - 1) / ITEMS_PER_OWNED))) {
    const buried = await transact(table, [isGone, ...some.flat()]);
    if (buried.outcome === "conflict") outcome = "conflict";
  }
  return outcome;
};
