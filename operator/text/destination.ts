import type { DestinationReport } from "../../lib/administration/acts/destinations.ts";
import { overlapEnd } from "../../lib/delivery/webhook-secret.ts";
import { isWebhook, type Destination } from "../../lib/applications/destination.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { isSuspended } from "../../lib/delivery/destination-health.ts";
import type { QueueHealth } from "../../lib/queues/health.ts";
import { counted, type Lines } from "./answer.ts";

const stateOf = (health: QueueHealth): "suspended" | "failing" | "takes-messages" => {
  if (isSuspended(health)) return "suspended";
  return health.failures > 0 ? "failing" : "takes-messages";
};

export const healthJson = (health: QueueHealth) => ({
  state: stateOf(health),
  failingSince: health.failingSince,
  because: health.because,
  nextTryAt: stateOf(health) === "failing" ? health.pausedUntil : null,
});

export const destinationJson = ({ destination, health, waiting }: DestinationReport, moment: Instant) => ({
  name: destination.name,
  ...(isWebhook(destination)
    ? { kind: "webhook", url: destination.url }
    : { kind: "event-bus", eventBus: destination.eventBus }),
  health: healthJson(health),
  waiting,
  secret: isWebhook(destination)
    ? {
        shownAt: destination.secretEpochs[0] ?? null,
        previousSignsUntil: overlapEnd(destination, moment),
      }
    : null,
});

export const healthText = (health: QueueHealth): string => {
  const { failures, failingSince, because, pausedUntil } = health;
  if (failures === 0 || failingSince === null) return "takes messages";
  const since = isoTime(failingSince);
  return isSuspended(health)
    ? `suspended since ${since}: it answered 410 Gone`
    : `failing since ${since} (${because}); next try ${isoTime(pausedUntil)}`;
};

const waitingText = ({ waiting: { accounts, requests, since } }: DestinationReport): string =>
  since === null
    ? "nothing waits"
    : [
        counted(accounts, "account"),
        ...(requests > 0 ? [`and ${counted(requests, "request")} of the stores`] : []),
        accounts + requests === 1 ? "waits" : "wait",
        `since ${isoTime(since)}`,
      ].join(" ");

const secretLines = (destination: Destination, moment: Instant): readonly Lines[] => {
  if (!isWebhook(destination)) return [];
  const [newest] = destination.secretEpochs;
  if (newest === undefined) return ["its secret was never shown; destination rotate prints a new one"];
  const end = overlapEnd(destination, moment);
  return [
    `its secret was shown at ${isoTime(newest)}`,
    end !== null && `the previous secret signs too until ${isoTime(end)}`,
  ];
};

export const destinationText = (report: DestinationReport, moment: Instant): readonly Lines[] => {
  const { destination, health } = report;
  return [
    isWebhook(destination)
      ? `${destination.name}  webhook  ${destination.url}`
      : `${destination.name}  event bus  ${destination.eventBus}`,
    [
      `${healthText(health)}${isSuspended(health) ? "; destination resume ends that" : ""}`,
      waitingText(report),
      ...secretLines(destination, moment),
    ],
  ];
};
