import type { ApplicationDirectory } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { AndroidStore } from "../stores/android-store/android-store.ts";
import type { AcknowledgementQueue } from "./acknowledgement-queue.ts";
import type { DueAcknowledgement } from "./records.ts";

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
  /** Applications whose credential the store refuses; absent where there is none. */
  readonly credentialRejectedOf?: readonly ApplicationId[];
}

type Outcome = "done" | "due" | "failed";

const NEAR_MILLISECONDS = 24 * 3600 * 1000;

/**
 * Tries one. `unusable` notes applications whose credential the store refuses to read with: the rest of theirs can wait for
 * a hand. `rejected` notes those and the ones that may read and not acknowledge.
 */
const tryOne = async (
  { directory, androidStore }: AcknowledgementRun,
  due: DueAcknowledgement,
  unusable: Set<ApplicationId>,
  rejected: Set<ApplicationId>,
): Promise<Outcome> => {
  if (unusable.has(due.application)) return "due";
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
    case "credential-rejected":
      unusable.add(due.application);
      rejected.add(due.application);
      return "due";
    case "unavailable":
      return "due";
    case "verified": {
      if (answer.acknowledgement === null) return "done";
      const acknowledged = await androidStore.acknowledge(configuration, answer.acknowledgement);
      if (acknowledged.outcome === "acknowledged") return "done";
      // It may be this purchase alone: the others are tried all the same.
      if (acknowledged.because === "credential-rejected") rejected.add(due.application);
      return "due";
    }
  }
};

/**
 * Tries the acknowledgements that are due, the oldest of each shard first and the shards side by side, until all were
 * tried or the moment given has come. What is past its deadline is tried once more, and then given up. A failure of one
 * leaves the others alone.
 *
 * @param until no further one is begun from this moment on
 */
export const acknowledgeDuePurchases = async (
  run: AcknowledgementRun,
  until: Instant,
): Promise<AcknowledgementReport> => {
  const report = { done: 0, due: 0, nearDeadline: 0, failed: 0 };
  const unusable = new Set<ApplicationId>();
  const rejected = new Set<ApplicationId>();

  const settle = async (due: DueAcknowledgement): Promise<void> => {
    const inProduction = due.purchase.environment === "production";
    const tried = await tryOne(run, due, unusable, rejected).catch((): Outcome => "due");
    const wanted = tried === "due" && due.deadline <= run.now() ? "failed" : tried;
    const outcome =
      wanted === "due"
        ? wanted
        : await run.queue.remove(due).then(
            () => wanted,
            (): Outcome => "due",
          );
    if (outcome === "due" && inProduction && due.deadline - run.now() < NEAR_MILLISECONDS)
      report.nearDeadline += 1;
    if (outcome !== "failed" || inProduction) report[outcome] += 1;
  };
  const work = async (shard: number): Promise<void> => {
    for await (const page of run.queue.waiting(shard))
      for (const due of page) {
        if (run.now() >= until) return;
        await settle(due);
      }
  };
  const shards = Array.from({ length: run.queue.shards }, (_, shard) => work(shard));
  const failures = (await Promise.allSettled(shards)).flatMap((shard) =>
    shard.status === "rejected" ? [shard.reason as unknown] : [],
  );
  // The other shards are done by now; the run is to be seen as one that failed.
  if (failures.length > 0) throw failures[0];
  return rejected.size === 0 ? report : { ...report, credentialRejectedOf: [...rejected] };
};
