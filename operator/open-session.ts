import { once } from "../lib/once.ts";
import { pause } from "../lib/pause.ts";
import { createApplicationTable } from "../lib/table/applications/applications.ts";
import { createAuditTable } from "../lib/table/applications/audit.ts";
import { createCredentialTable } from "../lib/table/applications/credentials.ts";
import { createDeliveryQueue } from "../lib/table/telling/delivery-queue.ts";
import { createDestinationTable } from "../lib/table/applications/destinations.ts";
import { createNotificationTimes } from "../lib/table/queues/notification-times.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { createWatermarks } from "../lib/table/queues/watermarks.ts";
import { createForwardQueue } from "../lib/table/telling/forwards.ts";
import { hashingAccounts } from "./commands/acting.ts";
import { composeAccountReport } from "./composition.ts";
import type { Connection } from "./connection.ts";
import type { Session } from "./session.ts";

interface SessionEffects extends Pick<Session, "now" | "wait" | "waitForIndex"> {
  /** Receives a warning for the operator that stops nothing. */
  readonly warn: (line: string) => void;
}

export const openSession = (
  { store: table, trustsOrigin, allowsDestination, masterSecret, readSecret, caller }: Connection,
  { now, wait, waitForIndex, warn }: SessionEffects,
): Session => {
  const moment = now();
  const report = composeAccountReport(table);
  return {
    table,
    applications: createApplicationTable(table),
    credentials: createCredentialTable(table),
    notifications: createNotificationTimes(table),
    trustsOrigin,
    allowsDestination,
    masterSecret,
    readSecret,
    audit: createAuditTable(table),
    caller: once(async () => {
      const { name, problem } = await caller();
      if (problem !== null) warn(problem);
      return name;
    }),
    hashAccounts: hashingAccounts(masterSecret, warn),
    destinations: createDestinationTable(table, pause),
    deliveries: createDeliveryQueue(table, pause),
    forwards: createForwardQueue(table),
    queue: createAskQueues(table),
    watermarks: createWatermarks(table),
    moment,
    accountReport: (application, account) => report(application, account, moment),
    now,
    wait,
    waitForIndex,
  };
};
