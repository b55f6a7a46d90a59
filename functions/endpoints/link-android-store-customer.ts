import { linkAndroidStoreCustomer as definition } from "../../lib/contract/endpoints.ts";
import { linkAndroidStoreCustomer } from "../../lib/customers/link-android-store-customer.ts";
import { composeAndroidStoreLinking } from "../wiring/android-store.ts";
import { service } from "../environment/service.ts";
import { googleAccess } from "../environment/stores.ts";
import { endpoint } from "../http/endpoint.ts";

const linking = composeAndroidStoreLinking({ ...service, ...googleAccess() });

export const handler = endpoint(definition, ({ applicationIdentifier, request }) =>
  linkAndroidStoreCustomer(linking, applicationIdentifier, request),
);
