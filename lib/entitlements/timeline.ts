import type { AssertedBy, Status } from "../contract/schemas.ts";
import { HOUR, MINUTE } from "../duration.ts";
import type { CustomerId } from "../identifiers.ts";
import { compare } from "../order.ts";
import type { Catalog, CatalogProduct } from "./catalog.ts";
import { decided, eventsOf } from "./join.ts";
import { grantingLines, isRevoked, lineOrder, type Line, type Purchase } from "./purchase.ts";
import { BILLING_RETRY_MILLISECONDS, graceEndOf, isUndecided, type Renewal } from "./renewal.ts";
import { isPeriod, periodsOf, type Period } from "./subscription-periods.ts";
import { plusPeriod, times, type Instant, type Period as Duration } from "./time.ts";

/** Tolerance between the stores' clocks and ours: a purchase that begins within it has begun. */
const CLOCK_TOLERANCE_MILLISECONDS = MINUTE;

/**
 * Google's silent grace period: after a subscription's end Google retries the payment for a day or two, and still
 * reports it as active. Access lasts this much longer if Google was asked after that end.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#silent-grace-period
 */
const SILENT_RETRY_MILLISECONDS = 48 * HOUR;

/** A purchase, its customer, and the source of the customer's link; null: the customer is not linked. */
export interface Holding {
  readonly customerIdentifier: CustomerId;
  readonly assertedBy: AssertedBy | null;
  readonly purchase: Purchase;
}

export const holdingOrder = ({ purchase: a }: Holding, { purchase: b }: Holding): number =>
  compare(a.key, b.key) || compare(a.store, b.store);

export interface Terms {
  readonly catalog: Catalog;
  /** Milliseconds for which a subscription that was to renew stays active after its end while the store is silent. */
  readonly renewalLeeway: number;
}

/** A line that the catalog maps, with what does not change over its time. */
interface Placed {
  readonly holding: Holding;
  readonly line: Line;
  readonly product: CatalogProduct;
}

/** A half-open span of time [from, to) in which a line has one status. `Infinity`: no end. */
export interface Span extends Placed {
  readonly from: Instant;
  readonly to: Instant;
  readonly status: Status;
  /** Purchase date; null: not known. */
  readonly startsAt: Instant | null;
  /** End of access, grace included; of what is revoked, at most the revocation. */
  readonly expiresAt: Instant;
  readonly willRenew: boolean | null;
  readonly verifiedAt: Instant;
  /** Whether the store has not confirmed this access: the leeway, a silent retry, a running period not known itself. */
  readonly isAssumed: boolean;
}

type Phase = Pick<Span, "to" | "status"> & Partial<Pick<Span, "isAssumed" | "startsAt" | "willRenew">>;

const EXPIRED: Phase = { to: Infinity, status: "expired" };

/** Spans of the phases, one after another; a phase that is over by the one before it is left out. */
const spansOf = (
  from: Instant,
  phases: readonly Phase[],
  shared: Omit<Span, "from" | "to" | "status" | "isAssumed">,
): readonly Span[] => {
  const spans: Span[] = [];
  let start = from;
  for (const phase of phases) {
    if (phase.to <= start) continue;
    spans.push({ ...shared, isAssumed: false, ...phase, from: start });
    start = phase.to;
  }
  return spans;
};

/** Statuses after the end of a period that nothing cut, as the renewal info about it says. */
const afterEnd = (endsAt: Instant, renewal: Renewal | null, renewalLeeway: number): readonly Phase[] => {
  if (renewal === null) return [];
  const { periodEndsAt, willRenew, isInBillingRetry, signedAt } = renewal;
  const isRenewedUnseen = (periodEndsAt ?? 0) > endsAt && !isInBillingRetry;
  const isSilent = willRenew && signedAt < endsAt;
  const leeway = isRenewedUnseen || isSilent || isUndecided(renewal, endsAt) ? renewalLeeway : 0;
  return [
    { to: graceEndOf(endsAt, renewal) ?? endsAt, status: "grace_period" },
    { to: endsAt + leeway, status: "active", isAssumed: true },
    { to: isInBillingRetry ? endsAt + BILLING_RETRY_MILLISECONDS : endsAt, status: "billing_retry" },
  ];
};

/** Spans of a period of an App Store subscription. A revocation goes before all. */
const periodSpans = (placed: Placed, period: Period, renewalLeeway: number): readonly Span[] => {
  const { line, from, endsAt, cutAt, isRenewed, renewal } = period;
  const revokedAt = line.revokedAt ?? Infinity;
  const end = Math.max(endsAt, renewal === null ? 0 : (graceEndOf(endsAt, renewal) ?? 0));
  const upTo = (end: Instant, phases: readonly Phase[]): readonly Phase[] =>
    phases.map((phase) => ({ ...phase, to: Math.min(phase.to, end) }));
  const startsAt = line.startsAt ?? 0;
  const running = { status: "active", ...(isRenewed && { willRenew: true }) } as const;
  const isAhead = from < startsAt && startsAt <= endsAt;
  const lived: readonly Phase[] = [
    ...(isAhead ? [{ ...running, to: startsAt, startsAt: null, isAssumed: true }] : []),
    { ...running, to: endsAt },
    ...afterEnd(endsAt, renewal, renewalLeeway),
  ];
  const shared = {
    ...placed,
    line,
    startsAt: startsAt > endsAt ? null : startsAt,
    expiresAt: Math.min(end, cutAt),
    willRenew: renewal?.willRenew ?? null,
    verifiedAt: Math.max(line.verifiedAt, renewal?.signedAt ?? 0),
  };
  const begins = from - CLOCK_TOLERANCE_MILLISECONDS;
  const spans = spansOf(begins, upTo(revokedAt, [...upTo(cutAt, lived), EXPIRED]), shared);
  const revoked = { ...shared, expiresAt: Math.min(shared.expiresAt, revokedAt) };
  const start = Math.max(revokedAt, begins);
  return [...spans, ...spansOf(start, [{ to: Infinity, status: "revoked" }], revoked)];
};

