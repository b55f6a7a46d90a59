import { DAY, HOUR, MINUTE, SECOND } from "../../duration.ts";
import {
  ASKED_AFTER_END,
  isLongOver,
  lastEnd,
  lastHeard,
  nextAsk,
  earliest,
  unsettledSince,
  type NextAsk,
} from "../../entitlements/next-ask.ts";
import {
  samePurchase,
  verifiedAs,
  type Purchase,
  type PurchaseReference,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId, PurchaseKey } from "../../identifiers.ts";
import type { QueueHealth } from "../../queues/health.ts";
import type { Queue } from "../../queues/work-off.ts";
import type { StoreInEnvironment } from "../application-stores.ts";
import type { Acknowledgement, AskSource, StoredPurchase } from "../storing/records.ts";

export interface DueAsk {
  readonly application: ApplicationId;
  readonly purchase: PurchaseReference;
  readonly ask: NextAsk;
  readonly source: AskSource;
  readonly acknowledgement: Acknowledgement | null;
}

export const PAUSE_REASONS = ["unavailable", "credential-rejected"] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Fields of a stored purchase that its queue item depends on. */
export type Asked = Pick<StoredPurchase, "purchase" | "ask" | "bundleOrPackage" | "acknowledgement">;

/** One queue for each bundle or package and environment. The transaction of a purchase's facts writes its item. */
export interface AskQueues {
  of(reference: StoreInEnvironment): Queue<DueAsk, PauseReason>;
  /** One that was never taken is healthy. */
  healthOf(reference: StoreInEnvironment): Promise<QueueHealth<PauseReason>>;
  /** Ends a pause: the next worker asks at once. */
  resume(reference: StoreInEnvironment): Promise<void>;
  /** Source of a queued purchase; null: it is in no queue. */
  sourceOf(application: ApplicationId, asked: Asked): Promise<AskSource | null>;
  /** Moves an item and its purchase's record of it; null: removes both. One that was moved meanwhile stays as it is. */
  move(due: DueAsk, to: NextAsk | null): Promise<void>;
  /** Sets a purchase's question. `conflict`: the purchase has changed since it was read. */
  set(
    application: ApplicationId,
    stored: Asked & Pick<StoredPurchase, "revision">,
    ask: NextAsk,
    source: AskSource,
  ): Promise<"written" | "conflict">;
  /** Ends an acknowledgement, and moves the question. A purchase that has changed since stays as it is. */
  acknowledged(
    application: ApplicationId,
    asked: Asked,
    source: AskSource,
    to: NextAsk | null,
  ): Promise<void>;
}

/**
 * `stored`: the answer, and the next question. `unknown`: not known to the store, or dropped; it may be a mistake, and
 * only the queue has an Android purchase's token, so it is asked about until it is long over. `unconfigured`: no
 * configuration or key, for now. `failed`: the answer cannot be used, or this service failed. `over`: no longer stored.
 * `unclaimed`: not asked, as nobody has the purchase that is to be acknowledged.
 */
export type AskOutcome =
  | {
      readonly outcome: "stored";
      /** Null: no acknowledgement was to be made. */
      readonly isAcknowledged?: boolean | null;
      /** Whether the store has refunded it, because it was not acknowledged in time. */
      readonly isRefunded?: boolean;
    }
  | { readonly outcome: "unavailable"; readonly retryAt: Instant | null }
  | {
      readonly outcome: "unknown" | "unconfigured" | "failed" | "over" | "unclaimed" | "credential-rejected";
    };

export type Said = AskOutcome["outcome"];

export interface FactsOrigin {
  readonly source: AskSource;
  /** Whether the store can be asked again and may have news. */
  readonly canAsk: boolean;
  /** Time at which this service asked the store; null: it did not. */
  readonly askedAt: Instant | null;
  /** Key of the purchase that the store was asked about. Unset: it was not asked, or about the only purchase of the facts. */
  readonly askedAbout?: PurchaseKey;
  /** Whether a notification of Google's had the store asked: its answer may be older than the notification. */
  readonly isNotified?: boolean;
}

/** No token stays for longer, if nothing works the queue off. */
export const KEPT_AFTER_DUE = 120 * DAY;

/** The question that is still in its queue: its item has not expired. */
export const queuedAsk = ({ ask }: Pick<StoredPurchase, "ask">, moment: Instant): NextAsk | null =>
  ask !== null && moment < ask.at + KEPT_AFTER_DUE ? ask : null;

/** Next try: 1 and 10 minutes after it became due, then hourly; near the deadline after a third of the rest. */
export const nextAcknowledgement = ({ dueSince, deadline }: Acknowledgement, after: Instant): Instant => {
  const [first, second] = [dueSince + MINUTE, dueSince + 10 * MINUTE];
  const step = after < first ? first : after < second ? second : after + HOUR;
  return deadline <= after
    ? step
    : Math.min(step, after + Math.max(MINUTE, Math.floor((deadline - after) / 3)));
};

/** Google is asked once more after a notification that brought nothing new. */
const ASKED_AGAIN_AFTER = MINUTE;

