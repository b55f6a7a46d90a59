import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { DAY, HOUR, MINUTE } from "../duration.ts";
import { isOverAt, productKindOf, referenceText } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { fromAnotherPlace } from "../queues/work-off-all.ts";
import type {
  AndroidStore,
  VoidedPurchase,
  VoidedPurchasesAnswer,
} from "../stores/android-store/android-store.ts";
import { purchasesOfToken } from "../stores/android-store/reading.ts";
import { androidStoreConfigurationOf } from "./application-stores.ts";
import type { AndroidStorePurchases } from "./storing/store-android-store-purchase.ts";
import {
  sweepApplications,
  type Period,
  type PeriodOutcome,
  type ReadPeriod,
  type SweepReport,
  type SweepRun,
} from "./sweep.ts";
import { askGoogle } from "./asking/ask-google.ts";

export interface AndroidStoreSweep extends AndroidStorePurchases, SweepRun {
  readonly androidStore: AndroidStore;
}

/** Margin after a period's end: an answer within it may not show the period's voids yet, or our clock is ahead. */
const UNSEEN_MILLISECONDS = 10 * MINUTE;

/** Age up to which a period is read again for an unusable answer or a 404, which may stay so. */
const ASKED_AGAIN_MILLISECONDS = 2 * DAY;

/** Look-ups without an answer, with none answered before them, after which a period is left for the next run. */
const UNANSWERED_BEFORE_SILENT = 3;

interface VoidedContext {
  readonly sweep: AndroidStoreSweep;
  readonly application: Application;
  readonly configuration: AndroidStoreConfiguration;
  readonly period: Period;
  readonly until: Instant;
}

/** Purchases known here, not over, and not verified since: a void may be listed days after the time that it names. */
const toAsk = async (
  { sweep, application, configuration: { packageName }, period }: VoidedContext,
  voided: readonly VoidedPurchase[],
) => {
  const entries = voided.flatMap((one) =>
    purchasesOfToken(one.purchaseToken).map((reference) => ({ ...one, reference })),
  );
  const references = entries.map(({ reference }) => reference);
  const known = await sweep.table.findFacts(application.identifier, [], references, sweep.now());
  return entries.flatMap(({ reference, purchaseToken, fullyVoidedAt }) => {
    const purchase = known.purchases.get(referenceText(reference))?.purchase;
    const nature = purchase?.lines[0]?.nature;
    if (purchase === undefined || nature === undefined) return [];
    // What is voided of a purchase that is all over takes nothing more away.
    if (purchase.lines.every((line) => isOverAt(line, line.verifiedAt))) return [];
    if (purchase.verifiedAt > period.to + UNSEEN_MILLISECONDS) return [];
    const productKind = productKindOf(nature);
    const source = { store: "android-store", packageName, purchaseToken, productKind } as const;
    return [{ purchase, source, acknowledgement: null, fullyVoidedAt }];
  });
};

/** Reads a period's list, each token once: whole, or up to a page that has no answer, or no time. */
const listVoided = async ({
  sweep: { androidStore, now },
  configuration,
  period,
  until,
}: VoidedContext): Promise<{ readonly voided: readonly VoidedPurchase[]; readonly isWhole: boolean }> => {
  const voided = new Map<string, VoidedPurchase>();
  let [page, isWhole]: [string | null, boolean] = [null, false];
  while (!isWhole && now() < until) {
    const answer: VoidedPurchasesAnswer = await androidStore.voidedPurchases(configuration, period, page);
    if (answer.outcome !== "answered") break;
    for (const one of answer.voided)
      if (one.fullyVoidedAt !== null || !voided.has(one.purchaseToken)) voided.set(one.purchaseToken, one);
    page = answer.next;
    isWhole = page === null;
  }
  return { voided: [...voided.values()], isWhole };
};

/** A void names one order, and all renewals share a token, so that it revokes nothing, save as `lookUpVoided` says. */
const askAboutVoided = async (context: VoidedContext): Promise<PeriodOutcome> => {
  const { sweep, application, period, until } = context;
  const { voided, isWhole } = await listVoided(context);
  // What a run has no time for, and a few about which the store is silent for good, do not hide others.
  const inOrder = fromAnotherPlace(voided, HOUR, sweep.now());
  let [found, unanswered, isLeft] = [0, 0, false];
  for (const due of await toAsk(context, inOrder)) {
    const asked = sweep.now() >= until ? null : await askGoogle(sweep, application, due);
    if (asked === null || asked.outcome === "credential-rejected") return { outcome: "stopped", found };
    if (asked.outcome === "unavailable") unanswered += 1;
    else if (asked.outcome !== "failed") found += 1;
    // A 404 or a 410 that revokes nothing may be a mistake.
    const isRecent = sweep.now() - period.to < ASKED_AGAIN_MILLISECONDS;
    if (asked.outcome === "failed" || asked.outcome === "unknown") isLeft ||= isRecent;
    else isLeft ||= asked.outcome === "unavailable";
    if (found === 0 && unanswered === UNANSWERED_BEFORE_SILENT) break;
  }
  if (!isWhole) return { outcome: "stopped", found };
  // Only the list has the token of a one-time purchase, so it is read again for one that could not be asked about.
  return { outcome: isLeft ? "left" : "read", found };
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
  const read: ReadPeriod = async (application, { bundleOrPackage }, period) => {
    const configuration = androidStoreConfigurationOf(application, bundleOrPackage);
    return askAboutVoided({ sweep, application, configuration, period, until });
  };
  return sweepApplications(sweep, "android-store", read, until);
};
