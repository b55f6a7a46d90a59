import { receiveIosStoreNotification as definition } from "../../lib/contract/endpoints.ts";
import { receiveIosStoreNotification } from "../../lib/customers/receive-ios-store-notification.ts";
import { composeIosStoreReception } from "../wiring/ios-store.ts";
import { composeForward } from "../wiring/service.ts";
import { service } from "../environment/service.ts";
import { trustedRoots } from "../environment/stores.ts";
import { endpoint } from "../http/endpoint.ts";
import { logging } from "../observability/logger.ts";

const reception = composeIosStoreReception({
  ...service,
  trustedRoots: trustedRoots(),
  onNoteFailure: logging("warn", "notification not noted"),
});

const forwardOf = composeForward(service);

export const handler = endpoint(definition, ({ request, ...sent }) =>
  receiveIosStoreNotification({ ...reception, forward: forwardOf(sent) }, request),
);