const LIFTED_ASKED_AFTER = 5 * SECOND;

export interface AskInput {
  readonly origin: FactsOrigin | null;
  readonly purchase: Purchase;
  readonly stored: StoredPurchase | undefined;
  readonly acknowledgement: Acknowledgement | null;
  /** Whether the facts lift an erasure: the device may hold a transaction from before a refund that was forgotten. */
  readonly liftsErasure: boolean;
  readonly moment: Instant;
}

export const hasChanged = ({ purchase, stored }: Pick<AskInput, "purchase" | "stored">): boolean =>
  stored === undefined || !samePurchase(stored.purchase, purchase);

const isNews = ({ purchase, stored }: AskInput): boolean =>
  stored === undefined || !samePurchase(verifiedAs(stored.purchase, 0), verifiedAs(purchase, 0));

const isAnswer = ({ askedAt, askedAbout }: FactsOrigin, { key }: Purchase): boolean =>
  askedAt !== null && (askedAbout === undefined || askedAbout === key);

const wantedBy = (origin: FactsOrigin, input: AskInput, heard: Instant): readonly (NextAsk | null)[] => {
  const { purchase, stored, acknowledgement, liftsErasure, moment } = input;
  const unsettled = unsettledSince(purchase, heard);
  const wasAsked =
    origin.askedAt !== null || (stored !== undefined && unsettledSince(stored.purchase, heard) === unsettled);
  const next = origin.canAsk ? nextAsk(purchase, heard, wasAsked) : null;
  return [
    // A device may have kept facts for weeks: their question waits behind those that are due already.
    next && { ...next, at: Math.max(next.at, moment) },
    acknowledgement && { at: nextAcknowledgement(acknowledgement, moment), because: "acknowledgement" },
    origin.isNotified === true && origin.canAsk && !isNews(input)
      ? { at: moment + ASKED_AGAIN_AFTER, because: "notification" }
      : null,
    liftsErasure && purchase.store === "ios-store"
      ? { at: Math.max(moment, heard) + LIFTED_ASKED_AFTER, because: "unsettled" }
      : null,
  ];
};

/** The question after new facts; null: none. Facts only bring it nearer; an answer, or a later end, sets it anew. */
export const askAfter = (input: AskInput): NextAsk | null => {
  const { origin, purchase, stored, moment } = input;
  const known = stored?.ask ?? null;
  if (origin === null || purchase.environment === "xcode") return known;
  const isIos = purchase.store === "ios-store";
  if (isIos && !origin.canAsk) return known;
  const queued = stored === undefined ? null : queuedAsk(stored, moment);
  const isExpired = known !== null && queued === null;
  const answers = isAnswer(origin, purchase);
  const waited = stored?.acknowledgement ?? null;
  const isAcknowledged = waited !== null && input.acknowledgement === null;
  const isDue = waited === null && input.acknowledgement !== null;
  const isChanged = hasChanged(input);
  const isTold = isChanged || answers || origin.isNotified === true || input.liftsErasure;
  if (!isTold && !isAcknowledged && !isDue && !isExpired) return known;
  const heard = Math.max(lastHeard(purchase), origin.askedAt ?? 0, isExpired ? moment : 0);
  const wanted = earliest(wantedBy(origin, input, heard));
  const setsAnew =
    answers ||
    isAcknowledged ||
    stored === undefined ||
    (isIos ? lastEnd(purchase) > lastEnd(stored.purchase) : isChanged || !origin.canAsk);
  return setsAnew ? wanted : earliest([queued, wanted]);
};

/** Within a day of an end: the renewal leeway may run. */
const UNANSWERED_STEP = 5 * MINUTE;
const UNANSWERED_LATER_STEP = HOUR;

const SAYS_NOTHING: ReadonlySet<Said> = new Set(["unavailable", "credential-rejected", "failed"]);

export const askAfterFailure = (
  { purchase, acknowledgement }: Pick<StoredPurchase, "purchase" | "acknowledgement">,
  said: Said,
  moment: Instant,
): NextAsk | null => {
  const next = nextAsk(purchase, moment, true);
  const isOver = isLongOver(purchase, moment);
  if (isOver && !SAYS_NOTHING.has(said)) return null;
  const tried =
    acknowledgement &&
    ({ at: nextAcknowledgement(acknowledgement, moment), because: "acknowledgement" } as const);
  if (said === "unclaimed") return earliest([next, tried]);
  const isLast = next === null && moment >= lastHeard(purchase) + ASKED_AFTER_END;
  const step = purchase.lines.some(
    ({ endsAt }) => endsAt !== null && endsAt <= moment && moment < endsAt + DAY,
  )
    ? UNANSWERED_STEP
    : SAYS_NOTHING.has(said)
      ? UNANSWERED_LATER_STEP
      : Infinity;
  const repeats = isLast || isOver || said === "unconfigured" ? Infinity : moment + step;
  const at = Math.min(next?.at ?? Infinity, tried?.at ?? Infinity, repeats);
  return at === Infinity ? null : { at, because: "no-answer" };
};
