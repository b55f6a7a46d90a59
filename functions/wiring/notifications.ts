import { v7 as uuid } from "uuid";
import type { IosStoreReception } from "../../lib/customers/receive-ios-store-notification.ts";
import { forwardableType } from "../../lib/delivery/forward-queue.ts";
import { createForwardQueue } from "../../lib/table/telling/forwards.ts";
import type { SentBody } from "../http/read-request.ts";
import { createNotificationLog } from "../../lib/customers/notifications/notification-log.ts";
import { createNotificationTimes } from "../../lib/table/queues/notifications.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/delivery-queue.ts";
import type { ServiceConfiguration } from "./service.ts";

export interface NotificationLogging {
  /** Receives a failure to note a notification. */
  readonly onNoteFailure: (error: unknown) => void;
}

export const notificationsOf = ({ table, onNoteFailure }: ServiceConfiguration & NotificationLogging) => ({
  note: createNotificationLog(createNotificationTimes(table), onNoteFailure),
  requests: createStoreRequestQueue(table),
});

/** Queues what a request brings, as it came, for the service that a bundle's notifications are forwarded to. */
export const composeForward = ({ table, now }: ServiceConfiguration) => {
  const queue = createForwardQueue(table);
  return ({ body, contentType }: SentBody): NonNullable<IosStoreReception["forward"]> =>
    async (application, bundleIdentifier) => {
      const since = now();
      const sent = { body, contentType: forwardableType(contentType) };
      await queue.add(
        { application, bundleIdentifier },
        { identifier: uuid(), ...sent, since, tries: 0, nextTryAt: since },
      );
    };
};
