import { composeIosStoreRefresh } from "../wiring/ios-store-asking.ts";
import { service } from "../environment/service.ts";
import { appleAccess } from "../environment/stores.ts";
import { logging } from "../observability/logger.ts";
import { refreshing } from "../runs/store-runs.ts";

/** Asks Apple about due purchases. */
export const handler = refreshing(
  composeIosStoreRefresh({
    ...service,
    ...appleAccess(),
    onFailure: logging("error", "refresh failed"),
  }),
);
