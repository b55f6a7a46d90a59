import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { createEventBusSender } from "../../lib/delivery/event-bus.ts";
import type { SendOutcome } from "../../lib/delivery/send-outcome.ts";
import { createWebhookSender } from "../../lib/delivery/webhook/webhook.ts";
import { BUS, MESSAGE, SECRETS, type SendingOrder } from "./sending.ts";

// A process of its own: Node.js reads the certificates that it trusts once, at start, and the SDK knows an error of
// Node.js by its class, which tests have their own of.

const put = async (endpoint: string, requestTimeout: number): Promise<readonly SendOutcome[]> => {
  const client = new EventBridgeClient({
    region: "eu-west-1",
    endpoint,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    maxAttempts: 1,
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
  });
  return createEventBusSender(client).send(BUS, [MESSAGE]);
};

process.on("message", ({ to, urls, attemptMilliseconds }: SendingOrder) => {
  const lookup = async () => ["127.0.0.1"];
  const webhooks = createWebhookSender({
    isAnyAddressAllowed: true,
    lookup,
    attemptMilliseconds,
    now: Date.now,
  });
  void (async () => {
    const outcomes: SendOutcome[] = [];
    for (const url of urls)
      if (to === "bus") outcomes.push(...(await put(url, attemptMilliseconds)));
      else outcomes.push(await webhooks.send(url, MESSAGE, SECRETS));
    process.send?.(outcomes, () => process.disconnect());
  })();
});
