import { tellsChanges, type Application } from "../applications/application.ts";
import type { Environment } from "../contract/schemas.ts";
import { MINUTE, SECOND } from "../duration.ts";
import type { Catalog } from "../entitlements/catalog.ts";
import { heldAlike, holdingsOf, sameHoldings } from "../entitlements/holdings.ts";
import { joinAll, joinPurchases } from "../entitlements/join.ts";
import { lastEnd, lastHeard, nextAsk, unsettledSince } from "../entitlements/next-ask.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import {
  byReference,
  referenceText,
  selectsNothing,
  sameLines,
  samePurchase,
  verifiedAs,
  type Purchase,
} from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { isQueued, isStillAskedFor, type FactsOrigin, type RefreshMove } from "../freshness/refresh.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { sameList } from "../order.ts";
import type { PendingAcknowledgement } from "../stores/android-store/reading.ts";
import type { CustomerChange } from "./customer-change.ts";
import type { KnownFacts } from "./customer-table.ts";
import type { Link, StoredCustomer, StoredPurchase } from "./records.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

/**
 * Window in which an unchanged answer of the store is a replay: asking twice writes once, and `lastVerifiedAt` lags by
 * no more. An unchanged answer from after an end is not a replay: it says that the store is still retrying the payment.
 */
export const SAME_ANSWER_MILLISECONDS = MINUTE;

/** Joins a stored purchase with what the store says now; a replay gives the stored one. */
export const joinWithStored = (stored: Purchase | undefined, said: Purchase): Purchase => {
  if (stored === undefined) return said;
  // Fast path: a replay of all that is stored.
  if (samePurchase(stored, said)) return stored;
  const joined = joinPurchases(stored, said);
  const age = joined.verifiedAt - stored.verifiedAt;
  const isAcrossAnEnd = joined.lines.some(
    ({ endsAt }) => endsAt !== null && stored.verifiedAt < endsAt && endsAt <= joined.verifiedAt,
  );
  const saysTheSame =
    stored.store === "android-store" &&
    age < SAME_ANSWER_MILLISECONDS &&
    !isAcrossAnEnd &&
    samePurchase(verifiedAs(joined, 0), verifiedAs(stored, 0));
  return saysTheSame ? stored : joined;
};

/** Time after which the App Store is asked about a purchase whose erasure was lifted. */
const LIFTED_ASKED_AFTER = 5 * SECOND;

const sameLink = (a: Link | null, b: Link | null): boolean =>
  a?.account === b?.account && a?.assertedBy === b?.assertedBy && a?.linkedAt === b?.linkedAt;

/** Facts for one customer, the customers that it absorbs, and its link afterwards. */
export interface PlanInput {
  readonly application: ApplicationId;
  readonly catalog: Catalog;
  readonly environment: Environment;
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly Purchase[];
  readonly acknowledgementDue: PendingAcknowledgement | null;
  readonly origin: FactsOrigin | null;
  readonly known: KnownFacts;
  readonly survivor: StoredCustomer | null;
  readonly absorbed: readonly StoredCustomer[];
  readonly link: Link | null;
  /** The survivor's identifier, or a new one. */
  readonly identifier: CustomerId;
  readonly liftsErasures: boolean;
  readonly tellsChanges: boolean;
  readonly moment: Instant;
}

/** Input that does not depend on the owners. */
export const inputOf = (
  application: Application,
  {
    environment,
    acknowledgementDue,
    origin,
  }: Pick<VerifiedFacts, "environment" | "acknowledgementDue" | "origin">,
  known: KnownFacts,
  moment: Instant,
) => ({
  application: application.identifier,
  catalog: application.catalog,
  environment,
  known,
  acknowledgementDue,
  origin,
  liftsErasures: false,
  tellsChanges: tellsChanges(application),
  moment,
});

/** The customer afterwards, and the change to write; null: nothing changes. */
export interface Plan {
  readonly customer: CustomerChange["after"];
  /**
   * Time since which the facts' acknowledgement is due; null: none is, or the customer has no account, so that nothing
   * was delivered yet. It is queued anyway, for when the customer gets one.
   */
  readonly acknowledgementDueSince: Instant | null;
  readonly change: CustomerChange | null;
}

/** A purchase of the request, joined with its stored state. */
interface Joined {
  readonly reference: string;
  readonly said: Purchase;
  readonly stored: StoredPurchase | undefined;
  readonly purchase: Purchase;
  readonly hasChanged: boolean;
}

/** A purchase as it is to be stored, with its due acknowledgement and its refresh. */
type Followed = ReturnType<typeof followUp>;

