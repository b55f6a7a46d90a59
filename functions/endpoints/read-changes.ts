import { readChanges as definition } from "../../lib/contract/endpoints.ts";
import { createFeedTable } from "../../lib/table/telling/changes.ts";
import { readChanges } from "../../lib/telling/read-changes.ts";
import { now } from "../environment/configuration.ts";
import { table } from "../environment/service.ts";
import { endpoint } from "../http/endpoint.ts";

const reading = { feed: createFeedTable(table), now };

export const handler = endpoint(definition, ({ applicationIdentifier, request }) =>
  readChanges(reading, applicationIdentifier, request),
);
