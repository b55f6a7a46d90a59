import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeReadAccount } from "../composition.ts";
import { now } from "../configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { table } from "../table.ts";

const readAccount = composeReadAccount({ table, now });

export const handler = endpoint(endpoints.readAccountEntitlements, ({ applicationIdentifier, request }) =>
  readAccount(applicationIdentifier, request.applicationAccountIdentifier),
);
