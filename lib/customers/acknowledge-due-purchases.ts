import type { ApplicationDirectory } from "../applications/application.ts";
import { DAY, MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import { joinPurchases } from "../entitlements/join.ts";
import {
  isOverAt,
  referenceText,
  sameLines,
  selectsNothing,
  verifiedAs,
  type PurchaseReference,
} from "../entitlements/purchase.ts";
import { dueBy } from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import { alternating, beginningAt, keepingSome, type Kept } from "../in-turns.ts";
import type { AndroidStore } from "../stores/android-store/android-store.ts";
import { givenUpAt } from "../stores/android-store/acknowledgement-deadline.ts";
import { selecting, type VerifiedPurchase } from "../stores/android-store/reading.ts";
import { customersOf, type CustomerTable } from "./customer-table.ts";
import type { AcknowledgementQueue } from "./acknowledgement-queue.ts";
import type { DueAcknowledgement, StoredPurchase } from "./records.ts";
import type { RefreshQueue } from "./refresh-queue.ts";

export interface AcknowledgementRun {
  readonly directory: ApplicationDirectory;
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly queue: AcknowledgementQueue;
  readonly refreshes: Pick<RefreshQueue, "set">;
  readonly table: Pick<CustomerTable, "findFacts" | "findCustomers">;
  readonly now: () => Instant;
  /** Takes an unexpected failure of one acknowledgement, which stays due. */
  readonly onFailure: (error: unknown) => void;
}

/** Outcome of a run. */
export interface AcknowledgementReport {
  /** Acknowledged, or no longer in need of it. */
  readonly done: number;
  /** Processed, and still due. */
  readonly due: number;
  /** Age in milliseconds of the oldest production purchase still due; 0: none is. */
  readonly oldest: number;
  /** Production purchases still due, less than a day from their deadline or past it. */
  readonly nearDeadline: number;
  /** Over since their deadline, dropped by the store, or given up: refunded by the store, or soon to be. Production only. */
  readonly failed: number;
  /** Applications whose credential the store rejects; absent if none. */
  readonly credentialRejectedOf?: readonly ApplicationId[];
}

/** Consecutive unsuccessful tries after which a package's other purchases move to the shard's second round. */
const SETBACKS_IN_A_ROW = 3;

/** Purchases of a package that a shard keeps for its second round. Others have their turn in the next runs. */
const MOST_PUT_OFF = 200;

/** Purchases that nobody has got and that a shard gives up in a run, so that others get their try. */
const MOST_REMOVED = 100;

/**
 * `waits`: still due, and the store has just said that it waits, so the deadline has not passed. `due`: the store says that it does
 * not know the purchase, or not any more. `unsettled`: it gave no answer that can be used, or what it said could not be kept.
 * `unclaimed`: the purchase belongs to no account, or no product of it was selected, so nothing was delivered; the store refunds it
 * unless that changes.
 */
type Outcome = "done" | "due" | "waits" | "unsettled" | "failed" | "unclaimed";

/**
 * Time after {@link givenUpAt} for which an unsettled purchase is tried. The store may have refunded it, and the queue may have the
 * last copy of its token.
 */
const UNSETTLED_KEPT = 7 * DAY;

/** Whether a purchase leaves the queue after a try. */
const leaves = (outcome: Outcome, due: DueAcknowledgement, moment: Instant): boolean => {
  switch (outcome) {
    case "done":
    case "failed":
      return true;
    case "waits":
      return false;
    case "due":
    case "unclaimed":
      return givenUpAt(due.purchase.environment, due) <= moment;
    case "unsettled":
      return givenUpAt(due.purchase.environment, due) + UNSETTLED_KEPT <= moment;
  }
};

const NEAR_MILLISECONDS = DAY;

/**
 * The purchases that are stored, by `referenceText`; null: nobody has got it. What somebody has got belongs to an account, and of a
 * one-time purchase a product was selected. An operator may move a customer that only a notification made, which selects none.
 */
const deliveredOf = async (
  { table, now }: AcknowledgementRun,
  application: ApplicationId,
  purchases: readonly PurchaseReference[],
): Promise<ReadonlyMap<string, StoredPurchase | null>> => {
  const known = await table.findFacts(application, [], purchases, now());
  const { living } = await table.findCustomers(application, customersOf(known));
  const isDelivered = ({ purchase, customer }: StoredPurchase): boolean =>
    !selectsNothing(purchase) && (living.get(customer)?.link ?? null) !== null;
  return new Map([...known.purchases].map(([text, stored]) => [text, isDelivered(stored) ? stored : null]));
};

/**
 * Whether somebody has got each entry of a page; an entry whose purchase could not be read is missing. There may be many, so they are
 * read together, and take no time from the others.
 */
const claimsOf = async (
  run: AcknowledgementRun,
  page: readonly DueAcknowledgement[],
): Promise<ReadonlyMap<DueAcknowledgement, "claimed" | "unclaimed">> => {
  const byApplication = [...Map.groupBy(page, ({ application }) => application)];
  const claims = await Promise.all(
    byApplication.map(async ([application, entries]) => {
      const purchases = entries.map(({ purchase }) => purchase);
      const delivered = await deliveredOf(run, application, purchases).catch((error: unknown) => {
        // One that cannot be read must not hold up the others: each is read alone when it is tried.
        run.onFailure(error);
        return null;
      });
      if (delivered === null) return [];
      return entries.map((due) => {
        const stored = delivered.get(referenceText(due.purchase)) ?? null;
        return [due, stored === null ? "unclaimed" : "claimed"] as const;
      });
    }),
  );
  return new Map(claims.flat());
};

/** Whether the answer says something of the purchase that is not stored. */
const isNews = (
  { purchase: known }: StoredPurchase,
  { productKind }: DueAcknowledgement,
  answer: VerifiedPurchase,
) => {
  const joined = joinPurchases(known, selecting(answer, productKind, []).purchase);
  return !sameLines(verifiedAs(joined, 0), verifiedAs(known, 0));
};

const isOver = ({ purchase: { lines } }: VerifiedPurchase, moment: Instant): boolean =>
  lines.length > 0 && lines.every((line) => isOverAt(line, moment));

/**
 * The outcome of an answer after which nothing is to be acknowledged. Its news, such as the refund of a purchase that was not
 * acknowledged, are asked for once more by a refresh, which stores them: with the acknowledgement goes the last copy of a one-time
 * purchase's token.
 */
const afterLastAnswer = async (
  run: AcknowledgementRun,
  due: DueAcknowledgement,
  stored: StoredPurchase,
  answer: VerifiedPurchase,
): Promise<Outcome> => {
  const { refreshes, now } = run;
  if (isNews(stored, due, answer)) {
    const { packageName, purchaseToken, productKind } = due;
    const source = { store: "android-store", packageName, purchaseToken, productKind } as const;
    const moment = now();
    const dueAt = dueBy(moment, stored.refreshAt, moment);
    const set = await refreshes.set(due.application, stored, { dueAt, source, askedForAt: moment });
    if (set === "conflict") return "unsettled";
  }
  return isOver(answer, now()) && due.deadline <= now() ? "failed" : "done";
};

/** Whether the answer shows a purchase that was paid as pending: it is older than the acknowledgement that is due. */
const isStale = ({ purchase, isClosed }: VerifiedPurchase): boolean =>
  purchase.lines.length === 0 && !isClosed;

/** The credential of an acknowledgement: each package has its own. */
const credentialOf = ({ application, packageName }: DueAcknowledgement): string =>
  `${application} ${packageName}`;

/**
 * `unusable` collects packages whose credential the store rejects for reading: their other acknowledgements wait for
 * an operator. `rejected` also collects those whose credential may read but not acknowledge.
 */
const tryOne = async (
  run: AcknowledgementRun,
  due: DueAcknowledgement,
  unusable: Set<string>,
  rejected: Set<ApplicationId>,
): Promise<Outcome> => {
  const { directory, androidStore } = run;
  const stored = await deliveredOf(run, due.application, [due.purchase]);
  const delivered = stored.get(referenceText(due.purchase)) ?? null;
  if (delivered === null) return "unclaimed";
  if (unusable.has(credentialOf(due))) return "unsettled";
  const application = await directory.byIdentifier(due.application);
  const configuration = application?.androidStore.find(({ packageName }) => packageName === due.packageName);
  if (configuration === undefined) return "unsettled";
  const { purchaseToken, productKind } = due;
  const answer = await androidStore.lookUp(configuration, {
    purchaseToken,
    productKind,
    productIdentifier: null,
  });
  switch (answer.outcome) {
    case "credential-rejected":
      unusable.add(credentialOf(due));
      rejected.add(due.application);
      return "unsettled";
    case "unavailable":
      return "unsettled";
    // The store vouched for it before, so this answer may be a mistake.
    case "rejected":
    case "gone":
      return "due";
    case "verified": {
      if (answer.acknowledgement === null)
        return isStale(answer) ? "unsettled" : afterLastAnswer(run, due, delivered, answer);
      const acknowledged = await androidStore.acknowledge(configuration, answer.acknowledgement);
      if (acknowledged.outcome === "acknowledged") return "done";
      // The rejection may concern this purchase alone, so the others are still tried.
      if (acknowledged.because === "credential-rejected") rejected.add(due.application);
      return answer.acknowledgement.deadline > run.now() ? "waits" : "due";
    }
  }
};

/**
 * Acknowledges due purchases that belong to an account, shards in parallel and each oldest first. A purchase that is past
 * {@link givenUpAt} is given up after the store's next answer, unless that waits for the acknowledgement; without an answer
 * {@link UNSETTLED_KEPT} later. A failure does not stop the others. After {@link SETBACKS_IN_A_ROW} consecutive unsuccessful
 * tries, a package's other purchases are tried in a second round, in which packages take turns, so that they cannot use up the time of
 * other applications. What the run has read and has no time for is counted as due.
 *
 * @param until no try starts from this moment on
 */
export const acknowledgeDuePurchases = async (
  run: AcknowledgementRun,
  until: Instant,
): Promise<AcknowledgementReport> => {
  const report = { done: 0, due: 0, oldest: 0, nearDeadline: 0, failed: 0 };
  const unusable = new Set<string>();
  const rejected = new Set<ApplicationId>();
  const setbacks = new Map<string, number>();
  const minute = Math.floor(run.now() / MINUTE);

  const countDue = ({ purchase, dueSince, deadline }: DueAcknowledgement): void => {
    report.due += 1;
    if (purchase.environment !== "production") return;
    report.oldest = Math.max(report.oldest, run.now() - dueSince);
    if (deadline - run.now() < NEAR_MILLISECONDS) report.nearDeadline += 1;
  };
  const tried = (due: DueAcknowledgement): Promise<Outcome> =>
    tryOne(run, due, unusable, rejected).catch((error: unknown) => {
      run.onFailure(error);
      return "unsettled";
    });
  const settle = async (due: DueAcknowledgement, outcome: Outcome): Promise<void> => {
    // The store was not asked about one that nobody has got.
    if (outcome !== "unclaimed") {
      const isSetback = outcome !== "done" && outcome !== "failed";
      const credential = credentialOf(due);
      setbacks.set(credential, isSetback ? (setbacks.get(credential) ?? 0) + 1 : 0);
    }
    const isRemoved =
      leaves(outcome, due, run.now()) &&
      (await run.queue.remove(due).then(
        () => true,
        (error: unknown) => {
          run.onFailure(error);
          return false;
        },
      ));
    if (outcome === "unclaimed") return;
    if (!isRemoved) countDue(due);
    else if (outcome === "done") report.done += 1;
    else if (due.purchase.environment === "production") report.failed += 1;
  };
  const isTimeOver = (): boolean => run.now() >= until;
  const isPutOff = (due: DueAcknowledgement): boolean => {
    const credential = credentialOf(due);
    return !unusable.has(credential) && (setbacks.get(credential) ?? 0) >= SETBACKS_IN_A_ROW;
  };
  const work = async (shard: number): Promise<void> => {
    const putOff = new Map<string, Kept<DueAcknowledgement>>();
    const keep = (due: DueAcknowledgement): void => {
      const credential = credentialOf(due);
      const kept = putOff.get(credential) ?? keepingSome(MOST_PUT_OFF, minute, countDue);
      putOff.set(credential, kept);
      kept.add(due);
    };
    let mayRemove = MOST_REMOVED;
    for await (const page of run.queue.waiting(shard)) {
      if (isTimeOver()) break;
      const claims = await claimsOf(run, page);
      for (const due of page) {
        const claim = claims.get(due);
        if (claim === "unclaimed") {
          if (isTimeOver() || mayRemove === 0 || !leaves("unclaimed", due, run.now())) continue;
          mayRemove -= 1;
          // Somebody may have got it since the page was read.
          await settle(due, await tried(due));
        } else if (isTimeOver() || isPutOff(due)) keep(due);
        // These may be many too, so none of them is read again.
        else if (claim === "claimed" && unusable.has(credentialOf(due))) await settle(due, "unsettled");
        else await settle(due, await tried(due));
      }
    }
    // By the time of the run, so that no entry and no package is always last.
    const moment = run.now();
    const lists = [...putOff.values()].map((kept) => beginningAt(kept.items(), moment));
    for (const due of alternating(beginningAt(lists, minute))) {
      if (isTimeOver()) countDue(due);
      else await settle(due, await tried(due));
    }
  };
  const shards = Array.from({ length: run.queue.shards }, (_, shard) => work(shard));
  const failures = (await Promise.allSettled(shards)).flatMap((shard) =>
    shard.status === "rejected" ? [shard.reason as unknown] : [],
  );
  // All shards have finished by now; rethrow, so that the run counts as failed.
  if (failures.length > 0) throw failures[0];
  return rejected.size === 0 ? report : { ...report, credentialRejectedOf: [...rejected] };
};
