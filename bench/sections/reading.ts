import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { storeFacts } from "../../lib/customers/storing/store-facts.ts";
import { DAY, MINUTE } from "../../lib/duration.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { accountId } from "../../lib/identifiers.ts";
import { partitions } from "../../lib/table/keys.ts";
import { DEMO } from "../../local/demo.ts";
import { newIdentifier } from "../../sandbox/ios-store/shop/payloads.ts";
import { costOf, inTurn, quantile, ratio, withWorld, median, COINS, type MeteredWorld } from "../measure.ts";
import { aLine, aPurchase } from "../../testing/support/stores/purchases.ts";

const READS = 60;
const PURCHASES_AT_ONCE = 1000;

const purchaseOf = (changes: Partial<Line>): Purchase => {
  const startsAt = Date.now() - 10 * DAY;
  const line = aLine({
    transactionIdentifier: newIdentifier("Production"),
    event: newIdentifier("Production"),
    productIdentifier: DEMO.iosSubscription,
    startsAt,
    purchasedAt: startsAt,
    endsAt: Date.now() + 20 * DAY,
    verifiedAt: Date.now() - DAY,
    ...changes,
  });
  return aPurchase({ key: line.transactionIdentifier ?? "", lines: [line] });
};

const pastCoins = (index: number): Purchase =>
  purchaseOf({
    productIdentifier: COINS,
    nature: "consumable",
    startsAt: Date.now() - index * MINUTE,
    endsAt: null,
  });

/** A customer with a subscription and past consumables. */
const customerWith = async (world: MeteredWorld, account: string, purchases: number): Promise<void> => {
  const all = [purchaseOf({}), ...Array.from({ length: purchases - 1 }, (_, index) => pastCoins(index))];
  const device = {
    store: "ios-store",
    kind: "app-transaction",
    environment: "production",
    value: newIdentifier("Production"),
  } as const;
  for (let from = 0; from < all.length; from += PURCHASES_AT_ONCE)
    await storeFacts(
      world.customers,
      world.application,
      {
        environment: "production",
        identities: [device],
        purchases: all
          .slice(from, from + PURCHASES_AT_ONCE)
          .map((purchase) => ({ purchase, mentioned: [], identity: device })),
        renewals: [],
        acknowledgementDue: null,
        origin: null,
      },
      { account: accountId(account), assertedBy: "credential" },
    );
};

const read = (world: MeteredWorld, account: string) =>
  readAccountEntitlements(world.customers, world.application.identifier, accountId(account));

const measure = async (world: MeteredWorld, purchases: number, customers: number) => {
  const account = uuid();
  for (let customer = 0; customer < customers; customer += 1)
    await customerWith(world, account, Math.max(1, Math.round(purchases / customers)));
  const times: number[] = [];
  for (let time = 0; time < READS; time += 1) {
    const start = performance.now();
    await read(world, account);
    times.push(performance.now() - start);
  }
  const { requests, readUnits } = await costOf(world, () => read(world, account));
  return {
    purchases,
    customers,
    requests,
    readUnits,
    milliseconds: { median: median(times), p99: quantile(times, 0.99) },
  };
};

/** Processor time of a read of one subscription, beside that of the document client's Query for the same item. */
const measureWarmRead = async (world: MeteredWorld) => {
  const account = uuid();
  await customerWith(world, account, 1);
  const { client, name: TableName } = world.table;
  const pk = partitions.account(world.application.identifier, accountId(account));
  const query = () =>
    client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": pk },
        ConsistentRead: true,
      }),
    );
  const [reading, querying] = await inTurn(
    [
      { name: "read", run: () => read(world, account).then(() => 1) },
      { name: "query", run: () => query().then(() => 1) },
    ],
    { rounds: 20, milliseconds: 500 },
  );
  if (reading === undefined || querying === undefined) throw new RangeError("Both sides were measured.");
  return {
    readMicroseconds: reading.cpuMicroseconds,
    queryMicroseconds: querying.cpuMicroseconds,
    ratio: ratio(reading.cpuRounds, querying.cpuRounds),
  };
};

/** Cost of reading an account, by the length of its history. */
export const measureReading = () =>
  withWorld(async (world) => {
    const rows = [];
    await measure(world, 1, 1);
    for (const customers of [1, 2, 10])
      for (const purchases of [1, 100, 10_000]) rows.push(await measure(world, purchases, customers));
    return { rows, warm: await measureWarmRead(world) };
  });
