import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import {
  STEP_MILLISECONDS,
  type LastNotification,
  type NotificationTimes,
} from "../../customers/notifications/notification-log.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { absentOrAtMost } from "../dynamodb/conditions.ts";
import { keys, partitions, prefixes } from "../keys.ts";
import { queryItems } from "../dynamodb/query.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, parseItem, type Attributes, type Item, type Table } from "../dynamodb/table.ts";
import { ifConditionHolds } from "../dynamodb/transactions.ts";
import { updateOf } from "../dynamodb/writes.ts";

const timeItem = once(() => z.object({ lastSignedAt: shape.integer() }));

export const notificationItem = once(() =>
  z.object({
    application: shape.branded<ApplicationId>(shape.uuid()),
    store: shape.store(),
    environment: shape.environment(),
    bundleOrPackage: shape.text(),
    lastSignedAt: shape.integer(),
  }),
);

const lastNotifications = (items: readonly Item[]): readonly LastNotification[] =>
  knownItems(notificationItem, items).map(({ lastSignedAt: signedAt, ...from }) => ({ ...from, signedAt }));

/** All last notifications are in one partition, so that the watch reads them in one Query. */
export const createNotificationTimes = (table: Table): NotificationTimes => ({
  raise: async (notified, signedAt) => {
    const { application, store, environment, bundleOrPackage } = notified;
    const attributes: Attributes<typeof notificationItem> = {
      application,
      store,
      environment,
      bundleOrPackage,
      lastSignedAt: signedAt,
    };
    const key = keys.notification(notified);
    const update = updateOf(
      table.name,
      key,
      attributes,
      absentOrAtMost("lastSignedAt", signedAt - STEP_MILLISECONDS),
    );
    return ifConditionHolds(
      async () => {
        await table.client.send(
          new UpdateCommand({ ...update, ReturnValuesOnConditionCheckFailure: "ALL_OLD" }),
        );
        return signedAt;
      },
      // The later time, as DynamoDB's JSON has it. No transaction writes it.
      ({ Item }) =>
        parseItem(timeItem, { ...key, lastSignedAt: Number(Item?.["lastSignedAt"]?.N) }).lastSignedAt,
    );
  },
  ofApplication: async (application) =>
    lastNotifications(
      await queryItems(table, {
        pk: partitions.notifications,
        sortKeyPrefix: prefixes.notification(application),
      }),
    ),
  all: async () => lastNotifications(await queryItems(table, { pk: partitions.notifications })),
});
