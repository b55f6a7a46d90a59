import type { Remains } from "../../customers/storing/bury-remains.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../../identifiers.ts";
import { chunks } from "../../chunks.ts";
import { absent, ownedBy, ownedUnchanged, type Condition } from "../dynamodb/conditions.ts";
import { askWrites } from "../queues/asks.ts";
import { type Key, keyOf } from "../dynamodb/key.ts";
import { keys } from "../keys.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "../dynamodb/transactions.ts";
import { check, put } from "../dynamodb/writes.ts";
import type { tombstoneItem } from "./items.ts";

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
