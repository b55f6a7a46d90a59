import type { CustomerEntitlement, Environment, Status, Store } from "../contract/schemas.ts";
import { HOUR, MINUTE } from "../duration.ts";
import type { CustomerId, PurchaseKey } from "../identifiers.ts";
import { compare } from "../order.ts";
import type { Catalog, CatalogProduct } from "./catalog.ts";
import { CHARGED_AHEAD_MILLISECONDS, eventLines } from "./events.ts";
import { countingEvents, type CountingEvent } from "./lineages.ts";
import { momentAt, type Moment } from "./moment.ts";
import { endOfUnits, takenUntil } from "./passes.ts";
import { isPeriod, isSucceeded, neverBegan, periodOf } from "./periods.ts";
import { isRevoked, lineOrder, productKindOf, type Line, type Purchase } from "./purchase.ts";
import { BILLING_RETRY_MILLISECONDS, graceEndOf, isUndecided, type Renewal } from "./renewal.ts";
import { isoTime, type Instant, type Period } from "./time.ts";

/** Terms by which an application's purchases grant entitlements. */
export interface Terms {
  readonly catalog: Catalog;
  /** Milliseconds for which a subscription that was to renew stays active after its end while the store is silent. */
  readonly renewalLeeway: number;
}

/** Source of a link: the application's backend with a credential, or a client without one. */
export type AssertedBy = "credential" | "client";

/** A purchase, its customer, and the source of the customer's link; null: the customer is not linked. */
export interface Holding {
  readonly customerIdentifier: CustomerId;
  readonly assertedBy: AssertedBy | null;
  readonly purchase: Purchase;
}

/** One line of a purchase, as it stands at a moment. */
export interface Grant {
  readonly holding: Holding;
  readonly line: Line;
  readonly product: CatalogProduct;
  readonly status: Status;
  readonly active: boolean;
  /** Null: not known. */
  readonly startsAt: Instant | null;
  /** End of access; null: none. A revoked line ends at the revocation at the latest, where the store dates it. */
  readonly expiresAt: Instant | null;
}

/** Tolerance between the stores' clocks and ours: a purchase that begins within it has begun. */
const CLOCK_TOLERANCE_MILLISECONDS = MINUTE;

/**
 * Google's silent grace period: after a subscription's end Google retries the payment for a day or two, and still
 * reports it as active. Access lasts this much longer if Google was asked after that end.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#silent-grace-period
 */
const SILENT_RETRY_MILLISECONDS = 48 * HOUR;

const ENVIRONMENT_RANK: Record<Environment, number> = { production: 0, sandbox: 1, xcode: 2 };

/**
 * Lines that may grant: none if the purchase was replaced as a whole; for a one-time purchase, those of the requested
 * products. A replacement at a given time depends on the customer's other purchases too: see {@link grantsAt}.
 */
export const grantingLines = ({
  lines,
  selectedProducts,
  replacedBy,
  replacedAt,
}: Purchase): readonly Line[] => {
  if (replacedBy !== null && replacedAt === null) return [];
  if (selectedProducts === null) return lines;
  return lines.filter(({ productIdentifier }) => selectedProducts.includes(productIdentifier));
};

/**
 * Whether a later period ends `line` early. One of the same product does, unless it was refunded, was upgraded, or ends
 * no later, as a restored copy does. One of another product does, refunded or not, if it starts in the middle of the
 * line, as an upgrade. But not if it starts with the line, as another part of a bundle, or between the line's refund
 * and that refund's reversal, as a separate purchase. Nor if it starts within {@link CHARGED_AHEAD_MILLISECONDS} of the
 * line's end: it was charged ahead of time. A period that was refunded before it began ends nothing, nor does one that
 * was itself upgraded: its upgrade does. If the store marks `line` as upgraded, the next period of another product is
 * the upgrade.
 */