/** The facts' origin, unless the purchase is only mentioned or belongs to another bundle. */
const originOf = (
  origin: FactsOrigin | null,
  { verifiedAt, renewal }: Purchase,
  stored: StoredPurchase | undefined,
): FactsOrigin | null => {
  if (origin === null || (verifiedAt === 0 && renewal === null)) return null;
  const { source } = origin;
  const bundle = stored?.bundleIdentifier ?? null;
  return source.store === "ios-store" && bundle !== null && bundle !== source.bundleIdentifier
    ? null
    : origin;
};

/** Step 1: joins each purchase of the request with its stored state. */
const join = ({ purchases, known }: Pick<PlanInput, "purchases" | "known">): readonly Joined[] =>
  joinAll(purchases).map((said) => {
    const reference = referenceText(said);
    const stored = known.purchases.get(reference);
    const purchase = joinWithStored(stored?.purchase, said);
    const hasChanged = stored === undefined || !samePurchase(stored.purchase, purchase);
    return { reference, said, stored, purchase, hasChanged };
  });

/** Time since which the purchase's acknowledgement is due; only the store's latest answer can end one that is pending. */
const acknowledgementSince = (
  { acknowledgementDue, moment }: PlanInput,
  { reference, said, stored, purchase }: Joined,
): Instant | null => {
  const before = stored?.acknowledgementDueSince ?? null;
  if (acknowledgementDue !== null && referenceText(acknowledgementDue.purchase) === reference)
    return before ?? moment;
  const isLatest = said.verifiedAt > 0 && said.verifiedAt >= (stored?.purchase.verifiedAt ?? 0);
  // An answer without lines does not replace one with lines: it is older, whenever it came.
  return isLatest && (said.lines.length > 0 || purchase.lines.length === 0) ? null : before;
};

/**
 * Times after `heard` at which Google is asked whatever the facts give: the first of those that were known and are wanted now, and the
 * last, which is late enough for each event.
 */
const furtherQuestions = (
  { source, canRefresh, askAgainAt = [] }: FactsOrigin,
  stored: StoredPurchase | undefined,
  heard: Instant,
): readonly Instant[] => {
  if (source.store !== "android-store" || !canRefresh) return [];
  const times = [...(stored?.askAgainAt ?? []), ...askAgainAt].filter((at) => at > heard);
  return times.length === 0 ? [] : [...new Set([Math.min(...times), Math.max(...times)])];
};

/** Since when a refresh of the purchase is asked for; null: it is not, or has been for a day. */
const askedForBefore = (stored: StoredPurchase | undefined, moment: Instant): Instant | null => {
  const askedForAt = stored?.askedForAt ?? null;
  return isStillAskedFor(askedForAt, moment) ? askedForAt : null;
};

/** Last time at which the store reported on a purchase, or answered about it. */
const heardAt = ({ askedAt }: FactsOrigin, purchase: Purchase): Instant =>
  Math.max(lastHeard(purchase), askedAt ?? 0);

/**
 * Whether the facts are the store's answer about this purchase. Google is asked for all of its facts, but an answer from before the
 * purchase was asked for is none. The App Store's answer is about one purchase.
 *
 * @param askedFor time since which it is asked for; null: it is not
 */
const isAnswer = (origin: FactsOrigin, purchase: Purchase, askedFor: Instant | null): boolean => {
  const { askedAt, askedAbout } = origin;
  return purchase.store === "android-store"
    ? askedFor === null || askedFor <= heardAt(origin, purchase)
    : askedAt !== null && (askedAbout === undefined || askedAbout === purchase.key);
};

/**
 * Time of the known refresh, where new facts do not put it off; Infinity: they do, or there is none. New facts only
 * bring a question nearer; an answer, or a later end, sets it anew.
 */
const keptRefresh = (
  origin: FactsOrigin,
  { purchase, stored }: Joined,
  heard: Instant,
  moment: Instant,
): Instant => {
  if (stored === undefined || !isQueued(stored.refreshAt, moment)) return Infinity;
  const { purchase: known, refreshAt } = stored;
  const askedFor = askedForBefore(stored, moment);
  const answers = isAnswer(origin, purchase, askedFor);
  if (purchase.store === "android-store") {
    const isAhead = refreshAt > heard && sameLines(verifiedAs(purchase, 0), verifiedAs(known, 0));
    // This answer is that of a refresh before what somebody has asked for since, or asks for later.
    if (origin.canRefresh && !answers && refreshAt <= heard) return askedFor ?? Infinity;
    return origin.canRefresh && (isAhead || !answers) ? refreshAt : Infinity;
  }
  const setsAnew = answers || (askedFor === null && lastEnd(purchase) > lastEnd(known));
  return setsAnew ? Infinity : refreshAt;
};

/** Questions to the store about a purchase, from now on. */
interface Questions {
  /** Change of its refresh; null: it stays as it is. */
  readonly refresh: RefreshMove | null;
  readonly askAgainAt: readonly Instant[];
}

