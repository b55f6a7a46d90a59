import { TransactGetCommand } from "@aws-sdk/lib-dynamodb";
import { applicationId, type AccountId, type ApplicationId } from "../../identifiers.ts";
import { dayOf } from "../../telling/change.ts";
import type { ChangeTable, KeyedHash } from "../../telling/change-table.ts";
import type { Look } from "../../telling/look.ts";
import { createBatchReader, eachKeyOnce } from "../dynamodb/batch-reader.ts";
import {
  accountWrites,
  erasedAccountItem,
  fromToldItem,
  turnItem,
  UNPLACED,
  neverPublished,
} from "./change-items.ts";
import { chunks } from "../../chunks.ts";
import { sequenceUnchanged } from "../dynamodb/conditions.ts";
import { emptyChanges } from "./emptied-changes.ts";
import { keyText } from "../dynamodb/key.ts";
import { keys, partitions, sortKeys } from "../keys.ts";
import { releaseLease, takeLease, type LeaseAttributes } from "../queues/lease.ts";
import { lookItem } from "./looks.ts";
import { queryPages } from "../dynamodb/query.ts";
import { knownItems, parseItem, readItem, type Attributes, type Table } from "../dynamodb/table.ts";
import { toldAccountsOf, toldErasure } from "./told.ts";
import { isConflict, transact } from "../dynamodb/transactions.ts";
import { deletion, setAttributes } from "../dynamodb/writes.ts";

/** A transaction reads at most 4 MB, and an item has up to 400 KB. */
const ITEMS_PER_READ = 10;

export const createChangeTable = (table: Table, keyedHash: KeyedHash): ChangeTable => {
  const { client, name } = table;
  const getAll = createBatchReader(table);

  const erasedVersion = async (application: ApplicationId, account: AccountId): Promise<number> => {
    const item = await readItem(
      table,
      keys.erasedAccount(application, await keyedHash(application, account)),
    );
    return item === undefined ? 0 : parseItem(erasedAccountItem, item).version;
  };

  return {
    due: async (application, moment, limit) => {
      const due: Look[] = [];
      const query = {
        pk: partitions.look(application),
        sortKeyBefore: sortKeys.afterDueBy(moment),
        itemsPerPage: limit,
      };
      for await (const page of queryPages(table, query)) {
        due.push(...knownItems(lookItem, page));
        // Items of an unknown shape must not hide those behind them.
        if (due.length >= limit) break;
      }
      return due.slice(0, limit);
    },

    take: async (application, lease, moment) => {
      const item = await takeLease(table, keys.sequence(application), lease, moment);
      if (item === null) return null;
      const { sequence = 0, toldAt = 0 } = parseItem(turnItem, item);
      return { worker: lease.worker, sequence, toldAt };
    },

    release: async (application, lease) => releaseLease(table, keys.sequence(application), lease),

    areApplied: async (application, looks) => {
      const written = eachKeyOnce(
        looks.flatMap(({ account, cause }) =>
          (cause?.customers ?? []).map((customer) => keys.accountCustomer(application, account, customer)),
        ),
      );
      for (const some of chunks(written, ITEMS_PER_READ))
        try {
          await client.send(
            new TransactGetCommand({
              TransactItems: some.map((Key) => ({
                Get: { TableName: name, Key: { ...Key }, ProjectionExpression: "pk" },
              })),
            }),
          );
        } catch (error) {
          if (isConflict(error)) return false;
          throw error;
        }
      return true;
    },

    toldOf: async (application, accounts) => {
      const found = await getAll(accounts.map((one) => keys.told(application, one)));
      return Promise.all(
        accounts.map(async (one) => {
          const item = found.get(keyText(keys.told(application, one)));
          return item === undefined
            ? neverPublished(one, await erasedVersion(application, one))
            : fromToldItem(item);
        }),
      );
    },

    forget: async (application, account, looks) => {
      const found = await getAll([keys.told(application, account)]);
      const [item] = found.values();
      const told = item === undefined ? null : fromToldItem(item);
      const erased = new Set(looks.flatMap(({ cause }) => (cause?.erased ? cause.customers : [])));
      await emptyChanges(table, application, told?.last ?? null, { keepsFirst: true, erased });
      // After a conflict, the looks are still due.
      await transact(table, [
        ...looks.map((look) => deletion(name, keys.look(application, look))),
        ...(told === null || told.digest.customers.length > 0
          ? []
          : await toldErasure(name, application, told, keyedHash)),
      ]);
    },

    accountsOf: async (application, customers) => toldAccountsOf(getAll, application, customers),

    itemsOf: (telling, destinations) =>
      accountWrites(name, applicationId(""), telling, UNPLACED, destinations).length,

    write: async (application, { turn, toldAt, accounts, destinations }) => {
      const first = turn.sequence + 1;
      const day = dayOf(toldAt);
      let sequence = turn.sequence;
      const writes = accounts.flatMap((telling) => {
        const change =
          telling.data === null ? null : { place: { day, sequence: (sequence += 1) }, first, toldAt };
        return accountWrites(name, application, telling, change, destinations);
      });
      const told = {
        worker: turn.worker,
        ...(sequence > turn.sequence && { sequence, toldAt }),
      } satisfies Attributes<typeof turnItem> & Partial<LeaseAttributes>;
      const { outcome } = await transact(table, [
        setAttributes(name, keys.sequence(application), told, sequenceUnchanged(turn.worker, turn.sequence)),
        ...writes,
      ]);
      return outcome;
    },
  };
};