const takesPlaceOf = (next: Line, line: Line): boolean => {
  const { nature, standing, revokedAt, startsAt, endsAt } = next;
  if (nature !== "auto_renewable" || (startsAt ?? 0) >= (endsAt ?? Infinity) || neverBegan(next))
    return false;
  if (next.productIdentifier === line.productIdentifier)
    return standing !== "expired" && revokedAt === null && (endsAt ?? Infinity) > (line.endsAt ?? Infinity);
  if (startsAt === line.startsAt) return false;
  if (line.standing === "expired") return true;
  const began = startsAt ?? 0;
  const isGivenBack = line.revokedAt === null && (line.refundedBy ?? Infinity) <= began;
  if (isGivenBack && began < line.verifiedAt) return false;
  return standing !== "expired" && (line.endsAt ?? 0) - began > CHARGED_AHEAD_MILLISECONDS;
};

/** Ends each subscription period of an iOS lineage where the next one starts, even before its own end date. */
const inSuccession = (periods: readonly Line[]): readonly Line[] =>
  periods.length <= 1
    ? periods
    : periods.map((line, index) => {
        if (line.nature !== "auto_renewable" || line.endsAt === null) return line;
        const next = periods.slice(index + 1).find((other) => takesPlaceOf(other, line));
        return next?.startsAt == null ? line : { ...line, endsAt: Math.min(line.endsAt, next.startsAt) };
      });

/** A holding with its lines that may grant. */
interface Granting {
  readonly holding: Holding;
  readonly lines: readonly Line[];
}

/** Whether a line started by the time at which another lineage replaced its purchase. */
export const isBeforeReplacement = ({ replacedAt }: Purchase, { startsAt }: Line): boolean =>
  replacedAt !== null && (startsAt ?? 0) <= replacedAt;

/**
 * Whether this purchase and another replace each other. A line that starts at that very moment then counts in both;
 * otherwise neither would grant it.
 */
const areMutual = (purchase: Purchase, others: readonly Granting[]): boolean =>
  others.some(
    ({ holding: { purchase: other } }) =>
      other.key === purchase.replacedBy && other.replacedBy === purchase.key,
  );

/** The line, ended at the replacement of its purchase; null from then on. */
const untilReplaced = (
  moment: Moment,
  purchase: Purchase,
  others: readonly Granting[],
  line: Line,
): Line | null => {
  const { replacedAt } = purchase;
  if (replacedAt === null || !isBeforeReplacement(purchase, line)) return line;
  if (line.startsAt === replacedAt && areMutual(purchase, others)) return line;
  if (moment.hasCome(replacedAt)) return null;
  return line.endsAt === null ? line : { ...line, endsAt: Math.min(line.endsAt, replacedAt) };
};

/** A line as it counts, and the renewal info about it; null: none. */
interface StandingLine {
  readonly line: Line;
  readonly renewal: Renewal | null;
  /** Start of access, where it is not the line's own. */
  readonly begins?: Instant;
}

/**
 * Whether a renewal was charged ahead of time, and the running period is not known: no known period reaches its start.
 * Only a subscription that is running is renewed, so there is access from the charge on, unless another lineage
 * replaced this one. A client may hold the latest transaction alone, and a notification tells one.
 */
const provesRunningPeriod = (
  { key, environment, replacedAt }: Purchase,
  line: Line,
  known: readonly Line[],
): boolean => {
  const { nature, standing, revokedAt, startsAt, verifiedAt, transactionIdentifier } = line;
  return (
    nature === "auto_renewable" &&
    environment !== "xcode" &&
    standing === "entitled" &&
    revokedAt === null &&
    transactionIdentifier !== key &&
    startsAt !== null &&
    verifiedAt < startsAt &&
    startsAt - verifiedAt <= CHARGED_AHEAD_MILLISECONDS &&
    replacedAt === null &&
    !known.some(
      (other) =>
        isPeriod(other) &&
        (other.startsAt ?? 0) < startsAt &&
        (other.endsAt ?? Infinity) >= startsAt - CLOCK_TOLERANCE_MILLISECONDS,
    )
  );
};

