import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeSynchronizeIosStorePurchases, openTable } from "../../lib/service.ts";
import { now, requiredVariable } from "../configuration.ts";
import { endpoint } from "../endpoint.ts";
import { observe } from "../observe.ts";
import { trustedRoots } from "../trusted-roots.ts";

const synchronize = composeSynchronizeIosStorePurchases({
  table: openTable(requiredVariable("TABLE_NAME")),
  trustedRoots: trustedRoots(),
  now,
  observe,
});

export const handler = endpoint(endpoints.synchronizeIosStorePurchases, ({ request }) =>
  synchronize(request),
);
