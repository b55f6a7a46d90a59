import { sweepAndroidStoreRefunds } from "../../lib/customers/sweep-android-store-refunds.ts";
import { composeAndroidStoreSweep } from "../wiring/android-store.ts";
import { service } from "../environment/service.ts";
import { googleAccess } from "../environment/stores.ts";
import { logging } from "../observability/logger.ts";
import { sweeping } from "../runs.ts";

const sweep = composeAndroidStoreSweep({
  ...service,
  ...googleAccess(),
  onFailure: logging("error", "sweep failed"),
});

/** Reads Google's lists of voided purchases, and asks about those that are known here. */
export const handler = sweeping("android-store", (until) => sweepAndroidStoreRefunds(sweep, until));
