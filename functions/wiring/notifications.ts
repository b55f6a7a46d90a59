import { createNotificationLog } from "../../lib/customers/notification-log.ts";
import { createNotificationTimes } from "../../lib/table/queues/notification-times.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/store-requests.ts";
import type { ServiceConfiguration } from "./service.ts";

export interface NotificationLogging {
  /** Receives a failure to note a notification. */
  readonly onNoteFailure: (error: unknown) => void;
}

/** Where a received notification is noted, and its request passed on. */
export const notificationsOf = ({ table, onNoteFailure }: ServiceConfiguration & NotificationLogging) => ({
  note: createNotificationLog(createNotificationTimes(table), onNoteFailure),
  requests: createStoreRequestQueue(table),
});
