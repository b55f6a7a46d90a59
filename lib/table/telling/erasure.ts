import * as z from "zod/mini";
import type { ForgetRequests, ForgetTold } from "../../administration/acts/operations.ts";
import { customerId, type AccountId, type ApplicationId, type CustomerId } from "../../identifiers.ts";
import { again, pause as briefly } from "../../pause.ts";
import type { ChangeData, ChangePlace, KeyedHash } from "../../telling/change.ts";
import { createApplicationReader } from "../applications/applications.ts";
import { absentOrOfAccount, present } from "../dynamodb/conditions.ts";
import { queryPages, readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, type Attributes, type Table } from "../dynamodb/table.ts";
import {
  deleteAll,
  deletion,
  ifConditionHolds,
  transact,
  update,
  write,
  writeAll,
} from "../dynamodb/writes.ts";
import { keys, partitions, prefixes } from "../keys.ts";
import { changeItem, lookWrite, toldAccountsOf, toldErasure, toldOf } from "./change-items.ts";

/** A change without what it says of the erased customers. */
const without = (erased: ReadonlySet<CustomerId>, data: ChangeData): ChangeData => {
  const isOfErased = ({ customerIdentifier }: ChangeData["entitlements"][number]): boolean =>
    erased.has(customerId(customerIdentifier));
  const hidden = new Set(data.entitlements.filter(isOfErased).map(({ identifier }) => identifier));
  return {
    ...data,
    changed: data.changed.filter((identifier) => !hidden.has(identifier)),
    customerIdentifiers: data.customerIdentifiers.filter((customer) => !erased.has(customer)),
    entitlements: data.entitlements.filter((one) => !isOfErased(one)),
  };
};

/** Whether the account lost a customer who is not erased. */
const tellsLoss = (
  erased: ReadonlySet<CustomerId>,
  { customerIdentifiers: before }: ChangeData,
  { customerIdentifiers: after }: ChangeData,
): boolean => before.some((customer) => !erased.has(customer) && !after.includes(customer));

/**
 * Removes the data of an account's changes before its last, linked by `previous`. A change that shows the loss of another
 * customer keeps its data, but for the erased customers': whoever follows the changes must not see that customer in two
 * accounts. Safe to repeat after an interruption: the newest is emptied first.
 *
 * @param erased null: nobody follows the changes any more, so all are emptied, also the last
 */
export const emptyChanges = async (
  table: Table,
  application: ApplicationId,
  last: ChangePlace | null,
  erased: ReadonlySet<CustomerId> | null,
): Promise<void> => {
  const read = async (at: ChangePlace | null) =>
    at === null ? null : readItem(table, keys.change(application, at), changeItem);
  let one = await read(last);
  for (let isLast = true; one !== null; isLast = false) {
    const before = await read(one.previous);
    const { data, place, isRedacted } = one;
    one = before;
    if (data === null || (isLast && erased !== null)) continue;
    const stays =
      erased !== null && (isRedacted || (before?.data != null && tellsLoss(erased, before.data, data)));
    const attributes: Partial<Attributes<typeof changeItem>> = stays
      ? { data: JSON.stringify(without(erased, data)), isRedacted: true }
      : { data: null, isRedacted: false };
    // Only an expired change has nothing to empty: after a conflict with a transaction, the data would stay.
    await ifConditionHolds(
      () => write(table, update(keys.change(application, place), attributes, present)),
      () => undefined,
    );
  }
};

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
  /** Items that lead from erased customers to the account go last, so that a repetition finds the account. */
  const forget = async (
    application: ApplicationId,
    account: AccountId,
    erased: readonly CustomerId[],
  ): Promise<"written" | "conflict"> => {
    const told = await toldOf(table, application, account);
    const keyOf = (customer: CustomerId) => keys.toldCustomer(application, customer);
    const last = erased.slice(0, LAST);
    const others = [...(told?.digest.customers ?? []), ...erased].filter((one) => !last.includes(one));
    await emptyChanges(table, application, told?.last ?? null, null);
    await deleteAll(table, [...new Set(others)].map(keyOf));
    const { outcome } = await transact(table, [
      ...last.map((customer) => deletion(keyOf(customer), absentOrOfAccount(account))),
      ...(told === null ? [] : await toldErasure(application, told, keyedHash)),
      ...(told?.lookAt == null
        ? []
        : [deletion(keys.look(application, { account, dueAt: told.lookAt, cause: null }))]),
    ]);
    return outcome;
  };

  return async (application, customers, account, moment, begin) => {
    const accounts = await toldAccountsOf(table, application, customers);
    if (await tells(application)) {
      if (accounts.size > 0) await begin();
      const looks = [...accounts].map(([customer, account]) => {
        const cause = { customer, version: 0, customers: [customer], erased: true };
        return lookWrite(application, { account, dueAt: moment, cause });
      });
      await writeAll(table, looks);
      return new Set(accounts.values()).size;
    }
    const isTold = account !== null && (await toldOf(table, application, account)) !== null;
    const named = new Set([...accounts.values(), ...(isTold ? [account] : [])]);
    if (named.size > 0) await begin();
    for (const one of named) {
      const erased = customers.filter((customer) => accounts.get(customer) === one);
      const failure = "Too many concurrent changes of the account. Erase the customer again.";
      await again(ATTEMPTS, table.pause ?? briefly, () => forget(application, one, erased), failure);
    }
    return named.size;
  };
};

/** The parts of a waiting request that are read: its other attributes may be of another version. */
const waitingRequest = () => {
  const named = z.nullish(z.string());
  const data = z.object({ customerIdentifier: named, applicationAccountIdentifier: named });
  return z.object({ message: z.object({ identifier: shape.text(), data: shape.jsonText(data) }) });
};

/** Implements {@link ForgetRequests}. Reads every request that waits for the application: there are few. */
export const createForgetRequests =
  (table: Table): ForgetRequests =>
  async (application, { customers, account }, begin) => {
    const isNamed = ({ message: { data } }: z.output<ReturnType<typeof waitingRequest>>): boolean =>
      customers.some((customer) => customer === data.customerIdentifier) ||
      (account !== null && data.applicationAccountIdentifier === account);
    const { destinations = [] } = (await createApplicationReader(table).load(application)) ?? {};
    let deleted = 0;
    for (const { name } of destinations) {
      const destination = { application, destination: name };
      const range = { pk: partitions.destination(destination), sortKeyPrefix: prefixes.requestDelivery };
      for await (const page of queryPages(table, range)) {
        const found = knownItems(waitingRequest, page).filter(isNamed);
        if (found.length === 0) continue;
        if (deleted === 0) await begin();
        await deleteAll(
          table,
          found.map(({ message }) => keys.requestDelivery(destination, message.identifier)),
        );
        deleted += found.length;
      }
    }
    return deleted;
  };
