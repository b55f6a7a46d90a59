import * as z from "zod/mini";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { CHANGES_KEPT_MILLISECONDS } from "../../telling/change.ts";
import type { Look } from "../../telling/change-table.ts";
import { firstKnownItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import { put, writeAll } from "../dynamodb/writes.ts";
import { keys, partitions, sortKeys } from "../keys.ts";

const customer = () => shape.branded<CustomerId>(shape.text());

/** A due look at an account. */
export const lookItem = once(() =>
  z.object({
    account: shape.account(),
    dueAt: shape.integer(),
    cause: z.nullable(
      z.object({
        customer: customer(),
        version: shape.integer(),
        customers: z.array(customer()),
        erased: z.boolean(),
      }),
    ),
  }),
);

/** Makes a look due, in the transaction of the change that it must see. */
export const lookWrite = (application: ApplicationId, look: Look) => {
  const { account, dueAt, cause } = look;
  return put(keys.look(application, look), {
    account,
    dueAt,
    cause: cause === null ? null : { ...cause, customers: [...cause.customers] },
    // Expires if the application has stopped telling.
    ...expiry(dueAt + CHANGES_KEPT_MILLISECONDS),
  } satisfies Attributes<typeof lookItem>);
};

/** Looks due by the moment, oldest first. */
export const dueLooks = (
  table: Table,
  application: ApplicationId,
  moment: Instant,
  limit: number,
): Promise<Look[]> => {
  const range = { pk: partitions.look(application), sortKeyBefore: sortKeys.afterDueBy(moment) };
  return firstKnownItems(table, range, lookItem, limit);
};

export const makeLooksDue = (
  table: Table,
  application: ApplicationId,
  looks: readonly Look[],
): Promise<void> =>
  writeAll(
    table,
    looks.map((look) => lookWrite(application, look)),
  );
