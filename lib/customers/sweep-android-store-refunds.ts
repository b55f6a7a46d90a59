import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { chunks } from "../chunks.ts";
import { DAY, MINUTE } from "../duration.ts";
import { isOverAt, productKindOf, referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { inHourlyOrder } from "../queues/turns.ts";
import { purchasesOfToken } from "../stores/android-store/purchase-token.ts";
import type { AndroidStore, VoidedPurchase } from "../stores/android-store/android-store.ts";
import { askGoogle } from "./ask-google.ts";
import type { AskOutcome } from "./ask-outcome.ts";
import type { AndroidStorePurchases } from "./store-android-store-purchase.ts";
import { sweepApplications, type ReadPeriod, type SweepReport, type SweepRun } from "./sweep.ts";

export interface AndroidStoreSweep extends AndroidStorePurchases, Omit<SweepRun, "now"> {
  readonly androidStore: AndroidStore;
}

/** Margin after a period's end: an answer within it may not show the period's voids yet, or our clock is ahead. */
const UNSEEN_MILLISECONDS = 10 * MINUTE;

/**
 * Age of a period up to which it is read again for a purchase whose answer could not be used, or is a 404: it may be so for
 * good. One about which the store was silent is asked about for as long as the store lists its void.
 */
const ASKED_AGAIN_MILLISECONDS = 2 * DAY;

/**
 * Look-ups without an answer, with none answered before them, after which no more are made of those looked up together. The others
 * follow: these purchases may stay without an answer for good.
 */
const UNANSWERED_BEFORE_SILENT = 3;

/** Whether the store gave no answer. A refusal that may concern this purchase alone, and an unreadable answer, are answers. */
const isSilence = (asked: AskOutcome): boolean =>
  asked.outcome === "unavailable" && asked.isOfThisPurchase !== true;

/** Purchases that are looked up in the table at once. */
const ASKED_TOGETHER = 1000;

/** Outcome of the questions about some of a period's purchases. */
interface AskedOutcome {
  /** Number of purchases that the store answered about. */
  readonly answered: number;
  /** Whether the period is to be read again for one that it did not answer about. */
  readonly isLeft: boolean;
  /** Whether the credential is rejected, or time is up. */
  readonly isStopped: boolean;
}

/** Whether the store has said that all of a purchase is over: what is voided of it takes nothing more away. */
const isOver = ({ lines }: Purchase): boolean => lines.every((line) => isOverAt(line, line.verifiedAt));

/**
 * Asks the store about those of a period's purchases that are known here, not over, and not verified since the end of
 * the period. The store lists a void by when its systems saw it, which may be days after the time that it names. A void
 * alone revokes nothing: it names one order, and a purchase token is shared by all renewals. `lookUpVoided` has the exception.
 *
 * @param to end of the period
 * @param until no look-up starts from this moment on
 */
const refreshVoided = async (
  sweep: AndroidStoreSweep,
  application: Application,
  { packageName }: AndroidStoreConfiguration,
  voided: readonly VoidedPurchase[],
  to: Instant,
  until: Instant,
): Promise<AskedOutcome> => {
  const entries = voided.flatMap((one) =>
    purchasesOfToken(one.purchaseToken).map((reference) => ({ ...one, reference })),
  );
  const references = entries.map(({ reference }) => reference);
  const known = await sweep.table.findFacts(application.identifier, [], references, sweep.now());
  const candidates = entries.flatMap(({ reference, ...one }) => {
    const stored = known.purchases.get(referenceText(reference))?.purchase;
    const [line] = stored?.lines ?? [];
    const isAsked = stored !== undefined && stored.verifiedAt <= to + UNSEEN_MILLISECONDS && !isOver(stored);
    return isAsked && line !== undefined ? [{ ...one, productKind: productKindOf(line.nature) }] : [];
  });
  let [answered, unanswered, isLeft] = [0, 0, false];
  const stopped = (): AskedOutcome => ({ answered, isLeft, isStopped: true });
  for (const { purchaseToken, productKind, fullyVoidedAt } of candidates) {
    if (sweep.now() >= until) return stopped();
    const asked = await askGoogle(sweep, application, {
      source: { store: "android-store", packageName, purchaseToken, productKind },
      acknowledgement: null,
      fullyVoidedAt,
    });
    const { outcome } = asked;
    if (outcome === "credential-rejected") return stopped();
    const isUnused = outcome === "unavailable" || outcome === "failed";
    const isSilent = isSilence(asked);
    if (isSilent) unanswered += 1;
    else if (!isUnused) answered += 1;
    // A 404 or a 410 that revokes nothing may be a mistake.
    if (isUnused || outcome === "unknown") isLeft ||= isSilent || sweep.now() - to < ASKED_AGAIN_MILLISECONDS;
    if (answered === 0 && unanswered === UNANSWERED_BEFORE_SILENT) break;
  }
  return { answered, isLeft, isStopped: false };
};

/** Reads the list of a period, each token once: whole, or up to a page that the store does not answer, or that time has no room for. */
const listVoided = async (
  { androidStore, now }: AndroidStoreSweep,
  configuration: AndroidStoreConfiguration,
  period: { readonly from: Instant; readonly to: Instant },
  until: Instant,
): Promise<{ readonly voided: readonly VoidedPurchase[]; readonly isWhole: boolean }> => {
  const voided = new Map<string, VoidedPurchase>();
  const asFar = (isWhole: boolean) => ({ voided: [...voided.values()], isWhole });
  let page: string | null = null;
  do {
    if (now() >= until) return asFar(false);
    const answer = await androidStore.voidedPurchases(configuration, period, page);
    if (answer.outcome !== "answered") return asFar(false);
    for (const one of answer.voided)
      if (one.fullyVoidedAt !== null || !voided.has(one.purchaseToken)) voided.set(one.purchaseToken, one);
    page = answer.next;
  } while (page !== null);
  return asFar(true);
};

/**
 * Reads Google's list of voided purchases of every package, because a notification may be lost.
 *
 * @param until no period begins, no page is read, and no look-up starts, from this moment on
 */
export const sweepAndroidStoreRefunds = async (
  sweep: AndroidStoreSweep,
  until: Instant,
): Promise<SweepReport> => {
  const readPeriod: ReadPeriod = async (application, { bundleOrPackage }, from, to) => {
    const configuration = application.androidStore.find(({ packageName }) => packageName === bundleOrPackage);
    if (configuration === undefined) return { outcome: "read", found: 0 };
    const listed = await listVoided(sweep, configuration, { from, to }, until);
    let [found, isLeft] = [0, false];
    // What a run has no time for, and a few about which the store is silent for good, do not hide others.
    const inOrder = inHourlyOrder(listed.voided, ({ purchaseToken }) => purchaseToken, sweep.now());
    for (const voided of chunks(inOrder, ASKED_TOGETHER)) {
      const refreshed = await refreshVoided(sweep, application, configuration, voided, to, until);
      found += refreshed.answered;
      if (refreshed.isStopped) return { outcome: "stopped", found };
      isLeft ||= refreshed.isLeft;
    }
    if (!listed.isWhole) return { outcome: "stopped", found };
    // Only the list has the token of a one-time purchase, so it is read again for one that could not be asked about.
    return { outcome: isLeft ? "left" : "read", found };
  };
  return sweepApplications(sweep, "android-store", readPeriod, until);
};
