import { epochSeconds } from "../duration.ts";
import { tombstoneItem } from "./items.ts";
import type { Remains } from "../customers/bury-remains.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { chunks } from "../chunks.ts";
import { absent, ownedBy, ownedUnchanged, type Condition } from "./conditions.ts";
import { acknowledgementKey, keyOf, keys, refreshKey, TABLE, type Key } from "./keys.ts";
import type { Attributes, Table, TimeToLive } from "./table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "./transactions.ts";
import { check, deletion, put, type TransactItem } from "./writes.ts";

/** Items per purchase or identity at most: tombstone, and deletions of its due acknowledgement and refresh. */
const ITEMS_PER_OWNED = 3;

/** Implements {@link Bury}. */
export const bury = async (
  table: Table,
  application: ApplicationId,
  end: CustomerId,
  { purchases, identities }: Remains,
  erasedUntil: Instant,
): Promise<"written" | "conflict"> => {
  const isGone = check(table.name, keys.customer(application, end), absent);
  const tombstone = (key: Key, condition: Condition): TransactItem =>
    put(
      table.name,
      key,
      {
        erasedUntil,
        [TABLE.timeToLiveAttribute]: epochSeconds(erasedUntil),
      } satisfies Attributes<typeof tombstoneItem> & TimeToLive,
      condition,
    );
  const tombstones = [
    ...purchases.map(({ purchase, customer, revision, acknowledgementDueSince, refreshAt }) => [
      // Checks the revision, or a refresh that was moved meanwhile would keep its purchase token.
      tombstone(keys.purchase(application, purchase), ownedUnchanged(application, customer, revision)),
      ...(acknowledgementDueSince === null
        ? []
        : [deletion(table.name, acknowledgementKey(application, purchase, acknowledgementDueSince))]),
      ...(refreshAt === null ? [] : [deletion(table.name, refreshKey(application, purchase, refreshAt))]),
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