/**
 * The running line; it will renew if the next period, of any product, is known: the App Store charges it up to a day
 * ahead.
 */
const withPaidRenewal = (moment: Moment, line: Line, later: readonly Line[]): Line => {
  const { nature, verifiedAt, endsAt } = line;
  if (nature !== "auto_renewable" || endsAt === null || moment.hasCome(endsAt)) return line;
  const renewals = later.filter(
    (other) =>
      other.standing === "entitled" &&
      other.revokedAt === null &&
      other.startsAt === endsAt &&
      (other.endsAt ?? 0) > endsAt,
  );
  return renewals.length === 0
    ? line
    : {
        ...line,
        willRenew: true,
        verifiedAt: Math.max(verifiedAt, ...renewals.map((renewal) => renewal.verifiedAt)),
      };
};

/**
 * Lines of an iOS purchase's events at the moment, cut at its replacement, unless the event was moved, and where the
 * next period starts. The renewal info is about one of them, and no longer counts once that one ended early or was
 * succeeded. A period with a known renewal will renew, even before that renewal begins.
 */
const standingLines = (
  moment: Moment,
  purchase: Purchase,
  others: readonly Granting[],
  events: readonly CountingEvent[],
): readonly StandingLine[] => {
  const counting = events.flatMap(({ line, isMoved }) => {
    const until = isMoved ? line : untilReplaced(moment, purchase, others, line);
    return until === null ? [] : [{ line, until }];
  });
  const periods = counting.map(({ until }) => until);
  const lines = inSuccession(periods);
  const { renewal } = purchase;
  const all = events.map(({ line }) => line);
  const spokenOf = renewal === null ? undefined : periodOf(renewal, all);
  return lines.map((line, index) => {
    const whole = counting[index]?.line;
    const isWhole = whole !== undefined && line.endsAt === whole.endsAt;
    const speaks = isWhole && whole === spokenOf && !isSucceeded(whole, all);
    const begins = provesRunningPeriod(purchase, line, all) ? { begins: line.verifiedAt } : {};
    if (speaks) return { line, renewal, ...begins };
    const paid = isWhole ? withPaidRenewal(moment, line, periods.slice(index + 1)) : line;
    return { line: paid, renewal: null, ...begins };
  });
};

/** Returns a lookup of the lines a holding grants by: on iOS, those of the events that count in its lineage. */
const standingAt = (
  moment: Moment,
  holdings: readonly Granting[],
): ((granting: Granting) => readonly StandingLine[]) => {
  const ofPerson = ({ customerIdentifier, purchase }: Holding): string | null =>
    purchase.store === "ios-store" && purchase.environment !== "xcode"
      ? `${customerIdentifier} ${purchase.environment}`
      : null;
  const persons = Map.groupBy(holdings, ({ holding }) => ofPerson(holding));
  const counting = new Map(
    [...persons].map(([person, theirs]) => [
      person,
      person === null
        ? new Map<PurchaseKey, readonly CountingEvent[]>()
        : countingEvents(theirs.map(({ holding: { purchase }, lines }) => ({ key: purchase.key, lines }))),
    ]),
  );
  return ({ holding, lines }) => {
    const { purchase } = holding;
    if (purchase.store !== "ios-store") return lines.map((line) => ({ line, renewal: null }));
    const events =
      counting.get(ofPerson(holding))?.get(purchase.key) ??
      eventLines(lines).map((line) => ({ line, isMoved: false }));
    return standingLines(moment, purchase, persons.get(ofPerson(holding)) ?? [], events);
  };
};

const withRenewal = (line: Line, { willRenew, signedAt }: Renewal): Line => ({
  ...line,
  willRenew,
  verifiedAt: Math.max(line.verifiedAt, signedAt),
});

