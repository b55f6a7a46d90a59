import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeReadAccount } from "../../lib/service.ts";
import { now } from "../configuration.ts";
import { endpoint } from "../endpoint.ts";
import { table } from "../table.ts";

const readAccount = composeReadAccount({ table, now });

export const handler = endpoint(endpoints.readAccountEntitlements, ({ applicationIdentifier, request }) =>
  readAccount(applicationIdentifier, request.applicationAccountIdentifier),
);
