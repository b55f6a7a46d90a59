import type { Application } from "../applications/application.ts";
import { SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { DueRefresh } from "../freshness/refresh.ts";
import type { UnansweredLookUp } from "../stores/android-store/android-store.ts";
import { selecting } from "../stores/android-store/reading.ts";
import { failedIfErased, type RefreshOutcome } from "./refresh-outcome.ts";
import { storeAndroidStorePurchase, type AndroidStorePurchases } from "./store-android-store-purchase.ts";
import { isOfThisPurchase, isUnreadable, UnansweredLookUpError } from "./unanswered-look-up.ts";

const TOO_MANY_REQUESTS = 429;

const unanswered = (answer: UnansweredLookUp, now: Instant): RefreshOutcome => {
  if (answer.outcome === "credential-rejected") return { outcome: "credential-rejected" };
  // It concerns only this purchase.
  if (isUnreadable(answer)) return { outcome: "failed" };
  const isNamed = answer.status === TOO_MANY_REQUESTS;
  return {
    outcome: "unavailable",
    retryAt: isNamed ? now + answer.retryAfterSeconds * SECOND : null,
    ...(isOfThisPurchase(answer) && { isOfThisPurchase: true }),
  };
};

/** Asks Google about a purchase by its token, stores the answer, and makes a due acknowledgement. */
export const refreshAndroidStorePurchase = async (
  purchases: AndroidStorePurchases,
  application: Application,
  { source }: DueRefresh,
): Promise<RefreshOutcome> => {
  if (source.store !== "android-store") return { outcome: "failed" };
  const { packageName, purchaseToken, productKind } = source;
  const configuration = application.androidStore.find((one) => one.packageName === packageName);
  if (configuration === undefined) return { outcome: "unconfigured" };

  const question = { purchaseToken, productKind, productIdentifier: null };
  const answer = await purchases.androidStore.lookUp(configuration, question);
  switch (answer.outcome) {
    case "rejected":
    case "gone":
      // Perhaps by mistake, until the purchase is long over: the queue has the only copy of the token.
      return { outcome: "unknown" };
    case "credential-rejected":
    case "unavailable":
      return unanswered(answer, purchases.now());
    case "verified": {
      const { environment, verifiedAt: askedAt } = answer.purchase;
      if (!configuration.environments.includes(environment)) return { outcome: "failed" };
      return storeAndroidStorePurchase(
        purchases,
        application,
        configuration,
        // A refresh never widens what a link asked for.
        selecting(answer, productKind, []),
        { source, askedAt },
        null,
      ).then(
        () => ({ outcome: "stored" }),
        (error: unknown) =>
          error instanceof UnansweredLookUpError
            ? unanswered(error.answer, purchases.now())
            : failedIfErased(error),
      );
    }
  }
};
