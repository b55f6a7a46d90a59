import { DAY } from "../../../lib/duration.ts";
import { isInstant, plusPeriod, times, type Instant } from "../../../lib/entitlements/time.ts";
import {
  after,
  changed,
  endOf,
  having,
  INTENTS,
  subscriptionOf,
  told,
  type Current,
  type Lineage,
  type NoticeName,
  type Outcome,
  type Subscription,
} from "./lineage.ts";

/** A subscription's own events: its renewals, its grace period, its end. */

/** Time before its start at which a period is charged, where the store charges ahead. */
export const AHEAD = DAY;

/** Time for which the store retries a failed charge after a period's end. */
const RETRY_PERIOD = 60 * DAY;

/** Length of a lapse after which service starts over. */
export const LAPSE = 60 * DAY;

const dueAt = (subscription: Subscription, end: Instant): Instant | null => {
  const { standing, chargedAheadAt, autoRenews, billingFails, priceIncrease } = subscription;
  switch (standing.kind) {
    case "active": {
      const isCharged = autoRenews && !billingFails && priceIncrease !== "pending";
      return chargedAheadAt !== null && isCharged ? Math.min(chargedAheadAt, end) : end;
    }
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
  { lineage, at, newIdentifier }: Current,
  start: {
    readonly from: Instant;
    readonly reason: "PURCHASE" | "RENEWAL";
    readonly keepsCadence: boolean;
  },
): Lineage => {
  const { next, cadence: kept } = subscriptionOf(lineage);
  const isSamePeriod =
    next.period.months === kept.period.months && next.period.milliseconds === kept.period.milliseconds;
  const cadence =
    start.keepsCadence && isSamePeriod
      ? { ...kept, periods: kept.periods + 1 }
      : { from: start.from, periods: 1, period: next.period };
  const transaction = {
    transactionIdentifier: newIdentifier(),
    event: newIdentifier(),
    productIdentifier: next.productIdentifier,
    purchaseDate: start.from,
    expiresDate: plusPeriod(cadence.from, times(cadence.periods, cadence.period)),
    reason: start.reason,
    isUpgraded: false,
    revocation: null,
  };
  return after(lineage, at, {
    transactions: [...lineage.transactions, transaction],
    ...having(lineage, {
      cadence,
      standing: { kind: "active" },
      autoRenews: true,
      billingFails: false,
      chargedAheadAt: null,
      priceIncrease: null,
    }),
  });
};

/** The next period, which begins at the end of the latest one, however early it is charged. */
export const renewed = (current: Current, name: NoticeName = "DID_RENEW"): Outcome => {
  const from = endOf(current.lineage);
  return told(withPaidPeriod(current, { from, reason: "RENEWAL", keepsCadence: true }), name);
};

/** A charge that succeeds after failing: within the grace period the cadence is kept, later a new period begins now. */
export const recovered = (current: Current): Outcome => {
  const name = "DID_RENEW BILLING_RECOVERY";
  if (subscriptionOf(current.lineage).standing.kind === "grace") return renewed(current, name);
  const start = { from: current.at, reason: "RENEWAL", keepsCadence: false } as const;
  return told(withPaidPeriod(current, start), name);
};

const ENDS = {
  1: "EXPIRED VOLUNTARY",
  2: "EXPIRED BILLING_RETRY",
  3: "EXPIRED PRICE_INCREASE",
  4: "EXPIRED PRODUCT_NOT_FOR_SALE",
  5: "EXPIRED",
} as const;

/** The end of a subscription, which nothing renews automatically. */
export const expired = (lineage: Lineage, at: Instant, intent: keyof typeof ENDS): Outcome => {
  const ended = having(lineage, {
    standing: { kind: "expired", intent },
    autoRenews: false,
    billingFails: false,
    chargedAheadAt: null,
  });
  return changed(lineage, at, ended, ENDS[intent]);
};

/**
 * A charge that fails at a period's end. The grace period is never longer than a period, so that a recovered one
 * follows without a gap.
 */
const failed = (lineage: Lineage, at: Instant): Outcome => {
  const end = endOf(lineage);
  const { gracePeriod, cadence } = subscriptionOf(lineage);
  if (gracePeriod === null)
    return changed(lineage, at, having(lineage, { standing: { kind: "retry" } }), "DID_FAIL_TO_RENEW");
  const endsAt = Math.min(plusPeriod(end, gracePeriod), plusPeriod(end, cadence.period), end + RETRY_PERIOD);
  const inGrace = having(lineage, { standing: { kind: "grace", endsAt } });
  return changed(lineage, at, inGrace, "DID_FAIL_TO_RENEW GRACE_PERIOD");
};

/** The subscription's next event ({@link nextEventOf}), at its moment. */
export const withNextEvent = (current: Current): Outcome => {
  const { lineage, at } = current;
  const { standing, autoRenews, priceIncrease, billingFails } = subscriptionOf(lineage);
  if (standing.kind === "retry") return expired(lineage, at, INTENTS["billing-retry"]);
  if (!autoRenews) return expired(lineage, at, INTENTS.voluntary);
  if (standing.kind === "grace")
    return changed(lineage, at, having(lineage, { standing: { kind: "retry" } }), "GRACE_PERIOD_EXPIRED");
  if (priceIncrease === "pending") return expired(lineage, at, INTENTS["price-increase"]);
  return billingFails ? failed(lineage, at) : renewed(current);
};
