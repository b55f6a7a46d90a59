import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { startKit, type Kit } from "../../testing/kit.ts";
import { subscribersOf, subscriptionManifest, type Subscribers } from "./subscriber.ts";

/** Purchases that are linked once while no store notifies: from then on the service asks. */
export interface Asking {
  readonly kit: Kit;
  readonly subscribers: Subscribers;
  /** Moves the clock, lets the schedules run at each of these moments, and reads. */
  readAt(account: string, ...moments: readonly number[]): Promise<CustomerEntitlement>;
  /** Links a subscription whose product has no grace period. */
  readonly subscribe: Readonly<
    Record<
      "ios-store" | "android-store",
      (account: string) => Promise<{ fail(): Promise<unknown>; recover(): Promise<unknown> }>
    >
  >;
}

/** Schedules that ask the stores. */
const SCHEDULES = [
  "refresh-ios-store-purchases",
  "refresh-android-store-purchases",
  "sweep-android-store-refunds",
];

export const startAsking = async (): Promise<Asking> => {
  const kit = await startKit();
  const subscribers = subscribersOf(kit, await kit.application(subscriptionManifest()));
  return {
    kit,
    subscribers,
    readAt: async (account, ...moments) => {
      for (const moment of moments) {
        await kit.clock.moveTo(moment);
        for (const schedule of SCHEDULES) await kit.run(schedule);
      }
      return subscribers.read(account);
    },
    subscribe: {
      "ios-store": async (account) => {
        const change = await subscribers.onIos(account, { gracePeriod: null });
        return {
          fail: async () => change({ change: "fail-billing" }),
          recover: async () => change({ change: "recover" }),
        };
      },
      "android-store": async (account) => {
        const change = await subscribers.onAndroid(account);
        return {
          fail: async () => change({ change: "fail-billing", gracePeriod: null }),
          recover: async () => change({ change: "recover" }),
        };
      },
    },
  };
};
