import type * as z from "zod/mini";
import { accountState } from "./schemas.ts";
import { storeRequest } from "./store-request.ts";

interface MessageKind {
  readonly summary: string;
  readonly description: string;
  readonly data: () => z.ZodMiniType;
}

/** Messages to destinations, by `type`. */
export const MESSAGES = {
  "account.entitlements_changed": {
    summary: "An account's entitlements changed",
    description:
      "Sent at least once, in order of `version` for each account. A newer version takes the place of one that still waits.",
    data: accountState,
  },
  "store.request": {
    summary: "A store asks the application something",
    description: "This service never answers it.",
    data: storeRequest,
  },
} as const satisfies Record<string, MessageKind>;

export type MessageType = keyof typeof MESSAGES;
