import { isForwardedHere } from "../applications/application.ts";
import { chunks } from "../chunks.ts";
import { ServiceError } from "../contract/errors.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AppStoreServer } from "../stores/ios-store/app-store-server.ts";
import { iosStoreConfigurationOf } from "./application-stores.ts";
import { sweepApplications, type ReadPeriod, type SweepReport, type SweepRun } from "./sweep.ts";
import { type IosStoreReception, receiveIosStoreNotification } from "./receive-ios-store-notification.ts";

export interface IosStoreSweep extends IosStoreReception, SweepRun {
  readonly directory: IosStoreReception["directory"];
  readonly appStore: AppStoreServer;
}

/** Uses a notification as if it had been delivered. One that is refused would be refused again. */
const useNotification = async (sweep: IosStoreSweep, signedPayload: string): Promise<void> => {
  try {
    await receiveIosStoreNotification(sweep, { signedPayload });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === "STORE_UNAVAILABLE") throw error;
  }
};

/** Few: they may be of one person, whose writes conflict. */
const USED_TOGETHER = 4;

/**
 * Uses Apple's history of notifications as if they had been delivered: of every bundle with a key the undelivered ones,
 * or all where another service forwards.
 *
 * @param until no period begins, and no page is read, from this moment on
 */
export const sweepIosStoreNotifications = async (
  sweep: IosStoreSweep,
  until: Instant,
): Promise<SweepReport> => {
  const read: ReadPeriod = async (application, { bundleOrPackage, environment }, period) => {
    let found = 0;
    const bundle = iosStoreConfigurationOf(application, bundleOrPackage);
    if (bundle.serverApi === null || environment === "xcode") return { outcome: "read", found };
    const app = { bundleIdentifier: bundleOrPackage, environment, key: bundle.serverApi };
    const asked = { ...period, onlyFailures: !isForwardedHere(bundle) };
    let page: string | null = null;
    do {
      if (sweep.now() >= until) return { outcome: "stopped", found };
      const answer = await sweep.appStore.notificationHistory(app, asked, page);
      if (answer.outcome !== "answered") return { outcome: "stopped", found };
      for (const some of chunks(answer.content.signedPayloads, USED_TOGETHER))
        await Promise.all(some.map(async (signedPayload) => useNotification(sweep, signedPayload)));
      found += answer.content.signedPayloads.length;
      page = answer.content.next;
    } while (page !== null);
    return { outcome: "read", found };
  };
  return sweepApplications(sweep, "ios-store", read, until);
};
