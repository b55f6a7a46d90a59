import type { ApplicationDirectory } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AndroidStore } from "../stores/android-store/android-store.ts";
import type { AcknowledgementQueue } from "../table/acknowledgements.ts";
import type { DueAcknowledgement } from "../table/records.ts";

export interface AcknowledgementRun {
  readonly directory: ApplicationDirectory;
  readonly androidStore: AndroidStore;
  readonly queue: AcknowledgementQueue;
  readonly now: () => Instant;
}

/** What a run came to. */
export interface AcknowledgementReport {
  /** Acknowledged, or found to need it no more. */
  readonly done: number;
  /** Tried, and still due. */
  readonly due: number;
  /** Of those, the ones whose deadline is less than a day away. */
  readonly nearDeadline: number;
  /** Refused for good, or past the deadline: purchases that the store has refunded, or will. Production only. */
  readonly failed: number;
}

type Outcome = "done" | "due" | "failed";

const NEAR_MILLISECONDS = 24 * 3600 * 1000;
const TRIED_OF_SHARD = 100;
const AT_ONCE = 4;

const tryOne = async (
  { directory, androidStore }: AcknowledgementRun,
  due: DueAcknowledgement,
): Promise<Outcome> => {
  const application = await directory.byIdentifier(due.application);
  const configuration = application?.androidStore.find(({ packageName }) => packageName === due.packageName);
  if (configuration === undefined) return "due";
  const { purchaseToken, productKind } = due;
  const answer = await androidStore.lookUp(configuration, {
    purchaseToken,
    productKind,
    productIdentifier: null,
  });
  switch (answer.outcome) {
    case "rejected":
    case "gone":
      return "failed";
    case "unavailable":
    case "credential-rejected":
      return "due";
    case "verified":
      if (answer.acknowledgement === null) return "done";
      return (await androidStore.acknowledge(configuration, answer.acknowledgement)) === "acknowledged"
        ? "done"
        : "due";
  }
};

/**
 * Tries the acknowledgements that are due, the oldest first, a few at once, until all were tried or the moment given has
 * come. What is past its deadline is tried once more, and then given up.
 *
 * @param until no further one is begun from this moment on
 */
export const acknowledgeDuePurchases = async (
  run: AcknowledgementRun,
  until: Instant,
): Promise<AcknowledgementReport> => {
  const waiting = [...(await run.queue.oldest(TRIED_OF_SHARD))];
  const report = { done: 0, due: 0, nearDeadline: 0, failed: 0 };

  const settle = async (due: DueAcknowledgement): Promise<void> => {
    const tried = await tryOne(run, due).catch((): Outcome => "due");
    const outcome = tried === "due" && due.deadline <= run.now() ? "failed" : tried;
    if (outcome !== "due") await run.queue.remove(due);
    else if (due.deadline - run.now() < NEAR_MILLISECONDS && due.purchase.environment === "production")
      report.nearDeadline += 1;
    if (outcome !== "failed" || due.purchase.environment === "production") report[outcome] += 1;
  };
  const work = async (): Promise<void> => {
    for (let due = waiting.shift(); due !== undefined; due = waiting.shift()) {
      if (run.now() >= until) return;
      await settle(due);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return report;
};
