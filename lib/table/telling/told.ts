import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { KeyedHash, Told } from "../../telling/change-table.ts";
import type { BatchReader } from "../dynamodb/batch-reader.ts";
import { erasedAccountItem, toldCustomerItem } from "./change-items.ts";
import { versionUnchanged } from "../dynamodb/conditions.ts";
import { keyText } from "../dynamodb/key.ts";
import { keys } from "../keys.ts";
import { parseItem, type Attributes } from "../dynamodb/table.ts";
import { deletion, put, type TransactItem } from "../dynamodb/writes.ts";

/** Accounts of the customers, as last told; customers without one are left out. */
export const toldAccountsOf = async (
  getAll: BatchReader,
  application: ApplicationId,
  customers: readonly CustomerId[],
): Promise<ReadonlyMap<CustomerId, AccountId>> => {
  const found = await getAll(customers.map((customer) => keys.toldCustomer(application, customer)));
  return new Map(
    customers.flatMap((customer) => {
      const item = found.get(keyText(keys.toldCustomer(application, customer)));
      return item === undefined ? [] : [[customer, parseItem(toldCustomerItem, item).account] as const];
    }),
  );
};

/** Deletes what an account was told, and keeps its version under a keyed hash of the account. */
export const toldErasure = async (
  table: string,
  application: ApplicationId,
  { account, version }: Told,
  keyedHash: KeyedHash,
): Promise<TransactItem[]> => [
  deletion(table, keys.told(application, account), versionUnchanged(version)),
  put(table, keys.erasedAccount(application, await keyedHash(application, account)), {
    version,
  } satisfies Attributes<typeof erasedAccountItem>),
];
