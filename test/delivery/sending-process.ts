import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { sendToEventBus } from "../../lib/delivery/event-bus.ts";
import type { SendOutcome } from "../../lib/delivery/message.ts";
import { createSender, signedWebhook } from "../../lib/delivery/webhook.ts";
import { BUS, MESSAGE, SECRETS, type SendingOrder } from "./sending.ts";

// A process of its own: Node.js reads the certificates that it trusts once, at start, and the SDK knows an error of
// Node.js by its class, which tests have their own of.

const put = async (endpoint: string, requestTimeout: number): Promise<SendOutcome> => {
  const client = new EventBridgeClient({
    region: "eu-west-1",
    endpoint,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    maxAttempts: 1,
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
  });
  return sendToEventBus(client, BUS, MESSAGE);
};

process.on("message", ({ to, urls, attemptMilliseconds }: SendingOrder) => {
  const send = createSender({
    allowsDestination: () => true,
    lookup: async () => ["127.0.0.1"],
    attemptMilliseconds,
    now: Date.now,
  });
  void (async () => {
    const outcomes: SendOutcome[] = [];
    for (const url of urls)
      if (to === "bus") outcomes.push(await put(url, attemptMilliseconds));
      else outcomes.push(await send(url, signedWebhook(MESSAGE, SECRETS, Date.now())));
    process.send?.(outcomes, () => process.disconnect());
  })();
});
