import { endpoints } from "../../lib/contract/endpoints.ts";
import { composeReadAccountEntitlements } from "../composition.ts";
import { now } from "../configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { table } from "../table.ts";

const readAccountEntitlements = composeReadAccountEntitlements({ table, now });

export const handler = endpoint(endpoints.readAccountEntitlements, ({ applicationIdentifier, request }) =>
  readAccountEntitlements(applicationIdentifier, request.applicationAccountIdentifier),
);
