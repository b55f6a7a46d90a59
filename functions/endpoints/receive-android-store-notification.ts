import { receiveAndroidStoreNotification as definition } from "../../lib/contract/endpoints.ts";
import { receiveAndroidStoreNotification } from "../../lib/customers/receive-android-store-notification.ts";
import { composeAndroidStoreReception } from "../wiring/android-store.ts";
import { optionalVariable } from "../environment/configuration.ts";
import { service } from "../environment/service.ts";
import { googleAccess } from "../environment/stores.ts";
import { endpoint } from "../http/endpoint.ts";
import { logging } from "../observability/logger.ts";

const reception = composeAndroidStoreReception({
  ...service,
  ...googleAccess(),
  googleCertificatesUrl: optionalVariable("GOOGLE_CERTIFICATES_URL"),
  onNoteFailure: logging("warn", "notification not noted"),
});

export const handler = endpoint(definition, (push) => receiveAndroidStoreNotification(reception, push));
