import * as z from "zod/mini";
import type { CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import * as shape from "../dynamodb/shapes.ts";

/** Entries of the first version have neither caller, accounts nor lines. */
export const auditItem = once(() =>
  z.object({
    action: shape.text(),
    moment: shape.integer(),
    by: shape.text(),
    caller: z.optional(shape.nullableText()),
    reason: shape.nullableText(),
    customer: z.nullable(shape.branded<CustomerId>(shape.uuid())),
    accounts: z.optional(shape.texts()),
    what: z.optional(shape.texts()),
  }),
);
