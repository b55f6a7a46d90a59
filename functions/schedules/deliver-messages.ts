import { HOUR } from "../../lib/duration.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { allowedDestinations } from "../../lib/delivery/allowed-destinations.ts";
import { deliverMessages, type DeliveryReport } from "../../lib/delivery/deliver-messages.ts";
import { deliveryOfKey } from "../../lib/table/named-by-key.ts";
import { composeDelivery } from "../wiring/delivery.ts";
import { now, optionalVariable } from "../environment/configuration.ts";
import { putEventsIn } from "../environment/event-buses.ts";
import { endOf, type Invocation } from "../runs/invocation.ts";
import { masterSecret } from "../environment/master-secret.ts";
import { logger, safely } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";
import { calledFor, type ScheduleOrStreamEvent } from "../runs/stream-calls.ts";
import { table } from "../environment/table.ts";

const run = composeDelivery({
  table,
  now,
  masterSecret,
  allowsDestination: allowedDestinations(optionalVariable("DESTINATIONS")),
  eventBusClientOf: putEventsIn,
  onFailure: (error) => logger.error("delivery failed", { error: safely(error) }),
});

/** Time after which a destination that takes nothing needs a person. */
const DOWN_MILLISECONDS = HOUR;

const report = (done: DeliveryReport): DeliveryReport => {
  const { delivered, failed, oldest, failing } = done;
  if (delivered + failed + failing.length > 0)
    logger.info("messages delivered", {
      delivered,
      failed,
      oldestMilliseconds: oldest,
      failing: failing.map(({ failingSince, until, ...destination }) => ({
        ...destination,
        failingSince: isoTime(failingSince),
        until: isoTime(until),
      })),
    });
  if (delivered > 0) count("deliveries", { outcome: "OK" }, delivered);
  if (failed > 0) count("deliveries", { outcome: "FAILED" }, failed);
  if (oldest > 0) time("deliveryAge", oldest);
  const down = failing.filter(({ failingSince }) => now() - failingSince >= DOWN_MILLISECONDS).length;
  if (down > 0) count("destinationsDown", {}, down);
  return done;
};

/** Runs on a schedule, and earlier when the table's stream shows a new message. Delivers waiting messages. */
export const handler = async (
  event: ScheduleOrStreamEvent,
  context: Invocation,
): Promise<DeliveryReport | null> => {
  const only = calledFor(event, deliveryOfKey);
  if (only?.length === 0) return null;
  return report(await deliverMessages(run, endOf(context), only ?? undefined));
};
