import type { ToldTable } from "../../administration/reports/account-report.ts";
import type { Destination } from "../../applications/application.ts";
import { chunks, partsWithin } from "../../chunks.ts";
import { DAY } from "../../duration.ts";
import type { ApplicationId } from "../../identifiers.ts";
import {
  CHANGES_KEPT_MILLISECONDS,
  dayOf,
  NO_STATE,
  type AccountTelling,
  type ChangeData,
  type ChangePlace,
  type ChangeTable,
  type FeedChange,
  type KeyedHash,
  type Look,
} from "../../telling/change.ts";
import type { FeedTable } from "../../telling/read-changes.ts";
import { absent, sequenceUnchanged, versionUnchanged } from "../dynamodb/conditions.ts";
import { eachKeyOnce, queryItems, queryPages, readItem, readItems, readTogether } from "../dynamodb/reads.ts";
import { expiry, parseItem, parseItems, type Attributes, type Table } from "../dynamodb/table.ts";
import {
  BYTES_PER_TRANSACTION,
  deletion,
  ITEMS_PER_TRANSACTION,
  put,
  transact,
  update,
  type Write,
} from "../dynamodb/writes.ts";
import { keys, keyText, partitions, sortKeys } from "../keys.ts";
import { releaseLease, takeLease, type LeaseAttributes } from "../queues/lease.ts";
import {
  changeItem,
  dueLooks,
  erasedAccountItem,
  lookWrite,
  toldAccountsOf,
  toldErasure,
  toldItem,
  toldOf,
  turnItem,
  type toldCustomerItem,
} from "./change-items.ts";
import { deliveryItem, deliveryWrite } from "./delivery-queue.ts";
import { emptyChanges } from "./erasure.ts";

/** A transaction reads at most 4 MB, and an item has up to 400 KB. */
const ITEMS_PER_READ = 10;

/** Bytes of an item beside a change's data. */
const BYTES_PER_ITEM = 1000;

type PlacedChange = Pick<FeedChange, "place" | "first" | "toldAt">;

/** Placeholder for counting items. */
const UNPLACED: PlacedChange = { place: { day: "", sequence: 0 }, first: 0, toldAt: 0 };

const changeWrite = (
  application: ApplicationId,
  { place, first, toldAt }: PlacedChange,
  data: ChangeData,
  previous: ChangePlace | null,
): Write =>
  put(keys.change(application, place), {
    sequence: place.sequence,
    first,
    toldAt,
    data: JSON.stringify(data),
    previous,
    isRedacted: false,
    // A day longer than it is answered, so that answers have no gaps.
    ...expiry(toldAt + CHANGES_KEPT_MILLISECONDS + DAY),
  } satisfies Attributes<typeof changeItem>);

/** Deletes the looks that a telling completes, and moves the one that time makes due. */
const lookWrites = (
  application: ApplicationId,
  { before, looks, lookAt }: AccountTelling,
): readonly Write[] => {
  const lookOf = (dueAt: number | null): Look[] =>
    dueAt === null || before.lookAt === lookAt ? [] : [{ account: before.account, dueAt, cause: null }];
  const keyOf = (look: Look) => keys.look(application, look);
  const to = lookOf(lookAt);
  const set = new Set(to.map(keyOf).map(keyText));
  return [
    ...eachKeyOnce([...looks, ...lookOf(before.lookAt)].map(keyOf))
      .filter((key) => !set.has(keyText(key)))
      .map((key) => deletion(key)),
    ...to.map((look) => lookWrite(application, look)),
  ];
};

/** Transaction items of one account's telling. */
const accountWrites = (
  application: ApplicationId,
  telling: AccountTelling,
  change: PlacedChange | null,
  destinations: readonly Destination[],
): readonly Write[] => {
  const { before, digest, lookAt, gained, lost, left, data } = telling;
  const { account } = before;
  const told = {
    account,
    version: data?.version ?? before.version,
    customers: [...digest.customers],
    entitlements: Object.fromEntries(digest.entitlements),
    lookAt,
    last: change?.place ?? before.last,
    left: [...left],
  } satisfies Attributes<typeof toldItem>;
  const isUnchanged = data === null && lookAt === before.lookAt && lost.length === 0;
  const asRead = before.isStored ? versionUnchanged(before.version) : absent;
  const indexed = { account } satisfies Attributes<typeof toldCustomerItem>;
  return [
    ...(isUnchanged ? [] : [update(keys.told(application, account), told, asRead)]),
    ...lookWrites(application, telling),
    ...lost.map((customer) => deletion(keys.toldCustomer(application, customer))),
    ...gained.map((customer) => put(keys.toldCustomer(application, customer), indexed)),
    ...(data === null || change === null
      ? []
      : [
          changeWrite(application, change, data, before.last),
          ...destinations.map(({ name: destination }) => {
            const version = { account, version: data.version, place: change.place };
            return deliveryWrite({ application, destination }, version, change.toldAt);
          }),
        ]),
  ];
};

