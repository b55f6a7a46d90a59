import { endpoints } from "../../lib/contract/endpoints.ts";
import { receiveIosStoreNotification } from "../../lib/customers/receive-ios-store-notification.ts";
import { composeIosStoreReception } from "../wiring/ios-store.ts";
import { composeForward } from "../wiring/notifications.ts";
import { now } from "../environment/configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { logger, safely } from "../observability/logger.ts";
import { observe } from "../observability/observe.ts";
import { table } from "../environment/table.ts";
import { trustedRoots } from "../environment/trusted-roots.ts";

const reception = composeIosStoreReception({
  table,
  trustedRoots: trustedRoots(),
  now,
  observe,
  onNoteFailure: (error) => logger.warn("notification not noted", { error: safely(error) }),
});

const forwardOf = composeForward({ table, now });

export const handler = endpoint(endpoints.receiveIosStoreNotification, ({ request, ...sent }) =>
  receiveIosStoreNotification({ ...reception, forward: forwardOf(sent) }, request),
);
