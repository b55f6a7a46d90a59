import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import type { Message } from "./message.ts";
import type { SendOutcome } from "./send-outcome.ts";

/** Stand-in. */
export const createEventBusSender = (_client: EventBridgeClient) => ({
  send: (_bus: string, _messages: readonly Message[]): Promise<readonly SendOutcome[]> =>
    Promise.reject(new Error("to come")),
});
