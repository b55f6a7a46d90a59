import type { Application } from "../../applications/application.ts";
import type { StoredPurchase } from "../../customers/storing/records.ts";
import { SECOND } from "../../duration.ts";
import { lastHeard, nextAsk } from "../../entitlements/next-ask.ts";
import { referenceText } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { askingOf, healthFor, healthsOf, type NotAskedReason, type QueueHealths } from "../reports/asking.ts";
import { read, type QueuedPurchase, type Refreshing } from "./refresh.ts";

/** Outcome for one purchase; `before` is as it was, `after` as it is now. */
export type RefreshedPurchase =
  | { readonly before: StoredPurchase; readonly outcome: "not-asked"; readonly because: NotAskedReason }
  /** It was erased meanwhile. */
  | { readonly before: StoredPurchase; readonly outcome: "erased" }
  | {
      readonly before: StoredPurchase;
      /**
       * `answered`: by its store, or an Android purchase that was verified less than a minute before. `dropped`: its store no
       * longer knows it. `unanswered`: the store is asked again at `after.ask`; null: never, it is over. `waiting`: it is
       * still in the queue.
       */
      readonly outcome: "answered" | "dropped" | "unanswered" | "waiting";
      readonly after: StoredPurchase;
    };

const outcomeOf = (
  queued: QueuedPurchase,
  after: StoredPurchase | undefined,
  moment: Instant,
): RefreshedPurchase => {
  const { before } = queued;
  if (queued.outcome === "not-asked") return { before, outcome: "not-asked", because: queued.because };
  if (after === undefined) return { before, outcome: "erased" };
  const { purchase, ask } = after;
  if (ask?.because === "requested") return { before, after, outcome: "waiting" };
  if (ask?.because === "no-answer") return { before, after, outcome: "unanswered" };
  if (ask !== null || lastHeard(purchase) > lastHeard(before.purchase))
    return { before, after, outcome: "answered" };
  const isExpected = nextAsk(purchase, moment, true) !== null;
  return { before, after, outcome: isExpected ? "dropped" : "unanswered" };
};

export interface RefreshProgress {
  readonly purchases: readonly RefreshedPurchase[];
  readonly healths: QueueHealths;
}

export const readRefreshes = async (
  refreshing: Refreshing,
  application: Application,
  queued: readonly QueuedPurchase[],
): Promise<RefreshProgress> => {
  const asked = queued.filter(({ outcome }) => outcome === "queued").map(({ before }) => before.purchase);
  const known = asked.length === 0 ? new Map() : await read(refreshing, application, asked);
  const moment = refreshing.now();
  const purchases = queued.map((one) =>
    outcomeOf(one, known.get(referenceText(one.before.purchase)), moment),
  );
  const waiting = purchases.filter(({ outcome }) => outcome === "waiting");
  return {
    purchases,
    healths: await healthsOf(
      refreshing.queue,
      waiting.map((one) => askingOf(application, "after" in one ? one.after : one.before)),
    ),
  };
};

const BETWEEN_LOOKS = SECOND;

/**
 * Waits until the queued purchases were asked about.
 *
 * @param milliseconds longest wait; ends early if every queue still waited for is paused for longer
 */
export const awaitRefreshes = async (
  refreshing: Refreshing,
  application: Application,
  queued: readonly QueuedPurchase[],
  milliseconds: number,
): Promise<RefreshProgress> => {
  let report = await readRefreshes(refreshing, application, queued);
  for (let left = milliseconds; left > 0; left -= BETWEEN_LOOKS) {
    const end = refreshing.now() + left;
    const waits = (one: RefreshedPurchase): boolean =>
      one.outcome === "waiting" &&
      (healthFor(report.healths, askingOf(application, one.after))?.pausedUntil ?? 0) <= end;
    if (!report.purchases.some(waits)) return report;
    await refreshing.wait(BETWEEN_LOOKS);
    report = await readRefreshes(refreshing, application, queued);
  }
  return report;
};