export const createChangeTable = (table: Table, keyedHash: KeyedHash): ChangeTable => ({
  due: (application, moment, limit) => dueLooks(table, application, moment, limit),

  take: async (application, lease, moment) => {
    const item = await takeLease(table, keys.sequence(application), lease, moment);
    if (item === null) return null;
    const { sequence = 0, toldAt = 0 } = parseItem(turnItem, item);
    return { worker: lease.worker, sequence, toldAt };
  },

  release: async (application, lease) => releaseLease(table, keys.sequence(application), lease),

  areApplied: async (application, looks) => {
    const written = looks.flatMap(({ account, cause }) =>
      (cause?.customers ?? []).map((customer) => keys.accountCustomer(application, account, customer)),
    );
    for (const some of chunks(eachKeyOnce(written), ITEMS_PER_READ))
      if ((await readTogether(table, some, "pk")) === null) return false;
    return true;
  },

  toldOf: async (application, accounts) => {
    const wanted = accounts.map((account) => keys.told(application, account));
    const found = await readItems(table, wanted, toldItem);
    return Promise.all(
      accounts.map(async (account, index) => {
        const told = found[index];
        if (told != null) return told;
        const key = keys.erasedAccount(application, await keyedHash(application, account));
        const { version = 0 } = (await readItem(table, key, erasedAccountItem)) ?? {};
        return { account, version, isStored: false, digest: NO_STATE, lookAt: null, last: null, left: [] };
      }),
    );
  },

  forget: async (application, account, looks) => {
    const told = await toldOf(table, application, account);
    const erased = new Set(looks.flatMap(({ cause }) => (cause?.erased ? cause.customers : [])));
    await emptyChanges(table, application, told?.last ?? null, erased);
    // After a conflict, the looks are still due.
    await transact(table, [
      ...looks.map((look) => deletion(keys.look(application, look))),
      ...(told === null || told.digest.customers.length > 0
        ? []
        : await toldErasure(application, told, keyedHash)),
    ]);
  },

  accountsOf: async (application, customers) => toldAccountsOf(table, application, customers),

  write: async (application, { turn, toldAt, accounts, destinations }) => {
    const weightsOf = (telling: AccountTelling): readonly number[] => {
      const items = accountWrites(application, telling, UNPLACED, destinations).length;
      return [items, Buffer.byteLength(JSON.stringify(telling.data)) + BYTES_PER_ITEM * items];
    };
    // The sequence takes one item.
    const limits = [ITEMS_PER_TRANSACTION - 1, BYTES_PER_TRANSACTION];
    const day = dayOf(toldAt);
    let after = turn;
    for (const part of partsWithin(accounts, limits, weightsOf)) {
      const first = after.sequence + 1;
      let { sequence } = after;
      const writes = part.flatMap((telling) => {
        const change =
          telling.data === null ? null : { place: { day, sequence: (sequence += 1) }, first, toldAt };
        return accountWrites(application, telling, change, destinations);
      });
      const last = sequence > after.sequence ? { sequence, toldAt } : {};
      const told = { worker: turn.worker, ...last } satisfies Attributes<typeof turnItem> &
        Partial<LeaseAttributes>;
      const { outcome } = await transact(table, [
        update(keys.sequence(application), told, sequenceUnchanged(turn.worker, after.sequence)),
        ...writes,
      ]);
      if (outcome === "conflict") return { outcome, turn: after };
      after = { ...after, ...last };
    }
    return { outcome: "written", turn: after };
  },
});

export const createFeedTable = (table: Table): FeedTable => ({
  lastPlace: async (application) => {
    const { pk, sk } = keys.sequence(application);
    // The function's role allows queries alone.
    const [item] = await queryItems(table, { pk, sortKeyPrefix: sk });
    const { sequence, toldAt } = item === undefined ? {} : parseItem(turnItem, item);
    return sequence === undefined || toldAt === undefined ? null : { day: dayOf(toldAt), sequence };
  },
  changesOf: async function* (application, day, after, perPage) {
    const range = { pk: partitions.change(application, day), sortKeyAfter: sortKeys.change(after) };
    for await (const page of queryPages(table, { ...range, itemsPerPage: perPage }))
      yield parseItems(changeItem, page);
  },
});

/** Number of due looks searched for an account. More are due only if telling is late. */
const LOOKS_SEARCHED = 300;

/** All reads are strongly consistent. */
export const createToldTable = (table: Table): ToldTable => ({
  toldOf: (application, account) => toldOf(table, application, account),
  changeAt: (application, place) => readItem(table, keys.change(application, place), changeItem),
  waitingOf: async (reference, account) => {
    const delivery = await readItem(table, keys.delivery(reference, account), deliveryItem);
    return delivery?.kind === "account" ? delivery : null;
  },
  lookDueSince: async (application, account, moment) => {
    const looks = await dueLooks(table, application, moment, LOOKS_SEARCHED);
    return looks.find((look) => look.account === account)?.dueAt ?? null;
  },
});
