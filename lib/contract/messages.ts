import * as z from "zod/mini";
import {
  accountState,
  ASSERTED_BY,
  component,
  described,
  ENVIRONMENTS,
  nullableTime,
  STORES,
  uuid,
} from "./schemas.ts";

/** `data` of a `store.request` message. */
export const storeRequest = component(
  "StoreRequest",
  () => ({
    applicationIdentifier: uuid("The application that is asked."),
    applicationAccountIdentifier: described(
      "The account; null where the customer is linked to none, or nobody is known.",
      z.nullable(z.string()),
    ),
    assertedBy: z.optional(
      described(
        "Who linked the customer to the account: your `credential`, or a `client` by a claim without one. Absent where there is no account.",
        z.enum(ASSERTED_BY),
      ),
    ),
    customerIdentifier: z.nullable(uuid("Customer of the purchase; null where none is known.")),
    store: z.enum(STORES),
    kind: described(
      "The store's own word: `CONSUMPTION_REQUEST`, `RESCIND_CONSENT`, `pendingRefundReviewNotification`; others may come.",
      z.string(),
    ),
    productIdentifier: described("Null where the store names no product.", z.nullable(z.string())),
    transactionIdentifier: described(
      "Null where the store names no transaction; `orderIdentifier` is Google's.",
      z.nullable(z.string()),
    ),
    answerBy: nullableTime("Time by which the store wants an answer; null where it names none."),
    environment: z.optional(
      described("Environment of the App Store; absent where the store does not say.", z.enum(ENVIRONMENTS)),
    ),
    bundleIdentifier: z.optional(described("The iOS app.", z.string())),
    packageName: z.optional(described("The Android app.", z.string())),
    orderIdentifier: z.optional(described("Google's order: `orderId` of `orders.reviewrefund`.", z.string())),
    pendingRefundToken: z.optional(
      described("`pendingRefundToken` of `orders.reviewrefund`. It is no purchase token.", z.string()),
    ),
    reason: z.optional(
      described(
        "The store's own word for why: Apple's `consumptionRequestReason`, Google's `refundReason`. Others may come.",
        z.string(),
      ),
    ),
  }),
  "`data` of a `store.request` message: what a store asks of the application. This service never answers it.",
);

export type StoreRequest = z.infer<ReturnType<typeof storeRequest>>;

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
