import type { DestinationReport } from "../../lib/administration/acts/destinations.ts";
import { overlapEnd } from "../../lib/delivery/webhook-secret.ts";
import { isWebhook, type Destination } from "../../lib/applications/destination.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { isSuspended, type DestinationHealth } from "../../lib/delivery/destination-health.ts";
import { counted, indent, timeOrNull } from "./answer.ts";

export const healthJson = (health: DestinationHealth) => ({
  state: isSuspended(health) ? "suspended" : health.failures > 0 ? "failing" : "takes-messages",
  failingSince: timeOrNull(health.failingSince),
  because: health.because,
  nextTryAt: health.failures === 0 || isSuspended(health) ? null : isoTime(health.pausedUntil),
});

export const destinationJson = ({ destination, health, waiting }: DestinationReport, moment: Instant) => ({
  name: destination.name,
  ...(isWebhook(destination)
    ? { kind: "webhook", url: destination.url }
    : { kind: "event-bus", eventBus: destination.eventBus }),
  health: healthJson(health),
  waiting: { ...waiting, since: timeOrNull(waiting.since) },
  secret: isWebhook(destination)
    ? {
        shownAt: timeOrNull(destination.secretEpochs[0] ?? null),
        previousSignsUntil: timeOrNull(overlapEnd(destination, moment)),
      }
    : null,
});

export const healthText = (health: DestinationHealth): string => {
  const { state, failingSince, because, nextTryAt } = healthJson(health);
  if (state === "takes-messages") return "takes messages";
  return state === "suspended"
    ? `suspended since ${failingSince}: it answered 410 Gone`
    : `failing since ${failingSince} (${because}); next try ${nextTryAt}`;
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

const secretLine = (destination: Destination, moment: Instant): string[] => {
  if (!isWebhook(destination)) return [];
  const [newest] = destination.secretEpochs;
  if (newest === undefined) return ["its secret was never shown; destination rotate prints a new one"];
  const end = overlapEnd(destination, moment);
  return [
    `its secret was shown at ${isoTime(newest)}`,
    ...(end === null ? [] : [`the previous secret signs too until ${isoTime(end)}`]),
  ];
};

export const destinationText = (report: DestinationReport, moment: Instant): string[] => {
  const { destination, health } = report;
  return [
    isWebhook(destination)
      ? `${destination.name}  webhook  ${destination.url}`
      : `${destination.name}  event bus  ${destination.eventBus}`,
    ...indent([
      isSuspended(health) ? `${healthText(health)}; destination resume ends that` : healthText(health),
      waitingText(report),
      ...secretLine(destination, moment),
    ]),
  ];
};
