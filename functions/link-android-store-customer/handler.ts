import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeLinkAndroidStoreCustomer, openTable } from "../../lib/service.ts";
import { now, optionalVariable, requiredVariable } from "../configuration.ts";
import { endpoint } from "../endpoint.ts";
import { observe } from "../observe.ts";
import { readSecret } from "../secrets.ts";

const link = composeLinkAndroidStoreCustomer({
  table: openTable(requiredVariable("TABLE_NAME")),
  androidPublisherUrl: optionalVariable("ANDROID_PUBLISHER_URL"),
  readSecret,
  now,
  observe,
});

export const handler = endpoint(endpoints.linkAndroidStoreCustomer, ({ applicationIdentifier, request }) =>
  link(applicationIdentifier, request),
);
