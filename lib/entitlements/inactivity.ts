import { DAY, MINUTE } from "../duration.ts";
import { placedAccesses } from "./access.ts";
import type { Catalog, CatalogProduct, ProductReference } from "./catalog.ts";
import { countingOf, eventsOf, type PurchaseEvent } from "./events.ts";
import { grantsAccess } from "./grants.ts";
import type { Holding } from "./holding.ts";
import { momentAt } from "./moment.ts";
import {
  beganBy,
  beganLast,
  CHARGED_AHEAD_MILLISECONDS,
  isPeriod,
  isSameEnd,
  neverBegan,
  periodOf,
  untoldEndOf,
} from "./periods.ts";
import { isBeforeReplacement, type Line, type Purchase } from "./purchase.ts";
import { graceEndOf, type Renewal } from "./renewal.ts";
import { statusAt } from "./status.ts";
import type { Instant, Period } from "./time.ts";

/**
 * Renewal leeway with which a purchase counts as inactive, the longest that a manifest can give: what ended within a day may be
 * renewed, and not be asked about yet. The same holds of an App Store subscription of which no renewal info is known, as an app
 * need not send one, and of one whose upgrade is not known.
 */
const INACTIVE_LEEWAY = DAY;

/** Longer than a rental can be watched: what the catalog gives no length to is over by then. */
const LONGEST_RENTAL: Period = { months: 12, milliseconds: 0 };

/**
 * The catalog, which maps all else to something that never ends by itself: it may be on sale, and be mapped later. A rental
 * ends after a year; a consumable of the App Store is consumed, and is mapped to nothing.
 */
export const withUnmapped = (catalog: Catalog): Catalog => {
  const productOf = (
    store: CatalogProduct["store"],
    line: ProductReference & Partial<Pick<Line, "nature" | "rented">>,
  ): CatalogProduct | undefined => {
    const product = catalog.productOf(store, line);
    const isRentalOfNoLength = line.rented === true && (product?.accessDuration ?? null) === null;
    if (product !== undefined && !isRentalOfNoLength) return product;
    if (store === "ios-store" && line.nature === "consumable") return product;
    const { productIdentifier, basePlanIdentifier = null, purchaseOptionIdentifier = null } = line;
    const reference = { store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier };
    const accessDuration = isRentalOfNoLength ? LONGEST_RENTAL : null;
    return { ...reference, grants: [productIdentifier], accessDuration };
  };
  return { ...catalog, productOf };
};

/** How long a period may go on after its end: it may be renewed, unless the renewal info says that it will not be, or was not. */
const leewayOf = (renewal: Renewal | null): number =>
  renewal === null || (renewal.willRenew && !renewal.isInBillingRetry) ? INACTIVE_LEEWAY : 0;

/** Whether the store has marked a period as upgraded. */
const isMarked = ({ line }: PurchaseEvent): boolean => line.standing === "expired";

/** Whether a renewal info was signed so long before another lineage replaced the purchase that the period it names had begun by then. */
const isOfReplaced = ({ signedAt }: Renewal, { replacedAt }: Purchase, now: Instant): boolean =>
  replacedAt !== null && replacedAt <= now && signedAt + CHARGED_AHEAD_MILLISECONDS <= replacedAt;

/**
 * Whether the App Store's renewal info names the end of a period of which no transaction is known, or a grace period after it. Nothing
 * else that is known shows that this period is over: a year may end later, and be a restored copy of what was left for it.
 */
const isRenewedUnseen = (now: Instant, purchase: Purchase, all: readonly Line[]): boolean => {
  const { renewal } = purchase;
  const named = untoldEndOf(renewal, all);
  if (named === null || renewal === null || isOfReplaced(renewal, purchase, now)) return false;
  const paid = renewal.isInBillingRetry ? 0 : named + leewayOf(renewal);
  return Math.max(paid, graceEndOf(named, renewal) ?? 0) > now;
};

/** Whether the period that began last is marked as upgraded, and nothing is known of the upgrade that runs in its place. */
const isUpgradedUnseen = (now: Instant, purchase: Purchase, all: readonly Line[]): boolean => {
  const events = eventsOf(all);
  // What was charged ahead, and never ran, says nothing of the upgrade.
  const counting = new Set(countingOf(events).map(({ line }) => line.transactionIdentifier));
  const periods = events.filter(
    (event) => counting.has(event.line.transactionIdentifier) && (isMarked(event) || !neverBegan(event.line)),
  );
  return periods.some((event) => {
    const { line: period } = event;
    return (
      isMarked(event) &&
      !isBeforeReplacement(purchase, period) &&
      (period.endsAt ?? Infinity) + INACTIVE_LEEWAY > now &&
      periods.every(
        (other) =>
          beganBy(other.line) < beganBy(period) ||
          (beganBy(other.line) === beganBy(period) &&
            (isMarked(other) || other.line.productIdentifier === period.productIdentifier)),
      )
    );
  });
};

/**
 * Whether a period's own end is to come, and the store has neither refunded it nor marked it as upgraded: that another one seems to have
 * ended it is only inferred, and wrong where that one was charged before, and overtaken.
 */
