import { ServiceError, type ErrorCode } from "../../contract/errors.ts";
import { isOfErased } from "../asking/ask.ts";
import type { NoteNotification } from "./notification-log.ts";
import type { RequestPassing } from "./store-request.ts";

/**
 * `STORED`: its facts are stored, or what it asks waits for a destination. `PARTLY_UNDERSTOOD`: so is what is
 * understood of it; a part is of an unknown form. `UNUSED`: it can never be used.
 */
export type NotificationUse = "STORED" | "PARTLY_UNDERSTOOD" | "UNUSED";

/**
 * For metrics. `FORGED`: not signed by the App Store, so anyone may have sent it. `INTERNAL_ERROR`: this service
 * failed.
 */
export interface ReceivedNotification {
  readonly outcome: NotificationUse | "FORGED" | ErrorCode;
  /** The store's name of its type; null: not authentic, or unreadable. */
  readonly type: string | null;
}

export interface Reception extends Pick<RequestPassing, "requests"> {
  readonly note: NoteNotification;
  /** Takes the outcome of each notification, once. */
  readonly onReceived: (received: ReceivedNotification) => void;
}

/** An erased customer's purchase can never be used; only a link with a credential lifts the erasure. */
export const storeNotified = (storing: Promise<unknown>): Promise<NotificationUse> =>
  storing.then(
    () => "STORED",
    (error: unknown) => {
      if (isOfErased(error)) return "UNUSED";
      throw error;
    },
  );

/**
 * Reports a failure, then throws the error that answers the store.
 *
 * @param isAnswered codes to answer with; others become `STORE_UNAVAILABLE`, so that the store sends again
 */
export const failNotification =
  (
    onReceived: (received: ReceivedNotification) => void,
    isAnswered: ReadonlySet<ErrorCode>,
    type: string | null,
  ) =>
  (error: unknown): never => {
    const isOurs = error instanceof ServiceError;
    onReceived({ outcome: isOurs ? error.code : "INTERNAL_ERROR", type });
    throw isOurs && isAnswered.has(error.code)
      ? error
      : new ServiceError("STORE_UNAVAILABLE", { cause: error });
  };
