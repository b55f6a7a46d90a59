import * as z from "zod";
import type { Store } from "../../lib/contract/schemas.ts";
import { DEMO } from "../../local/demo.ts";
import { medians, quantile } from "../measure.ts";
import {
  notifiedAndroidStore,
  notifiedIosStore,
  type NotifiedStore,
} from "../../testing/support/metered/notified-stores.ts";
import { serve } from "../serve.ts";
import { buyOnAndroid, linkOnAndroid, linkOnIos, postTo, type BenchService } from "../service.ts";
import { createMeteredWorld, type MeteredWorld } from "../../testing/support/metered/world.ts";

/** Cost of a store's notification of a known purchase, and the time until a read shows its effect. */
export interface NotificationsResult {
  readonly rows: readonly NotificationRow[];
  readonly shown: readonly ShownRow[];
}

export interface NotificationRow {
  readonly store: Store;
  readonly state: "renewal" | "replayed";
  readonly times: number;
  /** Signatures of payloads, or of the push's token. */
  readonly signatureChecks: number;
  readonly storeRequests: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly readUnits: number;
  readonly writeUnits: number;
  /** Medians. In each sample, the parts add up to the total. */
  readonly milliseconds: {
    readonly total: number;
    readonly verification: number;
    readonly store: number;
    readonly dynamoDb: number;
    readonly rest: number;
  };
}

/** Milliseconds from the change in the sandbox store to the answer of the read that shows its new end. */
export interface ShownRow {
  readonly store: Store;
  readonly changes: number;
  readonly p50: number;
  readonly p99: number;
}

const WARM_UPS = 20;
const NOTIFICATIONS = 40;

type Sample = Omit<NotificationRow, "store" | "state" | "times">;

/** Sends a notification, and counts what it costs. */
export const sample = async (
  world: MeteredWorld,
  notified: NotifiedStore,
  send: () => Promise<unknown>,
): Promise<Sample> => {
  world.meter.take();
  world.verifying.take();
  notified.asking.take();
  const before = { checks: notified.signatureChecks(), asked: notified.storeRequests() };
  const start = performance.now();
  await send();
  const total = performance.now() - start;
  const { milliseconds, ...consumption } = world.meter.take();
  const verification = world.verifying.take();
  const store = notified.asking.take();
  const dynamoDb = milliseconds.client;
  return {
    ...consumption,
    signatureChecks: notified.signatureChecks() - before.checks,
    storeRequests: notified.storeRequests() - before.asked,
    milliseconds: { total, verification, store, dynamoDb, rest: total - verification - store - dynamoDb },
  };
};

const rowOf = (
  store: Store,
  state: NotificationRow["state"],
  samples: readonly Sample[],
): NotificationRow => {
  const [first] = samples;
  if (first === undefined) throw new Error("Nothing was measured.");
  return {
    ...first,
    store,
    state,
    times: samples.length,
    milliseconds: medians(samples.map(({ milliseconds }) => milliseconds)),
  };
};

const rowsOf = async (world: MeteredWorld, notified: NotifiedStore): Promise<NotificationRow[]> => {
  const renewed: Sample[] = [];
  const replayed: Sample[] = [];
  for (let time = 0; time < WARM_UPS + NOTIFICATIONS; time += 1) {
    const send = await notified.renew();
    const first = await sample(world, notified, send);
    const again = await sample(world, notified, send);
    if (time < WARM_UPS) continue;
    renewed.push(first);
    replayed.push(again);
  }
  return [rowOf(notified.store, "renewal", renewed), rowOf(notified.store, "replayed", replayed)];
};

const costs = async (): Promise<NotificationRow[]> => {
  const world = await createMeteredWorld();
  const android = await notifiedAndroidStore(world);
  try {
    return [...(await rowsOf(world, notifiedIosStore(world))), ...(await rowsOf(world, android))];
  } finally {
    await android.close();
    await world.remove();
  }
};

/** A purchase in a sandbox store, linked to an account. */
interface Bought {
  readonly account: string;
  /** Address of its changes in the sandbox store. */
  readonly address: string;
}

const PURCHASES = 30;
const CHANGES_OF_ONE = 10;

/** Changes that a read shows at once: on iOS, a renewal ahead of its time is shown when its period begins. */
const CHANGES: Readonly<Record<Store, string>> = { "ios-store": "extend", "android-store": "renew" };

const iosPurchase = z.looseObject({ originalTransactionIdentifiers: z.tuple([z.string()]) });
const reading = z.object({ entitlements: z.tuple([z.object({ expiresAt: z.string() })]) });

const buyIn: Readonly<Record<Store, (service: BenchService, account: string) => Promise<Bought>>> = {
  "ios-store": async (service, account) => {
    const purchases = `${service.address}/sandbox/ios-store/purchases`;
    const bought = iosPurchase.parse(
      await postTo(purchases, { transactions: [{ productIdentifier: DEMO.iosSubscription }] }),
    );
    await linkOnIos(service, bought, account);
    return { account, address: `${purchases}/${bought.originalTransactionIdentifiers[0]}` };
  },
  "android-store": async (service, account) => {
    const purchaseToken = await buyOnAndroid(service.address);
    await linkOnAndroid(service, purchaseToken, account);
    return {
      account,
      address: `${service.address}/sandbox/android-publisher/purchases/${purchaseToken}`,
    };
  },
};

const endOf = async ({ address, apiKey }: BenchService, { account }: Bought): Promise<string> => {
  const response = await fetch(`${address}/v1/customers/${account}/entitlements`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  return reading.parse(await response.json()).entitlements[0].expiresAt;
};

/** Changes a purchase in the store, which answers once its notification is answered, and reads the account. */
const changeAndRead = async (
  service: BenchService,
  bought: Bought,
  change: string,
  end: string,
): Promise<string> => {
  await postTo(bought.address, { change });
  const shown = await endOf(service, bought);
  if (shown <= end) throw new Error(`The read after the notification shows the end ${shown}, as before.`);
  return shown;
};

const shownIn = async (service: BenchService, store: Store): Promise<ShownRow> => {
  const times: number[] = [];
  for (let purchase = 0; purchase <= PURCHASES; purchase += 1) {
    const bought = await buyIn[store](service, `${store}-${purchase}`);
    let end = await endOf(service, bought);
    for (let change = 0; change < CHANGES_OF_ONE; change += 1) {
      const start = performance.now();
      end = await changeAndRead(service, bought, CHANGES[store], end);
      // The first purchase starts the functions and is not counted.
      if (purchase > 0) times.push(performance.now() - start);
    }
  }
  return { store, changes: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
};

export const measureNotifications = async (): Promise<NotificationsResult> => {
  const rows = await costs();
  const service = await serve();
  try {
    const shown = [await shownIn(service, "ios-store"), await shownIn(service, "android-store")];
    return { rows, shown };
  } finally {
    await service.stop();
  }
};
