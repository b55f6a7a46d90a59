import {
  healthFor,
  type Asking,
  type NotAskedReason,
  type QueueHealths,
} from "../lib/administration/asking.ts";
import type { Store } from "../lib/contract/schemas.ts";
import type { AskReason } from "../lib/entitlements/next-ask.ts";
import type { PurchaseReference } from "../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../lib/entitlements/time.ts";
import type { PauseReason, QueueHealth } from "../lib/freshness/queue-health.ts";
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
};

const NOT_ASKED: Readonly<Record<NotAskedReason, string>> = {
  xcode: "it knows nothing of purchases made in Xcode",
  "no-key": "the application gives no key of Apple's (serverApi) for the purchase's bundle",
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

/**
 * Why a store cannot be asked, since when, and until when something waits; empty: it can.
 *
 * @param asked the store, with `%` in place of the reason
 * @param waiting subject and verb of what waits, such as `the queue is` and `paused`
 */
const failingText = (
  { because, failingSince, pausedUntil }: QueueHealth,
  asked: string,
  waiting: readonly [subject: string, verb: string],
  moment: Instant,
): string[] => {
  if (because === null) return [];
  const [subject, verb] = waiting;
  const since = failingSince === null ? "" : ` since ${isoTime(failingSince)}`;
  const next = pausedUntil > moment ? `${verb} until ${isoTime(pausedUntil)}` : "tried again at once";
  return [`${asked.replace("%", PAUSED[because])}${since}: ${subject} ${next}`];
};

/** A queue's pause, in a sentence; empty: it is not paused. */
export const pauseText = (store: Store, health: QueueHealth | undefined, moment: Instant): string[] =>
  health === undefined
    ? []
    : failingText(health, `${capitalized(STORE_NAMES[store])} %`, ["the queue is", "paused"], moment);

/** Why the refreshes of one of several bundles or packages are put off, in a sentence; empty: they are not. */
export const putOffText = (
  store: Store,
  bundleOrPackage: string,
  health: QueueHealth,
  moment: Instant,
): string[] => {
  const asked = `Of ${bundleOrPackage}, ${STORE_NAMES[store]} %`;
  return failingText(health, asked, ["its refreshes are", "put off"], moment);
};

/** A queue's pause as JSON; null: it is not paused. */
export const pauseJson = (health: QueueHealth | undefined) =>
  health === undefined || health.because === null
    ? null
    : {
        because: health.because,
        since: timeOrNull(health.failingSince),
        until: isoTime(health.pausedUntil),
      };

/** When a purchase's store is asked about it next and why, or why not, in sentences. */
export const askingText = (
  purchase: Pick<PurchaseReference, "store" | "environment">,
  asking: Asking | undefined,
  healths: QueueHealths,
  moment: Instant,
): string[] => {
  const { store } = purchase;
  if (asking === undefined) return [];
  if (asking.outcome === "none") return [notAskedText(store, asking.because)];
  const { at, because } = asking;
  const reason = because === null ? "it was asked for, or its facts have changed since" : DUE[because];
  const name = capitalized(STORE_NAMES[store]);
  const text =
    at > moment
      ? `${name} is asked about it at ${isoTime(at)}: ${reason}`
      : `${name} is asked about it next, due since ${isoTime(at)}: ${reason}`;
  return [text, ...pauseText(store, healthFor(healths, purchase), moment)];
};

/** {@link askingText} as JSON. */
export const askingJson = (
  purchase: Pick<PurchaseReference, "store" | "environment">,
  asking: Asking | undefined,
  healths: QueueHealths,
) => ({
  nextRefresh: asking?.outcome === "due" ? { at: isoTime(asking.at), because: asking.because } : null,
  notAskedBecause: asking?.outcome === "none" ? asking.because : null,
  queuePaused: asking?.outcome === "due" ? pauseJson(healthFor(healths, purchase)) : null,
});
