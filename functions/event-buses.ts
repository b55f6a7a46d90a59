import { EventBridgeClient } from "@aws-sdk/client-eventbridge";

const clients = new Map<string, EventBridgeClient>();

/** The client of a bus: EventBridge has one endpoint for each region. */
export const putEventsIn = (eventBus: string): EventBridgeClient => {
  const region = eventBus.split(":")[3] ?? "";
  const known = clients.get(region);
  if (known !== undefined) return known;
  // The next run retries failed events.
  const client = new EventBridgeClient({ region, maxAttempts: 2 });
  clients.set(region, client);
  return client;
};