/** End of access, with the billing grace period after the line's own end. */
const endWithGrace = ({ endsAt }: Line, renewal: Renewal): Instant | null =>
  endsAt === null ? endsAt : Math.max(endsAt, graceEndOf(endsAt, renewal) ?? 0);

/** A line that the catalog maps, and its period of access unless something ends it early. */
export interface Access {
  readonly holding: Holding;
  readonly line: Line;
  readonly product: CatalogProduct;
  readonly renewal: Renewal | null;
  readonly begins: Instant;
  readonly ends: Instant | null;
}

const accesses = (moment: Moment, holdings: readonly Holding[], catalog: Catalog): Access[] => {
  const granting = holdings.map((holding) => ({ holding, lines: grantingLines(holding.purchase) }));
  const standing = standingAt(moment, granting);
  return granting.flatMap((granted) => {
    const { holding } = granted;
    const { purchase } = holding;
    return standing(granted).flatMap(({ line, renewal, begins }): Access[] => {
      const product = catalog.productOf(purchase.store, line);
      if (product === undefined || (line.rented && product.accessDuration === null)) return [];
      const said = renewal === null ? line : withRenewal(line, renewal);
      return [
        {
          holding,
          line: said,
          product,
          renewal,
          begins: begins ?? line.startsAt ?? line.verifiedAt,
          ends: renewal === null ? line.endsAt : endWithGrace(line, renewal),
        },
      ];
    });
  });
};

/** A pass: no end date from the store, a duration from the catalog (day pass, non-renewing subscription, rental). */
interface Pass extends Access {
  /** Per unit. */
  readonly duration: Period;
}

const asPass = (access: Access): Pass | null => {
  const { line, product } = access;
  if (line.nature === "auto_renewable" || line.endsAt !== null || product.accessDuration === null)
    return null;
  return { ...access, duration: product.accessDuration };
};

const accessOrder = (a: Access, b: Access): number =>
  compare(a.begins, b.begins) || holdingOrder(a.holding, b.holding) || lineOrder(a.line, b.line);

/**
 * Passes of one product add up: each begins at its purchase or at the end of the previous one, whichever is later, and
 * lasts its duration for each unit that is not refunded.
 */
const passesInTurn = (passes: readonly Pass[]): Access[] => {
  const groups = Map.groupBy(passes, ({ holding: { purchase }, line }) =>
    JSON.stringify([purchase.store, purchase.environment, line.productIdentifier]),
  );
  return [...groups.values()].flatMap((group) => {
    let taken = 0;
    return group.toSorted(accessOrder).map((pass): Access => {
      const { line, duration } = pass;
      const begins = Math.max(pass.begins, taken);
      taken = takenUntil(line, duration, begins);
      const ends = isRevoked(line) ? endOfUnits(line.quantity, duration, begins) : taken;
      return { ...pass, begins, ends };
    });
  });
};

/** Whether Google reported a renewing line after its end: it is then retrying the payment. */
export const isRetriedSilently = (store: Store, { endsAt, verifiedAt, willRenew }: Line): boolean =>
  store === "android-store" && willRenew === true && endsAt !== null && verifiedAt >= endsAt;

/** Whether the App Store reports a later end: the line was renewed, but the renewal's transaction is not known yet. */
const isRenewedUnseen = ({ endsAt }: Line, { periodEndsAt, isInBillingRetry }: Renewal): boolean =>
  (periodEndsAt ?? 0) > (endsAt ?? Infinity) && !isInBillingRetry;

/**
 * Whether a line may have been renewed: the store said that it would renew, and has said nothing else since its end. A
 * later signed copy of an App Store transaction says nothing about its renewal, and a renewal info that still says that
 * it will renew leaves it open.
 */
const mayBeRenewed = (store: Store, line: Line, renewal: Renewal | null): boolean => {
  const { willRenew, endsAt, verifiedAt } = line;
  if (renewal !== null && (isRenewedUnseen(line, renewal) || isUndecided(renewal))) return true;
  const lastWord = store === "android-store" ? verifiedAt : (renewal?.signedAt ?? Infinity);
  return willRenew === true && endsAt !== null && lastWord < endsAt;
};