/** The purchase's refresh and its further questions after new facts, or after the store was asked. */
const questionsOf = (origin: FactsOrigin | null, joined: Joined, moment: Instant): Questions => {
  const { purchase, stored, hasChanged } = joined;
  const known = stored?.askAgainAt ?? [];
  const asBefore = { refresh: null, askAgainAt: known };
  if (origin === null) return asBefore;
  // The key may have come within the last minute; if there is none, the worker finds that out.
  if (purchase.store === "ios-store" && !origin.canRefresh) return asBefore;
  const from = stored?.refreshAt ?? null;
  // One whose item has expired is due now, if at all.
  const isExpired = from !== null && !isQueued(from, moment);
  const heard = Math.max(heardAt(origin, purchase), isExpired ? moment : 0);
  const askAgainAt = furtherQuestions(origin, stored, heard);
  const wanted = purchase.store === "ios-store" ? (origin.askAgainAt ?? []) : askAgainAt;
  const isKnown =
    !hasChanged && !isExpired && origin.askedAt === null && wanted.every((at) => known.includes(at));
  if (isKnown) return asBefore;
  const kept = keptRefresh(origin, joined, heard, moment);
  const unsettled = unsettledSince(purchase, heard);
  const wasAsked =
    origin.askedAt !== null || (stored !== undefined && unsettledSince(stored.purchase, heard) === unsettled);
  const next = origin.canRefresh ? nextAsk(purchase, heard, wasAsked) : null;
  // A device may have kept facts for weeks: a question that they give waits from now on, behind those that are due already.
  const at = Math.min(next === null ? Infinity : Math.max(next.at, moment), kept, ...wanted);
  if (at === Infinity) return { refresh: from === null ? null : { from, to: null }, askAgainAt };
  return { refresh: from === at ? null : { from, to: { at, source: origin.source } }, askAgainAt };
};

/**
 * The origin of a purchase whose erasure is lifted, asked about soon where the App Store can be: a device may hold a transaction
 * from before its refund, which the erasure forgot. Google has answered just now.
 */
const askedSoon = (origin: FactsOrigin, purchase: Purchase, moment: Instant): FactsOrigin =>
  origin.source.store === "ios-store" && purchase.environment !== "xcode"
    ? // A transaction may be signed a little ahead of the clock.
      { ...origin, askAgainAt: [Math.max(moment, lastHeard(purchase)) + LIFTED_ASKED_AFTER] }
    : origin;

/** Since when a refresh of the purchase is asked for after these facts; null: they answer it, or it was not. */
const askedForAfter = (
  origin: FactsOrigin | null,
  purchase: Purchase,
  before: Instant | null,
): Instant | null => {
  if (origin === null) return before;
  const [again] = purchase.store === "ios-store" ? (origin.askAgainAt ?? []) : [];
  if (again !== undefined) return again;
  return isAnswer(origin, purchase, before) ? null : before;
};

/** Step 2: what is due of a joined purchase, its acknowledgement and its refresh. */
const followUp = (input: PlanInput, joined: Joined) => {
  const { reference, said, stored, purchase, hasChanged } = joined;
  const dueBefore = stored?.acknowledgementDueSince ?? null;
  const acknowledgementDueSince = acknowledgementSince(input, joined);
  const given = originOf(input.origin, said, stored);
  const isLifted = input.liftsErasures && input.known.erasedPurchases.has(reference);
  const origin = given !== null && isLifted ? askedSoon(given, purchase, input.moment) : given;
  const { refresh, askAgainAt } = questionsOf(origin, joined, input.moment);
  const refreshAt = refresh === null ? (stored?.refreshAt ?? null) : (refresh.to?.at ?? null);
  const askedForThen = askedForBefore(stored, input.moment);
  const askedForAt = refreshAt === null ? null : askedForAfter(origin, purchase, askedForThen);
  const bundle = origin?.source.store === "ios-store" ? origin.source.bundleIdentifier : null;
  return {
    reference,
    changed:
      hasChanged ||
      dueBefore !== acknowledgementDueSince ||
      refresh !== null ||
      askedForAt !== askedForThen ||
      !sameList(askAgainAt, stored?.askAgainAt ?? [], Object.is),
    dueBefore,
    stored: {
      purchase,
      revision: stored?.revision ?? 0,
      acknowledgementDueSince,
      customer: stored?.customer ?? input.identifier,
      refresh,
      refreshAt,
      askedForAt,
      askAgainAt,
      bundleIdentifier: stored?.bundleIdentifier ?? bundle,
    },
  };
};

