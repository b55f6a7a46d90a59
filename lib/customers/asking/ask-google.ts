import type { Application } from "../../applications/application.ts";
import { SECOND } from "../../duration.ts";
import { isOverAt } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { selecting, type VerifiedPurchase } from "../../stores/android-store/reading.ts";
import type { StoreFailure } from "../../stores/store-client.ts";
import {
  isOfThisPurchase,
  lookUpVoided,
  storeAndroidStorePurchase,
  type AndroidStorePurchases,
} from "../storing/store-android-store-purchase.ts";
import { orIfErased } from "../storing/store-facts.ts";
import type { AskOutcome, DueAsk } from "./ask.ts";

const TOO_MANY_REQUESTS = 429;
/** Pause after it where Google names none. */
const RETRY_AFTER = 5 * SECOND;

const unanswered = (answer: StoreFailure, now: Instant): AskOutcome => {
  if (answer.outcome === "credential-rejected") return { outcome: "credential-rejected" };
  if (isOfThisPurchase(answer)) return { outcome: "failed" };
  const isTooMany = answer.status === TOO_MANY_REQUESTS;
  return { outcome: "unavailable", retryAt: isTooMany ? (answer.retryAt ?? now + RETRY_AFTER) : null };
};

/** Whether the store has ended a purchase whose acknowledgement was pending until its deadline: it refunded it. */
const isRefundedUnacknowledged = (
  { acknowledgement: pending }: Pick<DueAsk, "acknowledgement">,
  { purchase: { lines }, acknowledgement }: VerifiedPurchase,
  now: Instant,
): boolean =>
  pending !== null &&
  acknowledgement === null &&
  pending.deadline <= now &&
  lines.length > 0 &&
  lines.every((line) => isOverAt(line, now));

/** Asks about a purchase, stores the answer, and makes a due acknowledgement. `fullyVoidedAt`: see `lookUpVoided`. */
export const askGoogle = async (
  ports: AndroidStorePurchases,
  application: Application,
  due: Pick<DueAsk, "purchase" | "source" | "acknowledgement"> & { readonly fullyVoidedAt?: Instant | null },
): Promise<AskOutcome> => {
  const { purchase, source, fullyVoidedAt = null } = due;
  if (source.store !== "android-store") return { outcome: "failed" };
  const { packageName, purchaseToken, productKind } = source;
  const configuration = application.androidStore.find((one) => one.packageName === packageName);
  if (configuration === undefined) return { outcome: "unconfigured" };

  const context = { ports, application, configuration };
  const question = { purchaseToken, productKind, productIdentifier: null };
  const answer = await lookUpVoided(context, question, fullyVoidedAt);
  switch (answer.outcome) {
    case "rejected":
    case "gone":
      // Perhaps by mistake, until the purchase is long over: the queue has the only copy of the token.
      return { outcome: "unknown" };
    case "credential-rejected":
    case "unavailable":
      return unanswered(answer, ports.now());
    case "verified": {
      const { environment, verifiedAt: askedAt } = answer.purchase;
      if (!configuration.environments.includes(environment)) return { outcome: "failed" };
      // A question never widens what a link asked for.
      const verified = selecting(answer, productKind, []);
      const storing = storeAndroidStorePurchase(context, verified, { source, askedAt }, null);
      const stored = await orIfErased(storing, () => null);
      // An answer about the token's purchase in the other environment moves only that one's question.
      if (stored === null || environment !== purchase.environment) return { outcome: "failed" };
      const isRefunded = isRefundedUnacknowledged(due, answer, ports.now());
      return { outcome: "stored", isAcknowledged: stored.isAcknowledged, isRefunded };
    }
  }
};