/**
 * Lines that the catalog maps, with their periods of access: passes of one product follow one another, and whatever was
 * replaced by the moment is left out.
 */
export const placedAccesses = (
  moment: Moment,
  holdings: readonly Holding[],
  catalog: Catalog,
): readonly Access[] => {
  const all = accesses(moment, holdings, catalog);
  const passes = all.flatMap((one) => asPass(one) ?? []);
  return passes.length === 0 ? all : [...all.filter((one) => asPass(one) === null), ...passesInTurn(passes)];
};

/** Status of an App Store line after its end; a grace period precedes the billing retries. */
const statusAfterEnd = (moment: Moment, endsAt: Instant, renewal: Renewal): Status => {
  if (!moment.hasCome(graceEndOf(endsAt, renewal) ?? 0)) return "grace_period";
  return renewal.isInBillingRetry && !moment.hasCome(endsAt + BILLING_RETRY_MILLISECONDS)
    ? "billing_retry"
    : "expired";
};

/** Access is half-open: [start, end). A revocation precedes everything else. */
export const statusAt = (
  moment: Moment,
  { holding, line, renewal, ends }: Access,
  renewalLeeway: number,
): Status => {
  const { store } = holding.purchase;
  if (line.standing === "revoked" || (line.revokedAt !== null && moment.hasCome(line.revokedAt)))
    return "revoked";
  switch (line.standing) {
    case "expired":
    case "paused":
    case "billing_retry":
      return line.standing;
    case "grace_period":
    case "entitled": {
      const standing = line.standing === "entitled" ? "active" : "grace_period";
      if (renewal !== null && line.endsAt !== null && moment.hasCome(line.endsAt)) {
        const status = statusAfterEnd(moment, line.endsAt, renewal);
        const isLenient = status !== "grace_period" && mayBeRenewed(store, line, renewal);
        return isLenient && !moment.hasCome(line.endsAt + renewalLeeway) ? "active" : status;
      }
      const longer = isRetriedSilently(store, line)
        ? SILENT_RETRY_MILLISECONDS
        : mayBeRenewed(store, line, renewal)
          ? renewalLeeway
          : 0;
      return ends !== null && moment.hasCome(ends + longer) ? "expired" : standing;
    }
  }
};

/**
 * Start of the line; null where an iOS period starts after its end, because it is known only from a copy restored
 * later.
 */
const beganOf = ({ event, startsAt, endsAt }: Line): Instant | null =>
  event !== null && startsAt !== null && startsAt > (endsAt ?? Infinity) ? null : startsAt;

const grantsAsOf = (
  moment: Moment,
  holdings: readonly Holding[],
  { catalog, renewalLeeway }: Terms,
): Grant[] =>
  placedAccesses(moment, holdings, catalog).flatMap((access): Grant[] => {
    const { holding, line, product, begins, ends } = access;
    if (line.startsAt !== null && !moment.hasCome(begins - CLOCK_TOLERANCE_MILLISECONDS)) return [];
    const status = statusAt(moment, access, renewalLeeway);
    const active = status === "active" || status === "grace_period";
    const expiresAt =
      status === "revoked" && line.revokedAt !== null ? Math.min(ends ?? Infinity, line.revokedAt) : ends;
    const startsAt = beganOf(line);
    const isAhead = startsAt !== null && begins < startsAt && !moment.hasCome(startsAt);
    return [{ holding, line, product, status, active, startsAt: isAhead ? null : startsAt, expiresAt }];
  });

/** Grants of the holdings that have begun by the moment. */
export const grantsAt = (moment: Instant, holdings: readonly Holding[], terms: Terms): Grant[] =>
  grantsAsOf(momentAt(moment), holdings, terms);

