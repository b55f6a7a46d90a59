import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeLinkIosStoreCustomer } from "../../lib/service.ts";
import { now } from "../configuration.ts";
import { endpoint } from "../endpoint.ts";
import { observe } from "../observe.ts";
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
