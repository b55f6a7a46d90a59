import { endpoints } from "../../lib/contract/endpoints.ts";
import { linkAndroidStoreCustomer } from "../../lib/customers/link-android-store-customer.ts";
import { composeAndroidStoreLinking } from "../wiring/android-store.ts";
import { androidPublisherUrl, now } from "../environment/configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { observe } from "../observability/observe.ts";
import { readSecret } from "../environment/secrets.ts";
import { table } from "../environment/table.ts";

const linking = composeAndroidStoreLinking({
  table,
  androidPublisherUrl: androidPublisherUrl(),
  readSecret,
  now,
  observe,
});

export const handler = endpoint(endpoints.linkAndroidStoreCustomer, ({ applicationIdentifier, request }) =>
  linkAndroidStoreCustomer(linking, applicationIdentifier, request),
);
