import type { DestinationHealth } from "../../lib/delivery/destination-health.ts";
import type { WaitingForwards } from "../../lib/delivery/forward-queue.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { timeOrNull } from "./answer.ts";
import { healthJson, healthText } from "./destination.ts";

export interface ForwardReport {
  readonly bundleIdentifier: string;
  readonly forwardTo: string;
  readonly waiting: WaitingForwards;
  readonly health: DestinationHealth;
}

export const forwardJson = ({ bundleIdentifier, forwardTo, waiting, health }: ForwardReport) => ({
  store: "ios-store",
  bundleOrPackage: bundleIdentifier,
  forwardTo,
  waiting: { ...waiting, since: timeOrNull(waiting.since) },
  health: healthJson(health),
});

const waitingText = ({ count, isMore, since }: WaitingForwards): string =>
  since === null
    ? "nothing waits"
    : `${count}${isMore ? " or more" : ""} ${count === 1 && !isMore ? "waits" : "wait"}, the oldest since ${isoTime(since)}`;

export const forwardText = ({ bundleIdentifier, forwardTo, waiting, health }: ForwardReport): string =>
  `Forwarding of ios-store ${bundleIdentifier} to ${forwardTo}: ${waitingText(waiting)}; ${healthText(health)}`;
