import { NOT_ASKED, type Asking, type NotAskedReason } from "../../lib/administration/reports/asking.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import type { PauseReason } from "../../lib/customers/asking/ask.ts";
import type { AskReason } from "../../lib/entitlements/next-ask.ts";
import type { PurchaseReference } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { failingOf, type QueueHealth } from "../../lib/queues/health.ts";

const STORE_NAMES = {
  "ios-store": "The App Store",
  "android-store": "Google",
} as const satisfies Record<Store, string>;

const DUE: Readonly<Record<AskReason, string>> = {
  renewal: "it may be renewed, or come back",
  refund: "a refund, or the reversal of one, may not have been notified",
  payment: "its payment is pending",
  unsettled: "an upgrade or a renewal is known without its transaction",
  acknowledgement: "Google waits for its acknowledgement",
  notification: "its answer may be older than its notification",
  requested: "an operator asked for it",
  "no-answer": "the last question had no answer that could be used",
};

const PAUSED: Readonly<Record<PauseReason, string>> = {
  unavailable: "does not answer",
  "credential-rejected": "rejects the application's credential",
};

export const notAskedText = (store: Store, because: NotAskedReason): string =>
  `${STORE_NAMES[store]} is not asked: ${NOT_ASKED[because]}`;

export const pauseText = (
  store: Store,
  health: QueueHealth<PauseReason> | null,
  moment: Instant,
): string[] => {
  const failing = health && failingOf(health);
  if (failing === null) return [];
  const { because, failingSince, until } = failing;
  const next = until > moment ? `paused until ${isoTime(until)}` : "tried again at once";
  return [`${STORE_NAMES[store]} ${PAUSED[because]} since ${isoTime(failingSince)}: the queue is ${next}`];
};

export const pauseJson = (health: QueueHealth<PauseReason> | null) => {
  const failing = health && failingOf(health);
  return failing && { because: failing.because, since: failing.failingSince, until: failing.until };
};

export const askingText = (
  { store }: Pick<PurchaseReference, "store">,
  asking: Asking | undefined,
  moment: Instant,
): string[] => {
  if (asking === undefined) return [];
  if (asking.outcome === "none") return [notAskedText(store, asking.because)];
  const { at, because } = asking;
  const when = at > moment ? `at ${isoTime(at)}` : `next, due since ${isoTime(at)}`;
  return [
    `${STORE_NAMES[store]} is asked about it ${when}: ${DUE[because]}`,
    ...pauseText(store, asking.health, moment),
  ];
};

export const askingJson = (asking: Asking | undefined) => ({
  nextRefresh: asking?.outcome === "due" ? { at: asking.at, because: asking.because } : null,
  notAskedBecause: asking?.outcome === "none" ? asking.because : null,
  queuePaused: pauseJson(asking?.health ?? null),
});
