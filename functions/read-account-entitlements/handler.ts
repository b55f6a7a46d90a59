import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeReadAccount, openTable } from "../../lib/service.ts";
import { now, requiredVariable } from "../configuration.ts";
import { endpoint } from "../endpoint.ts";

const readAccount = composeReadAccount({ table: openTable(requiredVariable("TABLE_NAME")), now });

export const handler = endpoint(endpoints.readAccountEntitlements, ({ applicationIdentifier, request }) =>
  readAccount(applicationIdentifier, request.applicationAccountIdentifier),
);
