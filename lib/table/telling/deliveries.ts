import type { PutCommandInput } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { epochSeconds } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { CHANGES_KEPT_MILLISECONDS, type ChangePlace } from "../../telling/change.ts";
import type { Delivery, RequestDelivery } from "../../delivery/delivery-queue.ts";
import { absent } from "../dynamodb/conditions.ts";
import { jsonIn } from "../dynamodb/json-text.ts";
import { TABLE } from "../dynamodb/key.ts";
import * as shape from "../dynamodb/shapes.ts";
import type { Attributes, TimeToLive } from "../dynamodb/table.ts";
import { updateOf, type TransactItem } from "../dynamodb/writes.ts";
import { keys } from "../keys.ts";

const waiting = once(() => ({
  /** Time of the oldest message that the destination has not taken. */
  since: shape.integer(),
  tries: shape.integer(),
  nextTryAt: shape.integer(),
}));

const accountDeliveryItem = once(() =>
  z.object({
    account: shape.branded<AccountId>(shape.text()),
    version: shape.integer(),
    day: shape.text(),
    sequence: shape.integer(),
    ...waiting(),
  }),
);

/** Stored as JSON text, so that nothing is lost or reordered. */
const storedJson = once(() =>
  z.pipe(
    shape.text(),
    z.transform((written, context): unknown => {
      const value = jsonIn(written);
      if (value === undefined)
        context.issues.push({ code: "custom", message: "must be JSON text", input: written });
      return value;
    }),
  ),
);

export const requestDeliveryItem = once(() =>
  z.object({
    request: shape.text(),
    type: shape.text(),
    timestamp: shape.integer(),
    data: storedJson(),
    until: shape.integer(),
    ...waiting(),
  }),
);

export const deliveryItem = once(() => z.union([accountDeliveryItem(), requestDeliveryItem()]));

export const fromDeliveryItem = (item: z.output<ReturnType<typeof deliveryItem>>): Delivery => {
  const { since, tries, nextTryAt } = item;
  if ("account" in item) {
    const { account, version, day, sequence } = item;
    return { kind: "account", account, version, place: { day, sequence }, since, tries, nextTryAt };
  }
  const { request: identifier, type, timestamp, data, until } = item;
  const message = { identifier, type, timestamp, data };
  return { kind: "request", message, until, since, tries, nextTryAt };
};

/** A version of an account to deliver. */
export interface VersionToDeliver {
  readonly account: AccountId;
  readonly version: number;
  readonly place: ChangePlace;
  readonly since: Instant;
}

/** Makes a version due, in place of an older one that still waits. `since` keeps the time of the oldest. */
export const deliveryWrite = (
  TableName: string,
  application: ApplicationId,
  destination: string,
  { account, version, place, since }: VersionToDeliver,
): TransactItem => {
  const attributes = {
    account,
    version,
    day: place.day,
    sequence: place.sequence,
    tries: 0,
    nextTryAt: 0,
    [TABLE.timeToLiveAttribute]: epochSeconds(since + CHANGES_KEPT_MILLISECONDS),
  } satisfies Omit<Attributes<typeof accountDeliveryItem>, "since"> & TimeToLive;
  const update = updateOf(TableName, keys.delivery(application, destination, account), attributes);
  return {
    Update: {
      ...update,
      UpdateExpression: `${update.UpdateExpression}, since = if_not_exists(since, :since)`,
      ExpressionAttributeValues: { ...update.ExpressionAttributeValues, ":since": since },
    },
  };
};

/** Makes a store's request due, unless it waits already. */
export const requestDeliveryPut = (
  table: string,
  application: ApplicationId,
  destination: string,
  { message: { identifier, type, timestamp, data }, until }: Pick<RequestDelivery, "message" | "until">,
): PutCommandInput => ({
  TableName: table,
  Item: {
    ...keys.requestDelivery(application, destination, identifier),
    ...({
      request: identifier,
      type,
      timestamp,
      data: JSON.stringify(data),
      until,
      since: timestamp,
      tries: 0,
      nextTryAt: 0,
      [TABLE.timeToLiveAttribute]: epochSeconds(until),
    } satisfies Attributes<typeof requestDeliveryItem> & TimeToLive),
  },
  ...absent,
});
