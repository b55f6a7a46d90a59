import { linkIosStoreCustomer as definition } from "../../lib/contract/endpoints.ts";
import { linkIosStoreCustomer } from "../../lib/customers/ios-store-customers.ts";
import { composeIosStoreCustomers } from "../wiring/ios-store.ts";
import { service } from "../environment/service.ts";
import { trustedRoots } from "../environment/stores.ts";
import { endpoint } from "../http/endpoint.ts";

const customers = composeIosStoreCustomers({ ...service, trustedRoots: trustedRoots() });

export const handler = endpoint(definition, ({ applicationIdentifier, request }) =>
  linkIosStoreCustomer(customers, applicationIdentifier, request),
);
