import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { HOUR } from "../../lib/duration.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { allowedDestinations } from "../../lib/delivery/addresses.ts";
import { deliverMessages, type DeliveryReport } from "../../lib/delivery/deliver-messages.ts";
import { deliveryOfKey } from "../../lib/table/keys.ts";
import { composeDelivery } from "../wiring/delivery.ts";
import { now, optionalVariable } from "../environment/configuration.ts";
import { masterSecret } from "../environment/master-secret.ts";
import { table } from "../environment/service.ts";
import { logger, logging } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";
import { calledByStream } from "../runs.ts";

const clients = new Map<string, EventBridgeClient>();

/** EventBridge has one endpoint for each region. */
const eventBusClientOf = (eventBus: string): EventBridgeClient => {
  const region = eventBus.split(":")[3] ?? "";
  // The next run retries failed events.
  const client = clients.get(region) ?? new EventBridgeClient({ region, maxAttempts: 2 });
  clients.set(region, client);
  return client;
};

const delivery = composeDelivery({
  table,
  now,
  masterSecret,
  allowsDestination: allowedDestinations(optionalVariable("DESTINATIONS")),
  eventBusClientOf,
  onFailure: logging("error", "delivery failed"),
});

/** Time after which a destination that takes nothing needs a person. */
const DOWN_MILLISECONDS = HOUR;

const report = ({ delivered, failed, oldest, failing }: DeliveryReport): void => {
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
};

/** Delivers waiting messages; earlier where the stream shows a new one. */
export const handler = calledByStream(deliveryOfKey, async (until, only) => {
  const done = await deliverMessages(delivery, until, only);
  report(done);
  return done;
});
