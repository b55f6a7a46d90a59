import type { NotificationWatch } from "../../lib/customers/notifications/notification-log.ts";
import { createNotificationTimes } from "../../lib/table/queues/notification-times.ts";
import { directoryOf, type ServiceConfiguration } from "./service.ts";

export const composeNotificationWatch = (configuration: ServiceConfiguration): NotificationWatch => ({
  times: createNotificationTimes(configuration.table),
  directory: directoryOf(configuration),
  now: configuration.now,
});
