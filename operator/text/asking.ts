import {
  healthFor,
  type Asking,
  type NotAskedReason,
  type QueueHealths,
} from "../../lib/administration/reports/asking.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import type { AskReason } from "../../lib/entitlements/next-ask.ts";
import type { PurchaseReference } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import type { PauseReason } from "../../lib/customers/asking/ask-queue.ts";
import type { QueueHealth } from "../../lib/queues/health.ts";
import { timeOrNull } from "./answer.ts";

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

const NOT_ASKED: Readonly<Record<NotAskedReason, string>> = {
  xcode: "it knows nothing of purchases made in Xcode",
  "no-key": "the application gives no key of Apple's (serverApi) for the purchase's bundle",
  "no-package": "the application no longer has the purchase's package",
  "unknown-bundle":
    "several bundles have a key, and the purchase's own is not known until the app synchronizes",
  environment: "the application does not accept the purchase's environment",
  mentioned: "the purchase is known only because another one names it",
  replaced: "another purchase has replaced it",
  "voided-list":
    "a paid one-time purchase changes only by a refund, which comes from the hourly list of voided purchases",
  dropped: "it no longer knows the purchase",
  "token-gone": "the purchase token is no longer in the queue; link the purchase again",
  over: "the purchase is over, and nothing more is expected",
  "not-queued":
    "the purchase was not queued since the key was given, or it no longer knows the purchase; customer refresh asks",
};

const PAUSED: Readonly<Record<PauseReason, string>> = {
  unavailable: "does not answer",
  "credential-rejected": "rejects the application's credential",
};

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Why a store is not asked, in a sentence. */
export const notAskedText = (store: Store, because: NotAskedReason): string =>
  `${capitalized(STORE_NAMES[store])} is not asked: ${NOT_ASKED[because]}`;

/** Why a queue is paused, since when and until when, in a sentence; empty: it is not. */
export const pauseText = (
  store: Store,
  health: QueueHealth<PauseReason> | undefined,
  moment: Instant,
): string[] => {
  if (health === undefined || health.because === null) return [];
  const { because, failingSince, pausedUntil } = health;
  const since = failingSince === null ? "" : ` since ${isoTime(failingSince)}`;
  const next = pausedUntil > moment ? `paused until ${isoTime(pausedUntil)}` : "tried again at once";
  return [`${capitalized(STORE_NAMES[store])} ${PAUSED[because]}${since}: the queue is ${next}`];
};

/** A queue's pause as JSON; null: it is not paused. */
export const pauseJson = (health: QueueHealth<PauseReason> | undefined) =>
  health === undefined || health.because === null
    ? null
    : {
        because: health.because,
        since: timeOrNull(health.failingSince),
        until: isoTime(health.pausedUntil),
      };

/** When a purchase's store is asked about it next and why, or why not, in sentences. */
export const askingText = (
  { store }: Pick<PurchaseReference, "store">,
  asking: Asking | undefined,
  healths: QueueHealths,
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
  return [text, ...pauseText(store, healthFor(healths, asking), moment)];
};

/** {@link askingText} as JSON. */
export const askingJson = (asking: Asking | undefined, healths: QueueHealths) => ({
  nextRefresh: asking?.outcome === "due" ? { at: isoTime(asking.at), because: asking.because } : null,
  notAskedBecause: asking?.outcome === "none" ? asking.because : null,
  queuePaused: asking?.outcome === "due" ? pauseJson(healthFor(healths, asking)) : null,
});
