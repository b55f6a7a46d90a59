import { tellsChanges } from "../../applications/application.ts";
import { MINUTE } from "../../duration.ts";
import type { Catalog } from "../../entitlements/catalog.ts";
import { heldAlike, holdingsOf, sameHoldings } from "../../entitlements/holdings.ts";
import { joinAll, joinPurchases } from "../../entitlements/join.ts";
import type { NextAsk } from "../../entitlements/next-ask.ts";
import {
  type IdentityReference,
  byReference,
  referenceText,
  selectsNothing,
  samePurchase,
  verifiedAs,
  type Purchase,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { type Asked, askAfter, hasChanged, type FactsOrigin } from "../asking/ask.ts";
import {
  bundleOrPackageOf,
  type KnownFacts,
  type Acknowledgement,
  type Link,
  type StoredCustomer,
  type StoredPurchase,
} from "./records.ts";
import { ABSORBED_PER_TRANSACTION, type CustomerChange } from "./fact-store.ts";
import { type StateContext, statedPurchases, type VerifiedFacts } from "./verified-facts.ts";
import { resolveCustomer } from "./resolve-customer.ts";

/**
 * Google's unchanged answer within it is a replay, unless a line has ended in between: then the payment is still
 * retried.
 */
const SAME_ANSWER_MILLISECONDS = MINUTE;

/** Joins a stored purchase with what the store says now; a replay gives the stored one. */
export const joinWithStored = (stored: Purchase | undefined, said: Purchase): Purchase => {
  // Fast path: a replay of all that is stored.
  if (stored === undefined || samePurchase(stored, said)) return stored ?? said;
  const joined = joinPurchases(stored, said);
  const isAcrossAnEnd = joined.lines.some(
    ({ endsAt }) => endsAt !== null && stored.verifiedAt < endsAt && endsAt <= joined.verifiedAt,
  );
  const saysTheSame =
    stored.store === "android-store" &&
    joined.verifiedAt - stored.verifiedAt < SAME_ANSWER_MILLISECONDS &&
    !isAcrossAnEnd &&
    samePurchase(verifiedAs(joined, 0), verifiedAs(stored, 0));
  return saysTheSame ? stored : joined;
};

export type PlanState = Pick<StateContext, "application" | "known" | "moment"> & {
  readonly facts: Pick<VerifiedFacts, "environment" | "acknowledgementDue" | "origin">;
};

export interface Merge {
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly Purchase[];
  readonly survivor: StoredCustomer | null;
  readonly absorbed: readonly StoredCustomer[];
  readonly link: Link | null;
  readonly identifier: CustomerId;
  readonly liftsErasures: boolean;
}

/** The link that the customers share, whatever the request claims; null if they have none or disagree. */
export const standingLink = (owners: readonly StoredCustomer[], moment: Instant): Link | null => {
  const standing = resolveCustomer(owners, null, moment);
  return standing.outcome === "resolved" ? standing.link : null;
};

/**
 * More than {@link ABSORBED_PER_TRANSACTION} customers merge in rounds; the last stores the facts. Where the new link
 * would contradict the customers left, a round keeps its own customers' link.
 */
export const mergeOf = (
  { facts, claim, moment }: Pick<StateContext, "facts" | "claim" | "moment">,
  { survivor, absorbed, link }: Pick<Merge, "survivor" | "absorbed" | "link">,
) => {
  if (survivor === null || absorbed.length <= ABSORBED_PER_TRANSACTION) {
    const { identities } = facts;
    return { identities, purchases: statedPurchases(facts), survivor, absorbed, link, isRound: false };
  }
  const some = absorbed.slice(0, ABSORBED_PER_TRANSACTION);
  const others = absorbed.slice(ABSORBED_PER_TRANSACTION);
  const splits = resolveCustomer([{ ...survivor, link }, ...others], claim, moment).outcome === "refused";
  return {
    identities: [],
    purchases: [],
    survivor,
    absorbed: some,
    link: splits ? standingLink([survivor, ...some], moment) : link,
    isRound: true,
  };
};

export interface ToAcknowledge {
  readonly asked: Asked;
  readonly askOnceAcknowledged: NextAsk | null;
}

/** The customer afterwards, and the change to write; null: nothing changes. */
export interface Plan {
  readonly customer: CustomerChange["after"];
  /** The purchase to acknowledge now; null: none, or the customer has no account, so that nothing was delivered yet. */
  readonly toAcknowledge: ToAcknowledge | null;
  readonly change: CustomerChange | null;
}

interface Joined {
  readonly reference: string;
  readonly said: Purchase;
  readonly stored: StoredPurchase | undefined;
  readonly purchase: Purchase;
}

const join = (purchases: readonly Purchase[], known: KnownFacts): readonly Joined[] =>
  joinAll(purchases).map((said) => {
    const reference = referenceText(said);
    const stored = known.purchases.get(reference);
    return { reference, said, stored, purchase: joinWithStored(stored?.purchase, said) };
  });

/** Null: the purchase is only mentioned, or belongs to another bundle. */
const originOf = (origin: FactsOrigin | null, { said, stored }: Joined): FactsOrigin | null => {
  const { store, verifiedAt, renewal } = said;
  if (origin?.source.store !== store || (verifiedAt === 0 && renewal === null)) return null;
  const place = stored?.bundleOrPackage ?? null;
  return place !== null && place !== bundleOrPackageOf(origin.source) ? null : origin;
};

/** The pending acknowledgement; only the store's latest answer can end one. */
const acknowledgementAfter = (
  { facts: { acknowledgementDue }, moment }: PlanState,
  { reference, said, stored, purchase }: Joined,
): Acknowledgement | null => {
  const before = stored?.acknowledgement ?? null;
  if (acknowledgementDue !== null && referenceText(acknowledgementDue.purchase) === reference)
    return before ?? { dueSince: moment, deadline: acknowledgementDue.deadline };
  const isLatest = said.verifiedAt > 0 && said.verifiedAt >= (stored?.purchase.verifiedAt ?? 0);
  // An answer without lines does not replace one with lines: it is older, whenever it came.
  return isLatest && (said.lines.length > 0 || purchase.lines.length === 0) ? null : before;
};

type Followed = ReturnType<typeof followUp>;

/** The work that a joined purchase leaves due: its acknowledgement, and the next question to its store. */
const followUp = (state: PlanState, { liftsErasures, identifier }: Merge, joined: Joined) => {
  const { known, moment } = state;
  const { reference, stored, purchase } = joined;
  const origin = originOf(state.facts.origin, joined);
  const { ask: before = null, acknowledgement: waited = null } = stored ?? {};
  const acknowledgement = origin === null ? waited : acknowledgementAfter(state, joined);
  const liftsErasure = liftsErasures && known.erasedPurchases.has(reference);
  const asking = { origin, purchase, stored, liftsErasure, moment };
  const ask = askAfter({ ...asking, acknowledgement });
  const isMoved = ask?.at !== before?.at || ask?.because !== before?.because || acknowledgement !== waited;
  const place = origin === null ? null : bundleOrPackageOf(origin.source);
  return {
    reference,
    changed: hasChanged(joined) || isMoved,
    askOnceAcknowledged: acknowledgement === null ? ask : askAfter({ ...asking, acknowledgement: null }),
    stored: {
      purchase,
      revision: stored?.revision ?? 0,
      customer: stored?.customer ?? identifier,
      acknowledgement,
      ask,
      bundleOrPackage: stored?.bundleOrPackage ?? place,
      move:
        isMoved && (before !== null || ask !== null)
          ? { from: before?.at ?? null, source: ask === null ? null : (origin?.source ?? null) }
          : null,
    },
  };
};

const projectionOf = (
  before: ReadonlyMap<string, Purchase>,
  catalog: Catalog,
): ((purchases: readonly Purchase[]) => readonly Purchase[]) => {
  // The catalog may be a minute old, so only a re-projection drops holdings that it no longer maps.
  const isHeld = (reference: string): boolean => before.has(reference);
  return (purchases) => holdingsOf([...before.values(), ...purchases], catalog, isHeld);
};

const heldBy = (customers: readonly (StoredCustomer | null)[]): ReadonlyMap<string, Purchase> =>
  byReference(customers.flatMap((customer) => customer?.holdings ?? []));

/** The holdings afterwards, and the purchases to write: those that are held first. */
const project = (catalog: Catalog, { survivor, absorbed }: Merge, purchases: readonly Followed[]) => {
  const before = heldBy([survivor, ...absorbed]);
  const holdingsWith = projectionOf(before, catalog);
  const holdings = holdingsWith(purchases.map(({ stored }) => stored.purchase));
  const after = byReference(holdings);
  // A holding is replaced only together with its purchase, whose revision proves that it is current.
  const written = purchases.filter(
    ({ changed, reference }) => changed || !heldAlike(before.get(reference), after.get(reference)),
  );
  const heldFirst = written.toSorted((a, b) => compare(after.has(b.reference), after.has(a.reference)));
  return { holdingsWith, holdings, written: heldFirst.map(({ stored }) => stored) };
};

/** Holdings that the owners would have together with these purchases. */
export const holdingsAfter = (
  purchases: readonly Purchase[],
  known: KnownFacts,
  owners: readonly StoredCustomer[],
  catalog: Catalog,
): readonly Purchase[] =>
  projectionOf(heldBy(owners), catalog)(join(purchases, known).map(({ purchase }) => purchase));

const customerAfter = (
  { facts: { environment }, moment }: PlanState,
  { purchases, survivor, absorbed, link, identifier }: Merge,
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

const sameLink = (a: Link | null, b: Link | null): boolean =>
  a?.account === b?.account && a?.assertedBy === b?.assertedBy && a?.linkedAt === b?.linkedAt;

const isUnchanged = (before: StoredCustomer | null, after: Plan["customer"]): boolean =>
  before !== null &&
  !before.unsettled &&
  before.hasPurchased === after.hasPurchased &&
  sameLink(before.link, after.link) &&
  sameHoldings(before.holdings, after.holdings);

const toAcknowledge = (
  { facts: { acknowledgementDue } }: PlanState,
  { link }: Merge,
  purchases: readonly Followed[],
): ToAcknowledge | null => {
  if (link === null || acknowledgementDue === null) return null;
  const due = purchases.find(({ reference }) => reference === referenceText(acknowledgementDue.purchase));
  return due === undefined || selectsNothing(due.stored.purchase)
    ? null
    : { asked: due.stored, askOnceAcknowledged: due.askOnceAcknowledged };
};

/** Plans the change that stores the facts. Pure; planned again once it is written, it changes nothing. */
export const planCustomerChange = (state: PlanState, merge: Merge): Plan => {
  const { application, known, moment } = state;
  const { survivor, absorbed, liftsErasures } = merge;
  const purchases = join(merge.purchases, known).map((joined) => followUp(state, merge, joined));
  const { holdingsWith, holdings, written } = project(application.catalog, merge, purchases);
  const customer = customerAfter(state, merge, holdings);
  const identities = merge.identities.filter((_, index) => known.identities[index] === null);
  const changesNothing = absorbed.length + identities.length + written.length === 0;
  return {
    customer,
    toAcknowledge: toAcknowledge(state, merge, purchases),
    change:
      changesNothing && isUnchanged(survivor, customer)
        ? null
        : {
            application: application.identifier,
            before: survivor,
            after: customer,
            holdingsWith: (some) => holdingsWith(some.map(({ purchase }) => purchase)),
            absorbed,
            identities,
            purchases: written,
            liftsErasures,
            tellsChanges: tellsChanges(application),
            moment,
          },
  };
};
