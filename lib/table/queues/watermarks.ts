import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import type { Watermarks } from "../../customers/notifications/sweep.ts";
import { once } from "../../once.ts";
import { keys } from "../keys.ts";
import * as shape from "../dynamodb/shapes.ts";
import { parseItem, readItem, type Attributes, type Table } from "../dynamodb/table.ts";
import { updateOf } from "../dynamodb/writes.ts";

const watermarkItem = once(() => z.object({ sweptUntil: shape.integer() }));

/** One item for each bundle and package in each environment. */
export const createWatermarks = (table: Table): Watermarks => ({
  read: async (swept) => {
    const item = await readItem(table, keys.sweep(swept));
    return item === undefined ? null : parseItem(watermarkItem, item).sweptUntil;
  },
  raise: async (swept, until) => {
    const attributes = { sweptUntil: until } satisfies Attributes<typeof watermarkItem>;
    await table.client.send(new UpdateCommand(updateOf(table.name, keys.sweep(swept), attributes)));
  },
});