const RETURNING: ReadonlySet<Status> = new Set(["billing_retry", "paused"]);

/** Whether access may return by itself, once the payment succeeds or the pause ends. */
export const mayReturn = ({ status }: Grant): boolean => RETURNING.has(status);

/** End of access, as a sort key. A revocation without a date sorts by the start, the latest time known. */
export const lastAccess = ({ status, line, expiresAt }: Grant): number =>
  status === "revoked" && line.revokedAt === null ? (line.startsAt ?? 0) : (expiresAt ?? Infinity);

const holdingOrder = ({ purchase: a }: Holding, { purchase: b }: Holding): number =>
  compare(a.key, b.key) || compare(a.store, b.store);

/**
 * Negative where `a` precedes `b`: active first, then by environment. Among inactive grants, those that may return come
 * first, then those that a credential linked. Then lifetime, the later end, the later start, the smaller purchase key.
 * The rest makes the order total where one purchase has equal lines.
 */
const grantOrder = (a: Grant, b: Grant): number =>
  Number(b.active) - Number(a.active) ||
  ENVIRONMENT_RANK[a.holding.purchase.environment] - ENVIRONMENT_RANK[b.holding.purchase.environment] ||
  (a.active
    ? 0
    : Number(mayReturn(b)) - Number(mayReturn(a)) ||
      Number(b.holding.assertedBy === "credential") - Number(a.holding.assertedBy === "credential")) ||
  compare(lastAccess(b), lastAccess(a)) ||
  compare(b.line.startsAt ?? -Infinity, a.line.startsAt ?? -Infinity) ||
  holdingOrder(a.holding, b.holding) ||
  compare(a.line.productIdentifier, b.line.productIdentifier) ||
  lineOrder(a.line, b.line);

/** Best grant by entitlement identifier. */
export const bestGrants = (grants: readonly Grant[]): ReadonlyMap<string, Grant> => {
  const best = new Map<string, Grant>();
  for (const grant of grants) {
    for (const identifier of grant.product.grants) {
      const shown = best.get(identifier);
      if (shown === undefined || grantOrder(grant, shown) < 0) best.set(identifier, grant);
    }
  }
  return best;
};

const nullableTime = (instant: Instant | null): string | null => (instant === null ? null : isoTime(instant));

const present = (identifier: string, displayName: string | undefined, grant: Grant): CustomerEntitlement => {
  const { holding, line, status, active, startsAt, expiresAt } = grant;
  return {
    identifier,
    displayName: displayName ?? identifier,
    productIdentifier: line.productIdentifier,
    environment: holding.purchase.environment,
    status,
    active,
    startsAt: nullableTime(startsAt),
    expiresAt: nullableTime(expiresAt),
    revokedAt: nullableTime(status === "revoked" ? line.revokedAt : null),
    lastVerifiedAt: isoTime(line.verifiedAt),
    store: holding.purchase.store,
    productKind: productKindOf(line.nature),
    customerIdentifier: holding.customerIdentifier,
    willRenew: line.willRenew,
  };
};

/** Like {@link entitlementsAt}, but records in the moment which instants the answer depends on. */
export const entitlementsAsOf = (
  moment: Moment,
  holdings: readonly Holding[],
  terms: Terms,
): CustomerEntitlement[] =>
  [...bestGrants(grantsAsOf(moment, holdings, terms))]
    .sort(([a], [b]) => compare(a, b))
    .map(([identifier, grant]) => present(identifier, terms.catalog.displayNames.get(identifier), grant));

/**
 * Entitlements of the holdings at a moment, sorted by identifier: one entry for each entitlement that a purchase grants
 * or granted, with its best grant. Pure: the same arguments give the same bytes.
 */
export const entitlementsAt = (
  moment: Instant,
  holdings: readonly Holding[],
  terms: Terms,
): CustomerEntitlement[] => entitlementsAsOf(momentAt(moment), holdings, terms);
