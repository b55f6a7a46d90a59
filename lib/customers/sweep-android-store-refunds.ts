import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { DAY, HOUR, MINUTE } from "../duration.ts";
import { isOverAt, productKindOf, referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { fromAnotherPlace } from "../queues/turns.ts";
import { purchasesOfToken } from "../stores/android-store/purchase-token.ts";
import type {
  AndroidStore,
  VoidedPurchase,
  VoidedPurchasesAnswer,
} from "../stores/android-store/android-store.ts";
import { askGoogle } from "./asking/ask-google.ts";
import type { AndroidStorePurchases } from "./storing/store-android-store-purchase.ts";
import {
  sweepApplications,
  type PeriodOutcome,
  type ReadPeriod,
  type SweepReport,
  type SweepRun,
} from "./notifications/sweep.ts";

export interface AndroidStoreSweep extends AndroidStorePurchases, SweepRun {
  readonly androidStore: AndroidStore;
}

/** Margin after a period's end: an answer within it may not show the period's voids yet, or our clock is ahead. */
const UNSEEN_MILLISECONDS = 10 * MINUTE;

/**
 * Age of a period up to which it is read again for an unusable answer or a 404, which may stay so. For a silent store
 * it is read again for as long as the store lists the void.
 */
const ASKED_AGAIN_MILLISECONDS = 2 * DAY;

/** Look-ups without an answer, with none answered before them, after which a period is left for the next run. */
const UNANSWERED_BEFORE_SILENT = 3;

/** Whether the store has said that all of a purchase is over: what is voided of it takes nothing more away. */
const isOver = ({ lines }: Purchase): boolean => lines.every((line) => isOverAt(line, line.verifiedAt));

interface PeriodContext {
  readonly sweep: AndroidStoreSweep;
  readonly application: Application;
  readonly configuration: AndroidStoreConfiguration;
  readonly period: { readonly from: Instant; readonly to: Instant };
  readonly until: Instant;
}

/**
 * Purchases known here, not over, and not verified since the period's end: the store lists a void by when its systems
 * saw it, which may be days after the time that it names.
 */
const toAsk = async (
  { sweep, application, configuration: { packageName }, period }: PeriodContext,
  voided: readonly VoidedPurchase[],
) => {
  const entries = voided.flatMap((one) =>
    purchasesOfToken(one.purchaseToken).map((reference) => ({ ...one, reference })),
  );
  const references = entries.map(({ reference }) => reference);
  const known = await sweep.table.findFacts(application.identifier, [], references, sweep.now());
  return entries.flatMap(({ reference, purchaseToken, fullyVoidedAt }) => {
    const purchase = known.purchases.get(referenceText(reference))?.purchase;
    const [line] = purchase?.lines ?? [];
    if (purchase === undefined || line === undefined || isOver(purchase)) return [];
    if (purchase.verifiedAt > period.to + UNSEEN_MILLISECONDS) return [];
    const productKind = productKindOf(line.nature);
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
}: PeriodContext): Promise<{ readonly voided: readonly VoidedPurchase[]; readonly isWhole: boolean }> => {
  const voided = new Map<string, VoidedPurchase>();
  let page: string | null = null;
  do {
    const answer: VoidedPurchasesAnswer | null =
      now() >= until ? null : await androidStore.voidedPurchases(configuration, period, page);
    if (answer?.outcome !== "answered") return { voided: [...voided.values()], isWhole: false };
    for (const one of answer.voided)
      if (one.fullyVoidedAt !== null || !voided.has(one.purchaseToken)) voided.set(one.purchaseToken, one);
    page = answer.next;
  } while (page !== null);
  return { voided: [...voided.values()], isWhole: true };
};

/**
 * Asks about a period's purchases. A void revokes nothing, save as `lookUpVoided` says: it names one order, and all
 * renewals share a purchase token.
 */
const readPeriod = async (context: PeriodContext): Promise<PeriodOutcome> => {
  const { sweep, application, period, until } = context;
  const { voided, isWhole } = await listVoided(context);
  // What a run has no time for, and a few about which the store is silent for good, do not hide others.
  const inOrder = fromAnotherPlace(voided, HOUR, sweep.now());
  let [found, unanswered, isLeft] = [0, 0, false];
  for (const due of await toAsk(context, inOrder)) {
    const asked = sweep.now() >= until ? null : await askGoogle(sweep, application, due);
    if (asked === null || asked.outcome === "credential-rejected") return { outcome: "stopped", found };
    const isSilent = asked.outcome === "unavailable";
    const isUnused = isSilent || asked.outcome === "failed";
    if (isSilent) unanswered += 1;
    else if (!isUnused) found += 1;
    // A 404 or a 410 that revokes nothing may be a mistake.
    if (isUnused || asked.outcome === "unknown")
      isLeft ||= isSilent || sweep.now() - period.to < ASKED_AGAIN_MILLISECONDS;
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
    const configuration = application.androidStore.find(({ packageName }) => packageName === bundleOrPackage);
    if (configuration === undefined) return { outcome: "read", found: 0 };
    return readPeriod({ sweep, application, configuration, period, until });
  };
  return sweepApplications(sweep, "android-store", read, until);
};
