import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import {
  STEP_MILLISECONDS,
  type LastNotification,
  type NotificationTimes,
} from "../../customers/notifications.ts";
import type { Watermarks } from "../../customers/sweep.ts";
import { absentOrAtMost } from "../dynamodb/conditions.ts";
import { queryItems, readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, parseItem, type Attributes, type Item, type Table } from "../dynamodb/table.ts";
import { ifConditionHolds, update, write } from "../dynamodb/writes.ts";
import { keys, partitions, prefixes } from "../keys.ts";

const timeItem = () => z.object({ lastSignedAt: shape.integer() });

export const notificationItem = () =>
  z.object({
    application: shape.application(),
    store: shape.store(),
    environment: shape.environment(),
    bundleOrPackage: shape.text(),
    lastSignedAt: shape.integer(),
  });

const lastNotifications = (items: readonly Item[]): readonly LastNotification[] =>
  knownItems(notificationItem, items).map(({ lastSignedAt: signedAt, ...from }) => ({ ...from, signedAt }));

/** All last notifications are in one partition, so that the watch reads them in one Query. */
export const createNotificationTimes = (table: Table): NotificationTimes => ({
  raise: async (notified, signedAt) => {
    const { application, store, environment, bundleOrPackage } = notified;
    const key = keys.notification(notified);
    const attributes = { application, store, environment, bundleOrPackage, lastSignedAt: signedAt };
    const { Update } = update(
      key,
      attributes satisfies Attributes<typeof notificationItem>,
      absentOrAtMost("lastSignedAt", signedAt - STEP_MILLISECONDS),
    );
    const { client, name: TableName } = table;
    return ifConditionHolds(
      async () => {
        const onFailure = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
        await client.send(new UpdateCommand({ TableName, ...Update, ...onFailure }));
        return signedAt;
      },
      // The later time, as DynamoDB's JSON has it. No transaction writes it.
      ({ Item }) =>
        parseItem(timeItem, { ...key, lastSignedAt: Number(Item?.["lastSignedAt"]?.N) }).lastSignedAt,
    );
  },
  ofApplication: async (application) => {
    const sortKeyPrefix = prefixes.notification(application);
    return lastNotifications(await queryItems(table, { pk: partitions.notifications, sortKeyPrefix }));
  },
  all: async () => lastNotifications(await queryItems(table, { pk: partitions.notifications })),
});

const watermarkItem = () => z.object({ sweptUntil: shape.integer() });

/** One item for each bundle and package in each environment. */
export const createWatermarks = (table: Table): Watermarks => ({
  read: async (swept) => (await readItem(table, keys.sweep(swept), watermarkItem))?.sweptUntil ?? null,
  raise: async (swept, until) => {
    const attributes = { sweptUntil: until } satisfies Attributes<typeof watermarkItem>;
    await write(table, update(keys.sweep(swept), attributes));
  },
});
