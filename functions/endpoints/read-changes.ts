import { endpoints } from "../../lib/contract/endpoints.ts";
import { readChanges } from "../../lib/telling/read-changes.ts";
import { composeFeedReading } from "../wiring/feed-reading.ts";
import { now } from "../environment/configuration.ts";
import { endpoint } from "../http/endpoint.ts";
import { table } from "../environment/table.ts";

const reading = composeFeedReading({ table, now });

export const handler = endpoint(endpoints.readChanges, ({ applicationIdentifier, request }) =>
  readChanges(reading, applicationIdentifier, request),
);
