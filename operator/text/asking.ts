import { NOT_ASKED, type Asking, type NotAskedReason } from "../../lib/administration/reports/asking.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import type { PauseReason } from "../../lib/customers/asking/ask.ts";
import type { AskReason } from "../../lib/entitlements/next-ask.ts";
import type { PurchaseReference } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import type { QueueHealth } from "../../lib/queues/health.ts";

const STORE_NAMES = {
  "ios-store": "the App Store",
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

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const notAskedText = (store: Store, because: NotAskedReason): string =>
  `${capitalized(STORE_NAMES[store])} is not asked: ${NOT_ASKED[because]}`;

export const pauseText = (
  store: Store,
  health: QueueHealth<PauseReason> | null,
  moment: Instant,
): string[] => {
  if (health === null || health.because === null) return [];
  const { because, failingSince, pausedUntil } = health;
  const since = failingSince === null ? "" : ` since ${isoTime(failingSince)}`;
  const next = pausedUntil > moment ? `paused until ${isoTime(pausedUntil)}` : "tried again at once";
  return [`${capitalized(STORE_NAMES[store])} ${PAUSED[because]}${since}: the queue is ${next}`];
};

export const pauseJson = (health: QueueHealth<PauseReason> | null) =>
  health === null || health.because === null
    ? null
    : {
        because: health.because,
        since: health.failingSince,
        until: health.pausedUntil,
      };

export const askingText = (
  { store }: Pick<PurchaseReference, "store">,
  asking: Asking | undefined,
  moment: Instant,
): string[] => {
  if (asking === undefined) return [];
  if (asking.outcome === "none") return [notAskedText(store, asking.because)];
  const { at, because } = asking;
  const reason = DUE[because];
  const name = capitalized(STORE_NAMES[store]);
  const text =
    at > moment
      ? `${name} is asked about it at ${isoTime(at)}: ${reason}`
      : `${name} is asked about it next, due since ${isoTime(at)}: ${reason}`;
  return [text, ...pauseText(store, asking.health, moment)];
};

export const askingJson = (asking: Asking | undefined) => ({
  nextRefresh: asking?.outcome === "due" ? { at: asking.at, because: asking.because } : null,
  notAskedBecause: asking?.outcome === "none" ? asking.because : null,
  queuePaused: pauseJson(asking?.health ?? null),
});
