import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { startKit, type Kit } from "../../testing/kit.ts";
import { subscribersOf, subscriptionManifest, type Subscribers } from "./subscriber.ts";

/** Purchases that are linked once while no store notifies: from then on the service asks. */
export interface Asking {
  readonly kit: Kit;
  readonly subscribers: Subscribers;
  /** Moves the clock, lets the schedules run at each of these moments, and reads. */
  readAt(account: string, ...moments: readonly number[]): Promise<CustomerEntitlement>;
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
  };
};
