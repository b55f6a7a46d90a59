import { DAY } from "../../../lib/duration.ts";
import { isInstant, plusPeriod, times, type Instant } from "../../../lib/entitlements/time.ts";
import { after, endOf, INTENTS, type Circumstances, type Lineage, type Subscription } from "./lineage.ts";
import { changed, noticeOf, type NoticeSubtypes, type Outcome } from "./notices.ts";

/** A subscription's own events: its renewals, its grace period, its end. */

/** Time before its start at which a period is charged, where the store charges ahead. */
export const AHEAD = DAY;

/** Time for which the store retries a failed charge after a period's end. */
const RETRY_PERIOD = 60 * DAY;

/** Length of a lapse after which service starts over. */
export const LAPSE = 60 * DAY;

/** A subscription before a change, and the circumstances of the change. */
export interface Current extends Circumstances {
  readonly lineage: Lineage;
  readonly subscription: Subscription;
}

const isCharged = ({ autoRenews, billingFails, priceIncrease }: Subscription): boolean =>
  autoRenews && !billingFails && priceIncrease !== "pending";

const dueAt = (subscription: Subscription, end: Instant): Instant | null => {
  const { standing, chargedAheadAt } = subscription;
  switch (standing.kind) {
    case "active":
      return chargedAheadAt !== null && isCharged(subscription) ? Math.min(chargedAheadAt, end) : end;
    case "grace":
      return standing.endsAt;
    case "retry":
      return end + RETRY_PERIOD;
    case "expired":
    case "revoked":
      return null;
  }
};

/** When a subscription changes by itself; null: never. Not before its last change. */
export const nextEventOf = (lineage: Lineage): Instant | null => {
  const due = lineage.subscription === null ? null : dueAt(lineage.subscription, endOf(lineage));
  // The calendar ends with the year 9999: a subscription that lasts until then never ends.
  return due === null || !isInstant(due + 1) ? null : Math.max(due, lineage.changedAt);
};

/**
 * Adds a paid period of the next product. It starts at the given moment, with a new cadence from there or as a further
 * period of the same cadence.
 */
export const withPaidPeriod = (
  { lineage, subscription, at, newIdentifier }: Current,
  start: {
    readonly from: Instant;
    readonly reason: "PURCHASE" | "RENEWAL";
    readonly keepsCadence: boolean;
    readonly servedSince?: Instant;
  },
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
      standing: { kind: "active" },
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
export const renewed = (current: Current, subtype: NoticeSubtypes["DID_RENEW"] = null): Outcome => {
  const from = endOf(current.lineage);
  const lineage = withPaidPeriod(current, { from, reason: "RENEWAL", keepsCadence: true });
  return { lineage, notices: [noticeOf(lineage, "DID_RENEW", subtype)] };
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
  { lineage, subscription, at }: Omit<Current, "newIdentifier">,
  intent: (typeof INTENTS)[keyof typeof INTENTS],
  change: Partial<Lineage> = {},
): Outcome => {
  const ended = {
    ...subscription,
    standing: { kind: "expired", intent },
    autoRenews: false,
    billingFails: false,
    chargedAheadAt: null,
    offerIdentifier: null,
  } as const;
  return changed(lineage, at, { ...change, subscription: ended }, "EXPIRED", SUBTYPES[intent]);
};

/**
 * A charge that fails at a period's end. The grace period is never longer than a period, so that a recovered one
 * follows without a gap.
 */
const failed = ({ lineage, subscription, at }: Current): Outcome => {
  const end = endOf(lineage);
  const { gracePeriod, cadence } = subscription;
  if (gracePeriod === null)
    return changed(
      lineage,
      at,
      { subscription: { ...subscription, standing: { kind: "retry" } } },
      "DID_FAIL_TO_RENEW",
      null,
    );
  const endsAt = Math.min(plusPeriod(end, gracePeriod), plusPeriod(end, cadence.period), end + RETRY_PERIOD);
  const inGrace = { ...subscription, standing: { kind: "grace", endsAt } } as const;
  return changed(lineage, at, { subscription: inGrace }, "DID_FAIL_TO_RENEW", "GRACE_PERIOD");
};

/** The subscription's next event ({@link nextEventOf}), at its moment. */
export const withNextEvent = (lineage: Lineage, circumstances: Circumstances): Outcome => {
  const { subscription } = lineage;
  if (subscription === null) return { lineage, notices: [] };
  const current = { lineage, subscription, ...circumstances };
  switch (subscription.standing.kind) {
    case "active":
      if (!subscription.autoRenews) return expired(current, INTENTS.voluntary);
      if (subscription.priceIncrease === "pending") return expired(current, INTENTS["price-increase"]);
      return subscription.billingFails ? failed(current) : renewed(current);
    case "grace": {
      if (!subscription.autoRenews) return expired(current, INTENTS.voluntary);
      const retried = { ...subscription, standing: { kind: "retry" } } as const;
      return changed(lineage, circumstances.at, { subscription: retried }, "GRACE_PERIOD_EXPIRED", null);
    }
    case "retry":
      return expired(current, INTENTS["billing-retry"]);
    case "expired":
    case "revoked":
      return { lineage, notices: [] };
  }
};

/** A charge that succeeds after failing: within the grace period the cadence is kept, later a new period begins now. */
export const recovered = (current: Current): Outcome => {
  if (current.subscription.standing.kind === "grace") return renewed(current, "BILLING_RECOVERY");
  const lineage = withPaidPeriod(current, { from: current.at, reason: "RENEWAL", keepsCadence: false });
  return { lineage, notices: [noticeOf(lineage, "DID_RENEW", "BILLING_RECOVERY")] };
};
