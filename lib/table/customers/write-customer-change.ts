import type { Audited } from "../../administration/acts/audit-entry.ts";
import type { CustomerChange, PurchaseWrite } from "../../customers/storing/customer-change.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { sameHoldings } from "../../entitlements/holdings.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { AccountId, ApplicationId } from "../../identifiers.ts";
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
  type WrittenCustomer,
} from "./customer-change-items.ts";
import { keys } from "../keys.ts";
import type { Table } from "../dynamodb/table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "../dynamodb/transactions.ts";
import { deletion, type TransactItem } from "../dynamodb/writes.ts";

/** Terms of a write beside its change. */
export interface WriteTerms {
  /** Audit entry of an operator's change; unset: none, and moves are recorded as transfers. */
  readonly audit?: Audited;
}

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
  table: string,
  application: ApplicationId,
  customers: readonly StoredCustomer[],
): TransactItem[][] =>
  chunks(
    customers.flatMap(({ link, absorbed }) =>
      link === null
        ? []
        : absorbed.map((customer) =>
            deletion(table, keys.accountCustomer(application, link.account, customer)),
          ),
    ),
    ITEMS_PER_TRANSACTION,
  );

/** The customer, its account item and the look at the account take three places in each transaction. */
const ROOM_PER_TRANSACTION = ITEMS_PER_TRANSACTION - 3;

/**
 * A change's transactions, in the order to send them. Most changes take one. A larger one starts with the customer, its
 * link, its identities and as many purchases as fit, and continues with the other purchases. Each transaction writes
 * the holdings of all purchases stored so far, so that the holdings never lag behind if the change is interrupted;
 * repeating the request completes it.
 *
 * A change that moves a customer removes it from the old account first, and writes its item in the new one in a last
 * transaction, so that no two Queries find it in both accounts. Until then it is `unsettled`.
 *
 * @param ending accounts whose claims reach zero with the change
 */
export const transactionsOf = (
  table: string,
  change: CustomerChange,
  ending: ReadonlySet<AccountId>,
  { audit }: WriteTerms = {},
): TransactItem[][] => {
  const { application, before, after, absorbed, identities, purchases } = change;
  const gone = leaving(change);
  const moves = gone.length > 0 && after.link !== null;
  const around = [
    ...gone.flatMap(({ link, identifier }) =>
      link === null ? [] : [deletion(table, keys.accountCustomer(application, link.account, identifier))],
    ),
    ...absorbed.map((other) => aliasWrite(table, change, other)),
    ...claimsWrites(table, change, ending),
    ...identities.map((identity) => identityWrite(table, change, identity)),
    ...recordWrites(table, change, audit),
    ...[...Map.groupBy(gone, ({ link }) => link?.account)].flatMap(([account, left]) =>
      looksAt(
        table,
        change,
        account,
        left.map(({ identifier }) => identifier),
        firstVersion(change),
      ),
    ),
    ...(moves ? [] : absorbedItems(table, change)),
  ];
  const room = ROOM_PER_TRANSACTION - around.length;
  if (room < 0) throw new RangeError("The change of one customer exceeds the items of one transaction.");
  const parts = inParts(purchases, room, ROOM_PER_TRANSACTION);

  let version = before?.version ?? 0;
  let written = 0;
  let held: readonly Purchase[] | null = null;
  const customer = (written: Pick<WrittenCustomer, "holdings" | "unsettled">): TransactItem =>
    customerWrite(table, change, { ...written, from: version, to: ++version });
  const staying = (): TransactItem[] =>
    looksAt(
      table,
      change,
      after.link?.account,
      [after.identifier, ...absorbed.map(({ identifier }) => identifier)],
      version,
    );
  const holdingsAfter = (part: readonly PurchaseWrite[]): readonly Purchase[] => {
    written += part.length;
    return written === purchases.length ? after.holdings : change.holdingsWith(purchases.slice(0, written));
  };
  const steps = parts.map((part): TransactItem[] => {
    const known = held;
    held = holdingsAfter(part);
    const isKnown = known !== null && sameHoldings(known, held);
    return [
      ...(isKnown
        ? [unmoved(table, change, version)]
        : [
            customer({ holdings: held, unsettled: moves }),
            ...(moves ? [] : [...accountWrite(table, change, held), ...staying()]),
          ]),
      ...(known === null ? around : []),
      ...part.flatMap((purchase) => purchaseWrites(table, change, purchase)),
    ];
  });
  if (moves)
    steps.push([
      customer({ holdings: after.holdings, unsettled: false }),
      ...accountWrite(table, change, after.holdings),
      ...staying(),
      ...absorbedItems(table, change),
    ]);
  return [...absorbedDeletions(table, application, gone), ...steps];
};

/** Implements `WriteCustomerChange`. */
export const writeCustomerChange = async (
  table: Table,
  change: CustomerChange,
  terms: WriteTerms = {},
): Promise<"written" | "conflict"> => {
  const ending = await countsThatEnd(table, change.application, claimsDifferences(change));
  for (const items of transactionsOf(table.name, change, ending, terms)) {
    const { outcome } = await transact(table, items);
    if (outcome === "conflict") return outcome;
  }
  return "written";
};
