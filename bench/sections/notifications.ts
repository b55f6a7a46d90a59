import type { Store } from "../../lib/contract/schemas.ts";
import {
  notifiedAndroidStore,
  notifiedIosStore,
  type NotifiedStore,
  type MeteredWorld,
} from "../../testing/support/metered/world.ts";
import { costOf, summaryOf, withWorld } from "../measure.ts";

const WARM_UPS = 20;
const NOTIFICATIONS = 40;

type Sample = Awaited<ReturnType<typeof sample>>;

/** Sends a notification, and counts what it costs. The store's milliseconds are no part of the rest. */
export const sample = async (world: MeteredWorld, notified: NotifiedStore, send: () => Promise<unknown>) => {
  notified.asking.take();
  const before = { checks: notified.signatureChecks(), asked: notified.storeRequests() };
  const { milliseconds, ...cost } = await costOf(world, send);
  const store = notified.asking.take();
  return {
    ...cost,
    signatureChecks: notified.signatureChecks() - before.checks,
    storeRequests: notified.storeRequests() - before.asked,
    milliseconds: { ...milliseconds, store, rest: milliseconds.rest - store },
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
  const store: Store = notified.store;
  return [
    { store, state: "renewal", ...summaryOf(renewed) },
    { store, state: "replayed", ...summaryOf(replayed) },
  ];
};

/** Cost of a store's notification of a known purchase. */
export const measureNotifications = () =>
  withWorld(async (world) => {
    const android = await notifiedAndroidStore(world);
    try {
      return { rows: [...(await rowsOf(world, notifiedIosStore(world))), ...(await rowsOf(world, android))] };
    } finally {
      await android.close();
    }
  });
