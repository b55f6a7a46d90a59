import { endpoints } from "../../lib/contract/endpoints.ts";
import { receiveAndroidStoreNotification } from "../../lib/customers/receive-android-store-notification.ts";
import { composeAndroidStoreReception } from "../wiring/android-store.ts";
import { androidPublisherUrl, now, optionalVariable } from "../environment/configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { logger, safely } from "../observability/logger.ts";
import { observe } from "../observability/observe.ts";
import { readSecret } from "../environment/secrets.ts";
import { table } from "../environment/table.ts";

const reception = composeAndroidStoreReception({
  table,
  androidPublisherUrl: androidPublisherUrl(),
  googleCertificatesUrl: optionalVariable("GOOGLE_CERTIFICATES_URL"),
  readSecret,
  now,
  observe,
  onNoteFailure: (error) => logger.warn("notification not noted", { error: safely(error) }),
});

export const handler = endpoint(endpoints.receiveAndroidStoreNotification, (push) =>
  receiveAndroidStoreNotification(reception, push),
);
