import type { ForgetTold } from "../../administration/acts/operations.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { again, pause as briefly } from "../../pause.ts";
import type { KeyedHash } from "../../telling/change-table.ts";
import { createBatchReader } from "../dynamodb/batch-reader.ts";
import { createBatchWriter } from "../dynamodb/batch-writer.ts";
import { fromToldItem } from "./change-items.ts";
import { absentOrOfAccount } from "../dynamodb/conditions.ts";
import { emptyChanges } from "./emptied-changes.ts";
import { keys } from "../keys.ts";
import { lookAttributes } from "./looks.ts";
import { readItem, type Table } from "../dynamodb/table.ts";
import { toldAccountsOf, toldErasure } from "./told.ts";
import { transact } from "../dynamodb/transactions.ts";
import { deletion } from "../dynamodb/writes.ts";

const ATTEMPTS = 20;

/** Maximum number of erased customers whose items the last transaction deletes; it has room for more. */
const LAST = 50;

/**
 * Implements {@link ForgetTold}.
 *
 * @param tells whether an application tells changes
 */
export const createForgetTold = (
  table: Table,
  keyedHash: KeyedHash,
  tells: (application: ApplicationId) => Promise<boolean>,
): ForgetTold => {
  const { name: TableName, pause = briefly } = table;
  const getAll = createBatchReader(table);
  const writeAll = createBatchWriter(table);

  const toldOf = async (application: ApplicationId, account: AccountId) => {
    const item = await readItem(table, keys.told(application, account));
    return item === undefined ? null : fromToldItem(item);
  };

  /**
   * One attempt. Items that lead from erased customers to the account go last, so that a repetition finds the account.
   */
  const forget = async (
    application: ApplicationId,
    account: AccountId,
    erased: readonly CustomerId[],
  ): Promise<"written" | "conflict"> => {
    const told = await toldOf(application, account);
    const last = erased.slice(0, LAST);
    const others = [...(told?.digest.customers ?? []), ...erased].filter((one) => !last.includes(one));
    await emptyChanges(table, application, told?.last ?? null, { keepsFirst: false, erased: null });
    await writeAll(
      [...new Set(others)].map((customer) => ({ delete: keys.toldCustomer(application, customer) })),
    );
    const { outcome } = await transact(table, [
      ...last.map((customer) =>
        deletion(TableName, keys.toldCustomer(application, customer), absentOrOfAccount(account)),
      ),
      ...(told === null ? [] : await toldErasure(TableName, application, told, keyedHash)),
      ...(told?.lookAt == null
        ? []
        : [deletion(TableName, keys.look(application, { account, dueAt: told.lookAt, cause: null }))]),
    ]);
    return outcome;
  };

  return async (application, customers, account, moment, begin) => {
    const accounts = await toldAccountsOf(getAll, application, customers);
    if (await tells(application)) {
      if (accounts.size > 0) await begin();
      await writeAll(
        [...accounts].map(([customer, of]) => {
          const cause = { customer, version: 0, customers: [customer], erased: true };
          const look = { account: of, dueAt: moment, cause };
          return { put: { ...keys.look(application, look), ...lookAttributes(look) } };
        }),
      );
      return new Set(accounts.values()).size;
    }
    const linked = account !== null && (await toldOf(application, account)) !== null ? [account] : [];
    const named = new Set([...accounts.values(), ...linked]);
    if (named.size > 0) await begin();
    for (const one of named) {
      const erased = customers.filter((customer) => accounts.get(customer) === one);
      const failure = "Too many concurrent changes of the account. Erase the customer again.";
      await again(ATTEMPTS, pause, () => forget(application, one, erased), failure);
    }
    return named.size;
  };
};