/** Holdings of these customers as a function of the purchases to be stored. */
const projectionOf = (
  before: ReadonlyMap<string, Purchase>,
  catalog: Catalog,
): ((purchases: readonly Purchase[]) => readonly Purchase[]) => {
  // The catalog may be a minute old, so only a re-projection drops holdings that it no longer maps.
  const isHeld = (reference: string): boolean => before.has(reference);
  return (purchases) => holdingsOf(new Map([...before, ...byReference(purchases)]).values(), catalog, isHeld);
};

const heldBy = (customers: readonly (StoredCustomer | null)[]): ReadonlyMap<string, Purchase> =>
  byReference(customers.flatMap((customer) => customer?.holdings ?? []));

/** Step 3: the holdings afterwards, and the purchases to write. */
const project = ({ survivor, absorbed, catalog }: PlanInput, purchases: readonly Followed[]) => {
  const before = heldBy([survivor, ...absorbed]);
  const holdingsWith = projectionOf(before, catalog);
  const holdings = holdingsWith(purchases.map(({ stored }) => stored.purchase));
  const after = byReference(holdings);
  // A holding is replaced only together with its purchase, whose revision proves that it is current.
  const written = purchases.filter(
    ({ changed, reference }) => changed || !heldAlike(before.get(reference), after.get(reference)),
  );
  const isHeld = ({ reference }: Followed): boolean => after.has(reference);
  return {
    holdingsWith,
    holdings,
    written: [...written.filter(isHeld), ...written.filter((one) => !isHeld(one))].map(
      ({ stored }) => stored,
    ),
  };
};

/** Step 4: acknowledgements to enqueue and to remove. */
const acknowledge = (
  { application, acknowledgementDue }: PlanInput,
  purchases: readonly Followed[],
): CustomerChange["acknowledgements"] => ({
  due:
    acknowledgementDue === null
      ? []
      : purchases.flatMap(({ dueBefore, stored: { acknowledgementDueSince: dueSince } }) =>
          dueBefore === null && dueSince !== null ? [{ ...acknowledgementDue, application, dueSince }] : [],
        ),
  done: purchases.flatMap(({ dueBefore, stored: { purchase, acknowledgementDueSince } }) =>
    dueBefore !== null && acknowledgementDueSince === null ? [{ purchase, dueSince: dueBefore }] : [],
  ),
});

/** Holdings that the owners would have together with these purchases. */
export const holdingsAfter = (
  purchases: readonly Purchase[],
  known: KnownFacts,
  owners: readonly StoredCustomer[],
  catalog: Catalog,
): readonly Purchase[] =>
  projectionOf(heldBy(owners), catalog)(join({ purchases, known }).map(({ purchase }) => purchase));

const customerAfter = (
  { environment, purchases, survivor, absorbed, link, identifier, moment }: PlanInput,
  holdings: readonly Purchase[],
): Plan["customer"] => ({
  identifier,
  environment: survivor?.environment ?? environment,
  createdAt: survivor?.createdAt ?? moment,
  link,
  holdings,
  hasPurchased:
    purchases.length > 0 || [survivor, ...absorbed].some((customer) => customer?.hasPurchased === true),
});

const isUnchanged = (before: StoredCustomer | null, after: Plan["customer"]): boolean =>
  before !== null &&
  !before.unsettled &&
  before.hasPurchased === after.hasPurchased &&
  sameLink(before.link, after.link) &&
  sameHoldings(before.holdings, after.holdings);

/**
 * Plans the change that stores the facts. Pure: the same state and facts give the same plan, and planning again once it
 * is written changes nothing.
 */
export const planCustomerChange = (input: PlanInput): Plan => {
  const { application, known, survivor, absorbed, link, moment, acknowledgementDue: due } = input;
  const purchases = join(input).map((joined) => followUp(input, joined));
  const { holdingsWith, holdings, written } = project(input, purchases);
  const customer = customerAfter(input, holdings);
  const identities = input.identities.filter((_, index) => known.identities[index] === null);
  const changesNothing = absorbed.length + identities.length + written.length === 0;
  const toAcknowledge = purchases.find(
    ({ reference }) => due !== null && reference === referenceText(due.purchase),
  )?.stored;
  return {
    customer,
    acknowledgementDueSince:
      link === null || toAcknowledge === undefined || selectsNothing(toAcknowledge.purchase)
        ? null
        : toAcknowledge.acknowledgementDueSince,
    change:
      changesNothing && isUnchanged(survivor, customer)
        ? null
        : {
            application,
            before: survivor,
            after: customer,
            holdingsWith: (some) => holdingsWith(some.map(({ purchase }) => purchase)),
            absorbed,
            identities,
            purchases: written,
            acknowledgements: acknowledge(input, purchases),
            liftsErasures: input.liftsErasures,
            tellsChanges: input.tellsChanges,
            moment,
          },
  };
};
