import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { customerId, type ApplicationId, type CustomerId } from "../../identifiers.ts";
import type { ChangeData, ChangePlace } from "../../telling/change.ts";
import { changeDataIn, changeItem } from "./change-items.ts";
import { present } from "../dynamodb/conditions.ts";
import { keys } from "../keys.ts";
import { parseItem, readItem, type Attributes, type Table } from "../dynamodb/table.ts";
import { ifConditionHolds } from "../dynamodb/transactions.ts";
import { updateOf } from "../dynamodb/writes.ts";

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

/** Whether a change tells that the account lost a customer who is not erased. */
const tellsLoss = (
  erased: ReadonlySet<CustomerId>,
  { customerIdentifiers: before }: ChangeData,
  { customerIdentifiers: after }: ChangeData,
): boolean => before.some((customer) => !erased.has(customer) && !after.includes(customer));

/**
 * Removes the data of an account's changes: the one at the place and all before it, linked by `previous`. A change that
 * shows the loss of another customer keeps its data, but for the erased customers': whoever follows the changes must
 * not see that customer in two accounts. Safe to repeat after an interruption: the newest is emptied first.
 *
 * @param keepsFirst whether the one at the place keeps its data
 * @param erased erased customers; null: nobody follows the changes any more, so all are emptied
 */
export const emptyChanges = async (
  table: Table,
  application: ApplicationId,
  last: ChangePlace | null,
  { keepsFirst, erased }: { readonly keepsFirst: boolean; readonly erased: ReadonlySet<CustomerId> | null },
): Promise<void> => {
  const read = async (at: ChangePlace) => {
    const item = await readItem(table, keys.change(application, at));
    if (item === undefined) return null;
    const { previous = null, isRedacted = false, data } = parseItem(changeItem, item);
    return { at, previous, isRedacted, data: data === undefined ? null : changeDataIn(item, data) };
  };
  let one = last === null ? null : await read(last);
  for (let isFirst = true; one !== null; isFirst = false) {
    const before: Awaited<ReturnType<typeof read>> = one.previous === null ? null : await read(one.previous);
    const { data } = one;
    if (data !== null && !(isFirst && keepsFirst)) {
      const stays =
        erased !== null && (one.isRedacted || (before?.data != null && tellsLoss(erased, before.data, data)));
      const attributes: Partial<Attributes<typeof changeItem>> = stays
        ? { data: JSON.stringify(without(erased, data)), isRedacted: true }
        : { data: undefined, isEmptied: true };
      const update = updateOf(table.name, keys.change(application, one.at), attributes, present);
      // Only an expired change has nothing to empty: after a conflict with a transaction, the data would stay.
      await ifConditionHolds(
        () => table.client.send(new UpdateCommand(update)),
        () => null,
      );
    }
    one = before;
  }
};
