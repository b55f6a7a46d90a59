import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { createEventBusSender } from "../../lib/delivery/event-bus.ts";
import type { SendOutcome } from "../../lib/delivery/send-outcome.ts";

// A process of its own, because the SDK knows an error of Node.js by its class, which tests have their own of.

/** The parent's order: one message to a bus at each endpoint. */
export interface PuttingOrder {
  readonly endpoints: readonly string[];
  readonly requestTimeout: number;
}

/** The outcome at each endpoint. */
export type PuttingReport = readonly (readonly SendOutcome[])[];

const putAt = (endpoint: string, requestTimeout: number): Promise<readonly SendOutcome[]> => {
  const client = new EventBridgeClient({
    region: "eu-west-1",
    endpoint,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    maxAttempts: 1,
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
  });
  return createEventBusSender(client).send("arn:aws:events:eu-west-1:123456789012:event-bus/entitlements", [
    { identifier: "msg_1", type: "test", timestamp: 0, data: {} },
  ]);
};

process.on("message", ({ endpoints, requestTimeout }: PuttingOrder) => {
  void (async () => {
    const report = await Promise.all(endpoints.map((endpoint) => putAt(endpoint, requestTimeout)));
    process.send?.(report satisfies PuttingReport, () => process.disconnect());
  })();
});
