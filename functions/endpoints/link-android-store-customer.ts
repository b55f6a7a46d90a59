import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeLinkAndroidStoreCustomer } from "../composition.ts";
import { now, optionalVariable } from "../configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { observe } from "../observability/observe.ts";
import { readSecret } from "../secrets.ts";
import { table } from "../table.ts";

const link = composeLinkAndroidStoreCustomer({
  table,
  androidPublisherUrl: optionalVariable("ANDROID_PUBLISHER_URL"),
  readSecret,
  now,
  observe,
});

export const handler = endpoint(endpoints.linkAndroidStoreCustomer, ({ applicationIdentifier, request }) =>
  link(applicationIdentifier, request),
);
