import { composeIosStoreRefresh } from "../wiring/ios-store.ts";
import { service } from "../environment/service.ts";
import { appleAccess } from "../environment/stores.ts";
import { logging } from "../observability/logger.ts";
import { refreshing } from "../runs.ts";

/** Asks Apple about due purchases. */
export const handler = refreshing(
  composeIosStoreRefresh({
    ...service,
    ...appleAccess(),
    onFailure: logging("error", "refresh failed"),
  }),
);
