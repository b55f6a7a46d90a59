import * as z from "zod/mini";
import type { Watermarks } from "../../customers/notifications/sweep.ts";
import { once } from "../../once.ts";
import { readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import type { Attributes, Table } from "../dynamodb/table.ts";
import { write } from "../dynamodb/transactions.ts";
import { update } from "../dynamodb/writes.ts";
import { keys } from "../keys.ts";

const watermarkItem = once(() => z.object({ sweptUntil: shape.integer() }));

/** One item for each bundle and package in each environment. */
export const createWatermarks = (table: Table): Watermarks => ({
  read: async (swept) => (await readItem(table, keys.sweep(swept), watermarkItem))?.sweptUntil ?? null,
  raise: async (swept, until) => {
    const attributes = { sweptUntil: until } satisfies Attributes<typeof watermarkItem>;
    await write(table, update(keys.sweep(swept), attributes));
  },
});
