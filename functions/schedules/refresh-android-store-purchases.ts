import { composeAndroidStoreRefresh } from "../wiring/android-store.ts";
import { service } from "../environment/service.ts";
import { googleAccess } from "../environment/stores.ts";
import { logging } from "../observability/logger.ts";
import { refreshing } from "../runs.ts";

/** Asks Google about due purchases. */
export const handler = refreshing(
  composeAndroidStoreRefresh({
    ...service,
    ...googleAccess(),
    onFailure: logging("error", "refresh failed"),
  }),
);
