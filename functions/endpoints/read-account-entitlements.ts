import { readAccountEntitlements as definition } from "../../lib/contract/endpoints.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { accountId } from "../../lib/identifiers.ts";
import { composeAccountReading } from "../wiring/service.ts";
import { now } from "../environment/configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { table } from "../environment/service.ts";

const reading = composeAccountReading({ table, now });

export const handler = endpoint(definition, ({ applicationIdentifier, request }) =>
  readAccountEntitlements(reading, applicationIdentifier, accountId(request.applicationAccountIdentifier)),
);
