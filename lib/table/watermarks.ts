import { GetCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import type { Watermarks } from "../customers/sweep.ts";
import { once } from "../once.ts";
import { sweepKey } from "./keys.ts";
import * as shape from "./shapes.ts";
import { parseItem, type Attributes, type Table } from "./table.ts";
import { updateOf } from "./writes.ts";

const watermarkItem = once(() => z.object({ sweptUntil: shape.integer() }));

/** One item for each bundle and package in each environment. */
export const createWatermarks = ({ client, name }: Table): Watermarks => ({
  read: async (swept) => {
    const Key = { ...sweepKey(swept) };
    const { Item } = await client.send(new GetCommand({ TableName: name, Key, ConsistentRead: true }));
    return Item === undefined ? null : parseItem(watermarkItem, Item).sweptUntil;
  },
  raise: async (swept, until) => {
    const attributes = { sweptUntil: until } satisfies Attributes<typeof watermarkItem>;
    await client.send(new UpdateCommand(updateOf(name, sweepKey(swept), attributes)));
  },
});
