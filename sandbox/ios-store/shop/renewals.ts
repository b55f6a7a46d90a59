import { DAY } from "../../../lib/duration.ts";
import { isInstant, plusPeriod, times, type Instant } from "../../../lib/entitlements/time.ts";
import {
  changed,
  endOf,
  INTENTS,
  subscriptionOf,
  type Current,
  type Lineage,
  type NoticeName,
  type Subscription,
} from "./lineage.ts";

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

interface PaidPeriod {
  readonly from: Instant;
  readonly reason: "PURCHASE" | "RENEWAL";
  /** Whether its end is counted from the start of the subscription's cadence; a new one begins else. */
  readonly keepsCadence: boolean;
}

/** Adds a paid period of the next product. */
const withPaidPeriod = (
  current: Current,
  { from, reason, keepsCadence }: PaidPeriod,
  name: NoticeName,
): Current => {
  const { lineage, newIdentifier } = current;
  const { next, cadence: previous } = subscriptionOf(lineage);
  const isSamePeriod =
    next.period.months === previous.period.months &&
    next.period.milliseconds === previous.period.milliseconds;
  const cadence =
    keepsCadence && isSamePeriod
      ? { ...previous, periods: previous.periods + 1 }
      : { from, periods: 1, period: next.period };
  const transaction = {
    transactionIdentifier: newIdentifier(),
    event: newIdentifier(),
    productIdentifier: next.productIdentifier,
    purchaseDate: from,
    expiresDate: plusPeriod(cadence.from, times(cadence.periods, cadence.period)),
    reason,
    isUpgraded: false,
    revocation: null,
  };
  const subscription = {
    cadence,
    standing: { kind: "active" },
    autoRenews: true,
    billingFails: false,
    chargedAheadAt: null,
    priceIncrease: null,
  } as const;
  return changed(current, { transactions: [...lineage.transactions, transaction], subscription }, name);
};

export const boughtNow = (current: Current, fields: Partial<Subscription>, name: NoticeName): Current => {
  const { lineage, at } = current;
  const subscription = { ...subscriptionOf(lineage), ...fields };
  const wanted = { ...current, lineage: { ...lineage, subscription } };
  return withPaidPeriod(wanted, { from: at, reason: "PURCHASE", keepsCadence: false }, name);
};

/** The next period, which begins at the end of the latest one, however early it is charged. */
const renewed = (current: Current, name: NoticeName = "DID_RENEW"): Current =>
  withPaidPeriod(current, { from: endOf(current.lineage), reason: "RENEWAL", keepsCadence: true }, name);

/** One that succeeds after it failed keeps the cadence within the grace period; later a new period begins now. */
export const charged = (current: Current): Current => {
  const { kind } = subscriptionOf(current.lineage).standing;
  if (kind === "active") return renewed(current);
  const name = "DID_RENEW BILLING_RECOVERY";
  if (kind === "grace") return renewed(current, name);
  return withPaidPeriod(current, { from: current.at, reason: "RENEWAL", keepsCadence: false }, name);
};

const ENDS = {
  1: "EXPIRED VOLUNTARY",
  2: "EXPIRED BILLING_RETRY",
  3: "EXPIRED PRICE_INCREASE",
  4: "EXPIRED PRODUCT_NOT_FOR_SALE",
  5: "EXPIRED",
} as const;

/** The end of a subscription, which nothing renews automatically. */
export const expired = (
  current: Current,
  reason: keyof typeof INTENTS,
  transactions = current.lineage.transactions,
): Current => {
  const intent = INTENTS[reason];
  const subscription = {
    standing: { kind: "expired", intent },
    autoRenews: false,
    billingFails: false,
    chargedAheadAt: null,
  } as const;
  return changed(current, { transactions, subscription }, ENDS[intent]);
};

const retrying = (current: Current, name: NoticeName): Current =>
  changed(current, { subscription: { standing: { kind: "retry" } } }, name);

/** The grace period is never longer than a period, so that a recovered one follows without a gap. */
const failed = (current: Current): Current => {
  const end = endOf(current.lineage);
  const { gracePeriod, cadence } = subscriptionOf(current.lineage);
  if (gracePeriod === null) return retrying(current, "DID_FAIL_TO_RENEW");
  const endsAt = Math.min(plusPeriod(end, gracePeriod), plusPeriod(end, cadence.period), end + RETRY_PERIOD);
  const subscription = { standing: { kind: "grace", endsAt } } as const;
  return changed(current, { subscription }, "DID_FAIL_TO_RENEW GRACE_PERIOD");
};

/** The subscription's next event ({@link nextEventOf}), at its moment. */
export const withNextEvent = (current: Current): Current => {
  const { standing, autoRenews, priceIncrease, billingFails } = subscriptionOf(current.lineage);
  if (standing.kind === "retry") return expired(current, "billing-retry");
  if (!autoRenews) return expired(current, "voluntary");
  if (standing.kind === "grace") return retrying(current, "GRACE_PERIOD_EXPIRED");
  if (priceIncrease === "pending") return expired(current, "price-increase");
  return billingFails ? failed(current) : renewed(current);
};
