import { endpoints } from "../../lib/contract/endpoints.ts";
import { linkIosStoreCustomer } from "../../lib/customers/link-ios-store-customer.ts";
import { composeIosStoreCustomers } from "../wiring/ios-store.ts";
import { now } from "../environment/configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { observe } from "../observability/observe.ts";
import { table } from "../environment/table.ts";
import { trustedRoots } from "../environment/trusted-roots.ts";

const customers = composeIosStoreCustomers({ table, trustedRoots: trustedRoots(), now, observe });

export const handler = endpoint(endpoints.linkIosStoreCustomer, ({ applicationIdentifier, request }) =>
  linkIosStoreCustomer(customers, applicationIdentifier, request),
);
