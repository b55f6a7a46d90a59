import type { AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import { askGoogle } from "../../lib/customers/asking/ask-google.ts";
import type { AndroidStoreSweep } from "../../lib/customers/sweep-android-store-refunds.ts";
import type { GoogleAccess } from "../environment/stores.ts";
import { composeAndroidStoreLinking } from "./android-store.ts";
import { askRunOf, sweepRunOf } from "./asking.ts";
import type { Upkeep } from "./service.ts";

export const composeAndroidStoreRefresh = (configuration: Upkeep & GoogleAccess): AskRun => {
  const linking = composeAndroidStoreLinking(configuration);
  return askRunOf(configuration, {
    store: "android-store",
    directory: linking.directory,
    ask: async (application, due) => askGoogle(linking, application, due),
  });
};

export const composeAndroidStoreSweep = (configuration: Upkeep & GoogleAccess): AndroidStoreSweep => ({
  ...composeAndroidStoreLinking(configuration),
  ...sweepRunOf(configuration),
});