const isUnended = (now: Instant, purchase: Purchase, all: readonly Line[]): boolean =>
  eventsOf(all).some(
    (event) =>
      !isMarked(event) &&
      event.line.revokedAt === null &&
      (event.line.endsAt ?? 0) + leewayOf(purchase.renewal) > now &&
      !isBeforeReplacement(purchase, event.line),
  );

/**
 * End at which a refunded period may be renewed, and for how long after it; null: it will not be. A refund does not end the
 * subscription. Of the period that began last, nothing is known where no renewal info is about it.
 */
const renewalAfterRefund = (
  { line, copies }: PurchaseEvent,
  { renewal }: Purchase,
  counting: readonly Line[],
): { readonly endsAt: Instant; readonly leeway: number } | null => {
  const named = renewal?.periodEndsAt ?? null;
  const namedCopy = copies.find(({ endsAt }) => named !== null && isSameEnd(endsAt, named));
  if (namedCopy !== undefined) return { endsAt: namedCopy.endsAt ?? 0, leeway: leewayOf(renewal) };
  const ran = counting.filter((one) => !neverBegan(one));
  // What was refunded before it began may be followed by the next one, too.
  if (beganLast(ran) !== line && beganLast(counting) !== line) return null;
  const isAbout = renewal !== null && periodOf(renewal, ran) === line;
  return {
    endsAt: Math.max(...copies.map(({ endsAt }) => endsAt ?? 0)),
    leeway: isAbout ? leewayOf(renewal) : INACTIVE_LEEWAY,
  };
};

/** Whether a refunded period is to renew, or may be: the next one may have been charged ahead by now, or at its end. */
const mayRenewAfterRefund = (now: Instant, purchase: Purchase, all: readonly Line[]): boolean => {
  const events = eventsOf(all);
  const counting = countingOf(events).map(({ line }) => line);
  return events.some((event) => {
    const { line } = event;
    const next = renewalAfterRefund(event, purchase, counting);
    return (
      next !== null &&
      line.revokedAt !== null &&
      !isMarked(event) &&
      next.leeway > 0 &&
      now >= next.endsAt - CHARGED_AHEAD_MILLISECONDS &&
      now < next.endsAt + next.leeway &&
      events.every((other) => beganBy(other.line) < next.endsAt) &&
      !isBeforeReplacement(purchase, line)
    );
  });
};

/** Time after a purchase's end for which Google knows it. */
const KEPT_BY_GOOGLE = 60 * DAY;

/** Whether Google has said that another purchase replaced this one, and nobody has told of it: it may run, and is the same person's. */
const isReplacedUnseen = (now: Instant, { isReplaced, replacedBy, lines }: Purchase): boolean =>
  isReplaced === true &&
  replacedBy === null &&
  lines.some(({ endsAt }) => (endsAt ?? 0) + KEPT_BY_GOOGLE > now);

/** Time after an answer of Google's for which a payment that it calls missing counts as missing. */
const HELD_KNOWN = 10 * MINUTE;

/**
 * Whether Google has said that a subscription is held or paused, and not just now: the payment may have recovered, and its notification
 * been lost. A link that brings the purchase itself has just asked. What Google has said nothing of for 60 days is taken to be dropped.
 */
const isHeldUnheard = (now: Instant, { store, replacedBy, lines }: Purchase): boolean =>
  store === "android-store" &&
  replacedBy === null &&
  lines.some(
    ({ standing, verifiedAt, endsAt }) =>
      (standing === "billing_retry" || standing === "paused") &&
      verifiedAt + HELD_KNOWN <= now &&
      Math.max(verifiedAt, endsAt ?? 0) + KEPT_BY_GOOGLE > now,
  );

/** Time around its end within which what Google calls over may come back: it has been seen to renew a minute after it said so. */
const OVER_UNSURE = 10 * MINUTE;

/** Whether Google has called a subscription over at its end, just now: a cancelled one too, as what is kept of the answer does not tell it. */
const isOverJustNow = (now: Instant, { store, replacedBy, lines }: Purchase): boolean =>
  store === "android-store" &&
  replacedBy === null &&
  lines.every(({ standing }) => standing === "expired") &&
  lines.some(({ endsAt, verifiedAt }) => {
    const end = endsAt ?? 0;
    return verifiedAt >= end - OVER_UNSURE && now < end + OVER_UNSURE;
  });

/**
 * Whether any of the holdings may give access now, or has been paid for and gives it later: by the catalog, or by one that mapped
 * them. What is not known to be over counts, so that a payer's customer is never given to another account.
 */
export const mayBeActive = (now: Instant, holdings: readonly Holding[], catalog: Catalog): boolean => {
  const moment = momentAt(now);
  return (
    placedAccesses(moment, holdings, withUnmapped(catalog)).some((access) =>
      grantsAccess(statusAt(moment, access, INACTIVE_LEEWAY, true)),
    ) ||
    holdings.some(({ purchase }) => {
      const periods = purchase.store === "ios-store" ? purchase.lines.filter(isPeriod) : [];
      return [
        isRenewedUnseen,
        isUpgradedUnseen,
        isUnended,
        mayRenewAfterRefund,
        isReplacedUnseen,
        isHeldUnheard,
        isOverJustNow,
      ].some((mayRun) => mayRun(now, purchase, periods));
    })
  );
};
