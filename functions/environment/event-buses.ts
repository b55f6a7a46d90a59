import { EventBridgeClient } from "@aws-sdk/client-eventbridge";

/** Most clients kept; the oldest goes. A stack's buses are of a few regions. */
const MOST_CLIENTS = 8;

const clients = new Map<string, EventBridgeClient>();

/** The client of a bus: EventBridge has one endpoint for each region. */
export const putEventsIn = (eventBus: string): EventBridgeClient => {
  const region = eventBus.split(":")[3] ?? "";
  const known = clients.get(region);
  if (known !== undefined) return known;
  // The next run retries failed events.
  const client = new EventBridgeClient({ region, maxAttempts: 2 });
  const [oldest] = clients.keys();
  if (clients.size >= MOST_CLIENTS && oldest !== undefined) clients.delete(oldest);
  clients.set(region, client);
  return client;
};
