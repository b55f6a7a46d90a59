import { DAY } from "../../../lib/duration.ts";
import { isInstant, plusPeriod, times, type Instant } from "../../../lib/entitlements/time.ts";
import { after, endOf, INTENTS, type Circumstances, type Lineage, type Subscription } from "./lineage.ts";
import { noticeOf, type NoticeSubtypes, type Outcome } from "./notices.ts";

/** A subscription's own events: its renewals, its grace period, its end. */

/** Time before its start at which a period is charged, where the store charges ahead. */
export const AHEAD = DAY;

/** Time for which the store retries a failed charge after a period's end. */
const RETRY_PERIOD = 60 * DAY;

/** Length of a lapse after which service starts over. */
export const LAPSE = 60 * DAY;

const ACTIVE = { kind: "active" } as const;

const isCharged = ({ autoRenews, billingFails, priceIncrease }: Subscription): boolean =>
  autoRenews && !billingFails && priceIncrease !== "pending";

/** When a subscription changes by itself; null: never. Not before its last change. */
export const nextEventOf = (lineage: Lineage): Instant | null => {
  const { subscription, changedAt } = lineage;
  if (subscription === null) return null;
  const end = endOf(lineage);
  const dueAt = ((): Instant | null => {
    switch (subscription.standing.kind) {
      case "active":
        return subscription.chargedAheadAt !== null && isCharged(subscription)
          ? Math.min(subscription.chargedAheadAt, end)
          : end;
      case "grace":
        return subscription.standing.endsAt;
      case "retry":
        return end + RETRY_PERIOD;
      case "expired":
      case "revoked":
        return null;
    }
  })();
  // The calendar ends with the year 9999: a subscription that lasts until then never ends.
  return dueAt === null || !isInstant(dueAt + 1) ? null : Math.max(dueAt, changedAt);
};

/**
 * Adds a paid period of the next product. It starts at the given moment, with a new cadence from there or as a further
 * period of the same cadence.
 */
export const withPaidPeriod = (
  lineage: Lineage,
  subscription: Subscription,
  start: {
    readonly from: Instant;
    readonly reason: "PURCHASE" | "RENEWAL";
    readonly keepsCadence: boolean;
    readonly servedSince?: Instant;
  },
  { at, newIdentifier }: Circumstances,
): Lineage => {
  const { next, cadence: kept } = subscription;
  const isSamePeriod =
    next.period.months === kept.period.months && next.period.milliseconds === kept.period.milliseconds;
  const cadence =
    start.keepsCadence && isSamePeriod
      ? { ...kept, periods: kept.periods + 1 }
      : { from: start.from, periods: 1, period: next.period };
  return after(lineage, at, {
    transactions: [
      ...lineage.transactions,
      {
        transactionIdentifier: newIdentifier(),
        event: newIdentifier(),
        productIdentifier: next.productIdentifier,
        purchaseDate: start.from,
        expiresDate: plusPeriod(cadence.from, times(cadence.periods, cadence.period)),
        reason: start.reason,
        offerIdentifier: subscription.offerIdentifier,
        isUpgraded: false,
        revocation: null,
      },
    ],
    subscription: {
      ...subscription,
      cadence,
      standing: ACTIVE,
      autoRenews: true,
      servedSince: start.servedSince ?? subscription.servedSince,
      billingFails: false,
      chargedAheadAt: null,
      priceIncrease: null,
      offerIdentifier: null,
    },
  });
};

/** The next period, which begins at the end of the latest one, however early it is charged. */
export const renewed = (
  lineage: Lineage,
  subscription: Subscription,
  subtype: NoticeSubtypes["DID_RENEW"],
  circumstances: Circumstances,
): Outcome => {
  const renewal = withPaidPeriod(
    lineage,
    subscription,
    { from: endOf(lineage), reason: "RENEWAL", keepsCadence: true },
    circumstances,
  );
  return { lineage: renewal, notices: [noticeOf(renewal, "DID_RENEW", subtype)] };
};

const SUBTYPES = {
  1: "VOLUNTARY",
  2: "BILLING_RETRY",
  3: "PRICE_INCREASE",
  4: "PRODUCT_NOT_FOR_SALE",
  5: null,
} as const;

/** The end of a subscription, which nothing renews automatically. */
export const expired = (
  lineage: Lineage,
  subscription: Subscription,
  intent: (typeof INTENTS)[keyof typeof INTENTS],
  at: Instant,
  change: Partial<Lineage> = {},
): Outcome => {
  const over = after(lineage, at, {
    ...change,
    subscription: {
      ...subscription,
      standing: { kind: "expired", intent },
      autoRenews: false,
      billingFails: false,
      chargedAheadAt: null,
      offerIdentifier: null,
    },
  });
  return { lineage: over, notices: [noticeOf(over, "EXPIRED", SUBTYPES[intent])] };
};

/**
 * A charge that fails at a period's end. The grace period is never longer than a period, so that a recovered one
 * follows without a gap.
 */
const failed = (lineage: Lineage, subscription: Subscription, at: Instant): Outcome => {
  const end = endOf(lineage);
  const { gracePeriod, cadence } = subscription;
  const standing =
    gracePeriod === null
      ? ({ kind: "retry" } as const)
      : ({
          kind: "grace",
          endsAt: Math.min(plusPeriod(end, gracePeriod), plusPeriod(end, cadence.period), end + RETRY_PERIOD),
        } as const);
  const change = after(lineage, at, { subscription: { ...subscription, standing } });
  const subtype = standing.kind === "grace" ? "GRACE_PERIOD" : null;
  return { lineage: change, notices: [noticeOf(change, "DID_FAIL_TO_RENEW", subtype)] };
};

/** The subscription's next event ({@link nextEventOf}), at its moment. */
export const withNextEvent = (lineage: Lineage, circumstances: Circumstances): Outcome => {
  const { subscription } = lineage;
  const { at } = circumstances;
  if (subscription === null) return { lineage, notices: [] };
  switch (subscription.standing.kind) {
    case "active":
      if (!subscription.autoRenews) return expired(lineage, subscription, INTENTS.voluntary, at);
      if (subscription.priceIncrease === "pending")
        return expired(lineage, subscription, INTENTS["price-increase"], at);
      return subscription.billingFails
        ? failed(lineage, subscription, at)
        : renewed(lineage, subscription, null, circumstances);
    case "grace": {
      if (!subscription.autoRenews) return expired(lineage, subscription, INTENTS.voluntary, at);
      const retried = after(lineage, at, { subscription: { ...subscription, standing: { kind: "retry" } } });
      return { lineage: retried, notices: [noticeOf(retried, "GRACE_PERIOD_EXPIRED", null)] };
    }
    case "retry":
      return expired(lineage, subscription, INTENTS["billing-retry"], at);
    case "expired":
    case "revoked":
      return { lineage, notices: [] };
  }
};

/** A charge that succeeds after failing: within the grace period the cadence is kept, later a new period begins now. */
export const recovered = (
  lineage: Lineage,
  subscription: Subscription,
  circumstances: Circumstances,
): Outcome => {
  if (subscription.standing.kind === "grace")
    return renewed(lineage, subscription, "BILLING_RECOVERY", circumstances);
  const recovery = withPaidPeriod(
    lineage,
    subscription,
    { from: circumstances.at, reason: "RENEWAL", keepsCadence: false },
    circumstances,
  );
  return { lineage: recovery, notices: [noticeOf(recovery, "DID_RENEW", "BILLING_RECOVERY")] };
};
