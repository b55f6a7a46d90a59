import type * as z from "zod/mini";
import { accountState, storeRequest } from "./schemas.ts";

interface MessageKind {
  readonly summary: string;
  readonly description: string;
  readonly data: () => z.ZodMiniType;
}

/** Messages to destinations, by `type`. */
export const MESSAGES = {
  "account.entitlements_changed": {
    summary: "Be told that what an account is entitled to has changed",
    description:
      "Sent at least once, in order of `version` for each account. A newer version takes the place of one that still waits.",
    data: accountState,
  },
  "store.request": {
    summary: "Be told what a store asks of the application",
    description: "This service never answers it.",
    data: storeRequest,
  },
} as const satisfies Record<string, MessageKind>;

export type MessageType = keyof typeof MESSAGES;
