import type { APIGatewayProxyEvent } from "aws-lambda";
import type { EndpointName } from "../../../lib/contract/endpoints.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { startTestStores, type TestStores } from "../../../testing/stores.ts";
import { fetchFrom } from "./in-process-fetch.ts";

export const PACKAGE_NAME = "com.example.trails";

/** Takes a store's notification, which is answered with success then. */
export type Receive = (endpoint: EndpointName, event: APIGatewayProxyEvent) => Promise<void>;

/** Both stores on one clock. */
export interface Stores extends TestStores {
  readonly clock: { now: Instant };
  receive: Receive;
  /** Answers requests to the stores in this process. */
  readonly fetch: typeof fetch;
  /** Moment of the stores' next event; `Infinity`: there is none. */
  nextEventAt(): Instant;
  /** Makes the events happen that are due, and pushes what the stores tell of them. */
  run(): Promise<void>;
  close(): Promise<void>;
}

export const openStores = async (start: Instant): Promise<Stores> => {
  const clock = { now: start };
  const created = await startTestStores(
    async (endpoint, event) => {
      await stores.receive(endpoint, event);
      return { statusCode: 200, body: "{}" };
    },
    () => clock.now,
    () => true,
  );
  const { ios, android } = created;
  const stores: Stores = {
    ...created,
    clock,
    receive: () => Promise.resolve(),
    fetch: fetchFrom(
      async (request, response) => (await ios.handle(request, response)) || android.handle(request, response),
    ),
    nextEventAt: () => Math.min(ios.nextEventAt() ?? Infinity, android.nextEventAt() ?? Infinity),
    run: async () => {
      await ios.runUntil(clock.now);
      await android.runUntil(clock.now);
      await android.pushed();
    },
    close: created.stop,
  };
  return stores;
};
