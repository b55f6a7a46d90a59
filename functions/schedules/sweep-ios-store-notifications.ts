import { sweepIosStoreNotifications } from "../../lib/customers/sweep-ios-store-notifications.ts";
import { composeIosStoreSweep } from "../wiring/ios-store.ts";
import { service } from "../environment/service.ts";
import { appleAccess } from "../environment/stores.ts";
import { logging } from "../observability/logger.ts";
import { sweeping } from "../runs.ts";

const sweep = composeIosStoreSweep({
  ...service,
  ...appleAccess(),
  onFailure: logging("error", "sweep failed"),
});

/** Reads Apple's histories of notifications, and uses them. */
export const handler = sweeping("ios-store", (until) => sweepIosStoreNotifications(sweep, until));
