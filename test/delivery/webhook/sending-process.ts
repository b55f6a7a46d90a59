import type { SendOutcome } from "../../../lib/delivery/send-outcome.ts";
import { createWebhookSender } from "../../../lib/delivery/webhook/webhook.ts";

// A process of its own, because Node.js reads the certificates that it trusts once, at start.

/** The parent's order: one attempt after another. */
export interface SendingOrder {
  readonly urls: readonly string[];
  readonly attemptMilliseconds: number;
}

/** The attempts' outcomes. */
export type SendingReport = readonly SendOutcome[];

process.on("message", ({ urls, attemptMilliseconds }: SendingOrder) => {
  const sender = createWebhookSender({
    isAnyAddressAllowed: true,
    lookup: async () => ["127.0.0.1"],
    attemptMilliseconds,
    now: Date.now,
  });
  void (async () => {
    const outcomes: SendOutcome[] = [];
    for (const url of urls)
      outcomes.push(
        await sender.send(url, { identifier: "msg_1", type: "test", timestamp: 0, data: {} }, [
          Buffer.alloc(32, 1),
        ]),
      );
    process.send?.(outcomes satisfies SendingReport, () => process.disconnect());
  })();
});
