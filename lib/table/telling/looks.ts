import * as z from "zod/mini";
import { epochSeconds } from "../../duration.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { CHANGES_KEPT_MILLISECONDS } from "../../telling/change.ts";
import type { Look } from "../../telling/look.ts";
import { TABLE } from "../dynamodb/key.ts";
import { keys } from "../keys.ts";
import * as shape from "../dynamodb/shapes.ts";
import type { Attributes, TimeToLive } from "../dynamodb/table.ts";
import { put, type TransactItem } from "../dynamodb/writes.ts";

const customer = () => shape.branded<CustomerId>(shape.text());

/** A due look at an account. */
export const lookItem = once(() =>
  z.object({
    account: shape.branded<AccountId>(shape.text()),
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

export const lookAttributes = ({ account, dueAt, cause }: Look) =>
  ({
    account,
    dueAt,
    cause: cause === null ? null : { ...cause, customers: [...cause.customers] },
    // Expires if the application has stopped telling.
    [TABLE.timeToLiveAttribute]: epochSeconds(dueAt + CHANGES_KEPT_MILLISECONDS),
  }) satisfies Attributes<typeof lookItem> & TimeToLive;

/** Makes a look due, in the transaction of the change that it must see. */
export const lookWrite = (table: string, application: ApplicationId, look: Look): TransactItem =>
  put(table, keys.look(application, look), lookAttributes(look));
