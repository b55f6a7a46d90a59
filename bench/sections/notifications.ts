import type { Store } from "../../lib/contract/schemas.ts";
import { medians } from "../measure.ts";
import {
  notifiedAndroidStore,
  notifiedIosStore,
  type NotifiedStore,
} from "../../testing/support/metered/notified-stores.ts";
import { createMeteredWorld, type MeteredWorld } from "../../testing/support/metered/world.ts";

const WARM_UPS = 20;
const NOTIFICATIONS = 40;

type Sample = Awaited<ReturnType<typeof sample>>;

/** Sends a notification, and counts what it costs. The milliseconds of the parts add up to the total. */
export const sample = async (world: MeteredWorld, notified: NotifiedStore, send: () => Promise<unknown>) => {
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

const rowOf = (store: Store, state: "renewal" | "replayed", samples: readonly Sample[]) => {
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

const rowsOf = async (world: MeteredWorld, notified: NotifiedStore) => {
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

/** Cost of a store's notification of a known purchase. */
export const measureNotifications = async () => {
  const world = await createMeteredWorld();
  const android = await notifiedAndroidStore(world);
  try {
    return { rows: [...(await rowsOf(world, notifiedIosStore(world))), ...(await rowsOf(world, android))] };
  } finally {
    await android.close();
    await world.remove();
  }
};
