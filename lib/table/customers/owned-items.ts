import type { FindOwnership, Ownership } from "../../administration/acts/operations.ts";
import { chunks } from "../../chunks.ts";
import type { CustomerChange, PurchaseWrite, Remains } from "../../customers/storing/fact-store.ts";
import type { IdentityReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import {
  absent,
  ownedBy,
  ownedUnchanged,
  revisionUnchanged,
  unowned,
  unownedOrErased,
  type Condition,
} from "../dynamodb/conditions.ts";
import { nullable } from "../dynamodb/positions.ts";
import { queryItems, readUnparsed } from "../dynamodb/reads.ts";
import { expiry, keyIn, parseItems, type Attributes, type Item, type Table } from "../dynamodb/table.ts";
import { check, ITEMS_PER_TRANSACTION, put, transact, update, type Write } from "../dynamodb/writes.ts";
import { identityOfKey, keyOf, keys, keyText, partitions, TABLE, type Key } from "../keys.ts";
import { askWrites } from "../queues/asks.ts";
import {
  customerItem,
  linesCodec,
  purchaseItem,
  renewalCodec,
  type identityItem,
  type tombstoneItem,
} from "./items.ts";

/** Names a customer's partition as owner, under which the index lists the item. */
export const ownerAttribute = (
  application: ApplicationId,
  customer: CustomerId,
): Readonly<Record<typeof TABLE.ownerAttribute, string>> => ({
  [TABLE.ownerAttribute]: partitions.customer(application, customer),
});

const free = ({ moment, liftsErasures }: CustomerChange): Condition =>
  liftsErasures ? unownedOrErased : unowned(moment);

export const identityWrite = (
  change: CustomerChange,
  identity: IdentityReference,
  customerVersion: number,
): Write => {
  const {
    application,
    after: { identifier: customer },
  } = change;
  const attributes = {
    customer,
    customerVersion,
    ...ownerAttribute(application, customer),
  } satisfies Attributes<typeof identityItem>;
  return put(keys.identity(application, identity), attributes, free(change));
};

const purchaseWrite = (
  change: CustomerChange,
  { purchase, revision, acknowledgement, ask, bundleOrPackage }: PurchaseWrite,
): Write => {
  const {
    application,
    after: { identifier: customer },
  } = change;
  const key = keys.purchase(application, purchase);
  const attributes = {
    customer,
    ...ownerAttribute(application, customer),
    revision: revision + 1,
    ...purchase,
    lines: linesCodec.encode(purchase.lines),
    renewal: nullable(renewalCodec).encode(purchase.renewal),
    acknowledgement,
    ask,
    bundleOrPackage,
  } satisfies Attributes<typeof purchaseItem>;
  return revision === 0
    ? put(key, attributes, free(change))
    : update(key, attributes, revisionUnchanged(revision));
};

/** A purchase, and its old and new place in the queue. */
export const purchaseWrites = (change: CustomerChange, written: PurchaseWrite): Write[] => {
  const { purchase, ask, acknowledgement, bundleOrPackage, move } = written;
  const stored = purchaseWrite(change, written);
  if (move === null || bundleOrPackage === null) return [stored];
  const { from, source } = move;
  const to = ask === null || source === null ? null : { ask, source, acknowledgement };
  return [stored, ...askWrites(change.application, purchase, bundleOrPackage, { from, to })];
};

/** Items per purchase or identity at most: tombstone, and deletion of its question. */
const ITEMS_PER_TOMBSTONE = 2;

/** Implements `Bury`. */
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
  for (const some of chunks(tombstones, Math.floor((ITEMS_PER_TRANSACTION - 1) / ITEMS_PER_TOMBSTONE))) {
    const buried = await transact(table, [isGone, ...some.flat()]);
    if (buried.outcome === "conflict") outcome = "conflict";
  }
  return outcome;
};

/** Implements {@link FindOwnership}, with one read per hundred items. */
export const createFindOwnership = (table: Table): FindOwnership => {
  const findOwnership: FindOwnership = async (application, customer) => {
    const owner = partitions.customer(application, customer);
    // The index defines no order.
    const owned = (await queryItems(table, { pk: owner, isOwner: true }))
      .map(keyIn)
      .toSorted((a, b) => compare(a.pk, b.pk));
    // The index may lag: an item may be gone or have another owner by now, so the item itself decides.
    const found = await readUnparsed(table, owned);
    const read = found.filter((item): item is Item => item?.[TABLE.ownerAttribute] === owner);
    const of = (kind: string): Item[] => read.filter(({ sk }) => sk === kind);
    const own: Ownership = {
      purchases: parseItems(purchaseItem, of("PURCHASE")),
      aliases: parseItems(customerItem, of("CUSTOMER")),
      identities: of("IDENTITY").map((item) => {
        const key = keyIn(item);
        return { item: keyText(key), customer, identity: identityOfKey(key) };
      }),
    };
    const all = [
      own,
      ...(await Promise.all(own.aliases.map(({ identifier }) => findOwnership(application, identifier)))),
    ];
    return {
      purchases: all.flatMap(({ purchases }) => purchases),
      aliases: all.flatMap(({ aliases }) => aliases),
      identities: all.flatMap(({ identities }) => identities),
    };
  };
  return findOwnership;
};
