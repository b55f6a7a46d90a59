import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeLinkIosStoreCustomer } from "../composition.ts";
import { now } from "../configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { observe } from "../observability/observe.ts";
import { table } from "../table.ts";
import { trustedRoots } from "../trusted-roots.ts";

const link = composeLinkIosStoreCustomer({
  table,
  trustedRoots: trustedRoots(),
  now,
  observe,
});

export const handler = endpoint(endpoints.linkIosStoreCustomer, ({ applicationIdentifier, request }) =>
  link(applicationIdentifier, request),
);