const phasesOf = (line: Line, ends: Instant, renewalLeeway: number): readonly Phase[] => {
  const { standing, willRenew, verifiedAt } = line;
  if (isRevoked(line)) {
    const revokedAt = line.revokedAt ?? -Infinity;
    return [
      { to: Math.min(ends, revokedAt), status: "active" },
      { to: revokedAt, status: "expired" },
      { to: Infinity, status: "revoked" },
    ];
  }
  if (standing === "paused" || standing === "billing_retry" || standing === "expired")
    return [
      { to: Math.min(ends, verifiedAt), status: "active" },
      { to: Infinity, status: standing },
    ];
  const status = standing === "grace_period" ? standing : "active";
  const longer = willRenew !== true ? 0 : verifiedAt >= ends ? SILENT_RETRY_MILLISECONDS : renewalLeeway;
  return [{ to: ends, status }, { to: ends + longer, status, isAssumed: true }, EXPIRED];
};

/** By the line's own dates: Google's, and one-time purchases. */
const lineSpans = (
  placed: Placed,
  begins: Instant,
  ends: Instant,
  renewalLeeway: number,
): readonly Span[] => {
  const { line } = placed;
  const from = line.startsAt === null ? -Infinity : begins - CLOCK_TOLERANCE_MILLISECONDS;
  return spansOf(from, phasesOf(line, ends, renewalLeeway), {
    ...placed,
    startsAt: line.startsAt,
    expiresAt: line.revokedAt === null ? ends : Math.min(ends, line.revokedAt),
    willRenew: line.willRenew,
    verifiedAt: line.verifiedAt,
  });
};

/** A pass: no end date from the store, a duration from the catalog (day pass, non-renewing subscription, rental). */
const durationOf = ({ line, product }: Placed): Duration | null =>
  isPeriod(line) || line.endsAt !== null ? null : product.accessDuration;

const startOf = ({ line }: Placed): Instant => line.startsAt ?? line.verifiedAt;

/**
 * Passes of one product follow one another. A rental does not: Google counts its time from the purchase.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/monetization.onetimeproducts#OneTimeProductRentPurchaseOption
 */
const queueOf = ({ holding: { purchase }, line }: Placed): string =>
  JSON.stringify([
    purchase.store,
    purchase.environment,
    line.productIdentifier,
    line.rented ? purchase.key : null,
  ]);

const byPurchase = (a: Placed, b: Placed): number =>
  compare(startOf(a), startOf(b)) || holdingOrder(a.holding, b.holding) || lineOrder(a.line, b.line);

/** Each pass begins at its purchase, or where the one before has used up its time: of refunded units, up to the refund. */
const passSpans = (passes: readonly Placed[]): readonly Span[] => {
  const spans: Span[] = [];
  for (const queue of Map.groupBy(passes, queueOf).values()) {
    let taken = 0;
    for (const pass of queue.toSorted(byPurchase)) {
      const { quantity, refundedQuantity, revokedSince } = pass.line;
      const duration = durationOf(pass);
      if (duration === null) continue;
      const begins = Math.max(taken, startOf(pass));
      const endOf = (units: number): Instant => plusPeriod(begins, times(units, duration));
      spans.push(...lineSpans(pass, begins, endOf(quantity - refundedQuantity), 0));
      const kept = isRevoked(pass.line) ? begins : endOf(quantity - refundedQuantity);
      taken = Math.max(kept, Math.min(endOf(quantity), revokedSince ?? 0));
    }
  }
  return spans;
};

const linesOf = (holding: Holding): readonly { readonly line: Line; readonly period: Period | null }[] => {
  const { purchase } = holding;
  const lines = grantingLines(purchase);
  if (purchase.store !== "ios-store") return lines.map((line) => ({ line, period: null }));
  const others = lines.filter((line) => !isPeriod(line));
  return [
    ...eventsOf(others).map((event) => ({ line: decided(event), period: null })),
    ...periodsOf({ ...purchase, lines }).map((period) => ({ line: period.line, period })),
  ];
};

/** The one place that decides on access: each line that the catalog maps has one span at each moment from its start on. */
export const timelineOf = (
  holdings: readonly Holding[],
  { catalog, renewalLeeway }: Terms,
): readonly Span[] => {
  const passes: Placed[] = [];
  const spans = holdings.flatMap((holding) =>
    linesOf(holding).flatMap(({ line, period }): readonly Span[] => {
      const product = catalog.productOf(holding.purchase.store, line);
      if (product === undefined || (line.rented && product.accessDuration === null)) return [];
      const placed = { holding, line, product };
      if (period !== null) return periodSpans(placed, period, renewalLeeway);
      if (durationOf(placed) !== null) {
        passes.push(placed);
        return [];
      }
      return lineSpans(placed, startOf(placed), line.endsAt ?? Infinity, renewalLeeway);
    }),
  );
  return [...spans, ...passSpans(passes)];
};

export const spansAt = (moment: Instant, timeline: readonly Span[]): readonly Span[] =>
  timeline.filter(({ from, to }) => from <= moment && moment < to);

export const givesAccess = ({ status }: Pick<Span, "status">): boolean =>
  status === "active" || status === "grace_period";
