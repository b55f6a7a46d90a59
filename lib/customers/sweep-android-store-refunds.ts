import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { productKindOf, referenceText } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { purchaseKeyOfToken } from "../stores/android-store/purchase-token.ts";
import type { AndroidStore, VoidedPurchase } from "../stores/android-store/android-store.ts";
import { refreshAndroidStorePurchase } from "./refresh-android-store-purchase.ts";
import type { AndroidStorePurchases } from "./store-android-store-purchase.ts";
import { sweepApplications, type ReadPeriod, type SweepReport, type SweepRun } from "./sweep.ts";

export interface AndroidStoreSweep extends AndroidStorePurchases, Omit<SweepRun, "now"> {
  readonly androidStore: AndroidStore;
}

const ENVIRONMENTS = ["production", "sandbox"] as const;

/** An answer this soon after a void may not show it yet, or be of a clock that goes ahead of the store's. */
const UNSEEN_MILLISECONDS = 10 * 60 * 1000;

/** Age of a void up to which its purchase is asked about again, if the store answers about others and not about it. */
const ASKED_AGAIN_MILLISECONDS = 2 * 24 * 3600 * 1000;

/** So many purchases without an answer, and none with one, are not a fault of their own: the store does not answer. */
const FAILURES_OF_A_STORE = 3;

/**
 * Asks the store about the purchases on a page that are known here and were not verified since they were voided. A void
 * alone revokes nothing: it names one order, and a purchase token is shared by all renewals.
 *
 * @returns how many were answered, and whether one was not and is to be asked for again; null: the store does not answer
 */
const refreshVoided = async (
  sweep: AndroidStoreSweep,
  application: Application,
  { packageName }: AndroidStoreConfiguration,
  voided: readonly VoidedPurchase[],
): Promise<{ readonly answered: number; readonly isLeft: boolean } | null> => {
  const lastVoided = new Map<string, VoidedPurchase>();
  for (const one of voided) {
    const known = lastVoided.get(one.purchaseToken);
    if (known === undefined || known.voidedAt < one.voidedAt) lastVoided.set(one.purchaseToken, one);
  }
  const entries = [...lastVoided.values()].flatMap((one) =>
    ENVIRONMENTS.map((environment) => ({
      ...one,
      reference: {
        store: "android-store" as const,
        environment,
        key: purchaseKeyOfToken(one.purchaseToken),
      },
    })),
  );
  const references = entries.map(({ reference }) => reference);
  const known = await sweep.table.findFacts(application.identifier, [], references, sweep.now());
  let [answered, unanswered, isLeft] = [0, 0, false];
  for (const { purchaseToken, voidedAt, reference } of entries) {
    const stored = known.purchases.get(referenceText(reference))?.purchase;
    const [line] = stored?.lines ?? [];
    if (stored === undefined || line === undefined || stored.verifiedAt > voidedAt + UNSEEN_MILLISECONDS)
      continue;
    const { outcome } = await refreshAndroidStorePurchase(sweep, application, {
      application: application.identifier,
      purchase: reference,
      dueAt: voidedAt,
      source: {
        store: "android-store",
        packageName,
        purchaseToken,
        productKind: productKindOf(line.nature),
      },
    });
    if (outcome === "credential-rejected") return null;
    if (outcome === "unavailable" || outcome === "failed") {
      unanswered += 1;
      if (answered === 0 && unanswered === FAILURES_OF_A_STORE) return null;
      isLeft ||= sweep.now() - voidedAt < ASKED_AGAIN_MILLISECONDS;
    } else answered += 1;
  }
  return { answered, isLeft };
};

/**
 * Reads Google's list of voided purchases of every package, because a notification may be lost.
 *
 * @param until no period begins, and no page is read, from this moment on
 */
export const sweepAndroidStoreRefunds = async (
  sweep: AndroidStoreSweep,
  until: Instant,
): Promise<SweepReport> => {
  const readPeriod: ReadPeriod = async (application, { bundleOrPackage }, from, to) => {
    let [found, isLeft] = [0, false];
    const configuration = application.androidStore.find(({ packageName }) => packageName === bundleOrPackage);
    if (configuration === undefined) return { outcome: "read", found };
    let page: string | null = null;
    do {
      if (sweep.now() >= until) return { outcome: "stopped", found };
      const answer = await sweep.androidStore.voidedPurchases(configuration, { from, to }, page);
      if (answer.outcome !== "answered") return { outcome: "stopped", found };
      const refreshed = await refreshVoided(sweep, application, configuration, answer.voided);
      if (refreshed === null) return { outcome: "stopped", found };
      found += refreshed.answered;
      isLeft ||= refreshed.isLeft;
      page = answer.next;
    } while (page !== null);
    // Only the list has the token of a one-time purchase, so it is read again for one that could not be asked about.
    return { outcome: isLeft ? "left" : "read", found };
  };
  return sweepApplications(sweep, "android-store", readPeriod, until);
};
