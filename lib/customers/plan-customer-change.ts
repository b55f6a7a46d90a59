import { tellsChanges, type Application } from "../applications/application.ts";
import type { Environment } from "../contract/schemas.ts";
import { MINUTE } from "../duration.ts";
import type { Catalog } from "../entitlements/catalog.ts";
import { heldAlike, holdingsOf, sameHoldings } from "../entitlements/holdings.ts";
import { joinAll, joinPurchases } from "../entitlements/join.ts";
import type { NextAsk } from "../entitlements/next-ask.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import {
  byReference,
  referenceText,
  selectsNothing,
  samePurchase,
  verifiedAs,
  type Purchase,
} from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import type { PendingAcknowledgement } from "../stores/android-store/reading.ts";
import type { Asked } from "./ask-queue.ts";
import { askAfter, bundleOrPackageOf, type FactsOrigin } from "./ask.ts";
import type { CustomerChange } from "./customer-change.ts";
import type { KnownFacts } from "./customer-table.ts";
import type { Acknowledgement, Link, StoredCustomer, StoredPurchase } from "./records.ts";
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

/** A purchase that is stored and waits for its acknowledgement. */
export interface ToAcknowledge {
  readonly asked: Asked;
  /** The next question once it is acknowledged. */
  readonly askOnceAcknowledged: NextAsk | null;
}

/** The customer afterwards, and the change to write; null: nothing changes. */
export interface Plan {
  readonly customer: CustomerChange["after"];
  /**
   * The facts' purchase that is to be acknowledged now; null: none is, or the customer has no account, so that nothing
   * was delivered yet. Its acknowledgement is pending anyway, for when the customer gets one.
   */
  readonly toAcknowledge: ToAcknowledge | null;
  readonly change: CustomerChange | null;
}

/** A purchase of the request, joined with its stored state. */
interface Joined {
  readonly reference: string;
  readonly said: Purchase;
  readonly stored: StoredPurchase | undefined;
  readonly purchase: Purchase;
  readonly hasChanged: boolean;
  /** Whether it has changed by more than the time of verification. */
  readonly isNews: boolean;
}

/** A purchase as it is to be stored, with its acknowledgement and the next question. */
type Followed = ReturnType<typeof followUp>;

/** The facts' origin, unless the purchase is only mentioned or belongs to another bundle. */
const originOf = (
  origin: FactsOrigin | null,
  { store, verifiedAt, renewal }: Purchase,
  stored: StoredPurchase | undefined,
): FactsOrigin | null => {
  if (origin?.source.store !== store || (verifiedAt === 0 && renewal === null)) return null;
  const place = stored?.bundleOrPackage ?? null;
  return place !== null && place !== bundleOrPackageOf(origin.source) ? null : origin;
};

/** Step 1: joins each purchase of the request with its stored state. */
const join = ({ purchases, known }: Pick<PlanInput, "purchases" | "known">): readonly Joined[] =>
  joinAll(purchases).map((said) => {
    const reference = referenceText(said);
    const stored = known.purchases.get(reference);
    const purchase = joinWithStored(stored?.purchase, said);
    const hasChanged = stored === undefined || !samePurchase(stored.purchase, purchase);
    const isNews =
      stored === undefined || !samePurchase(verifiedAs(stored.purchase, 0), verifiedAs(purchase, 0));
    return { reference, said, stored, purchase, hasChanged, isNews };
  });

/** The pending acknowledgement; only the store's latest answer can end one. */
const acknowledgementAfter = (
  { acknowledgementDue, moment }: PlanInput,
  { reference, said, stored, purchase }: Joined,
): Acknowledgement | null => {
  const before = stored?.acknowledgement ?? null;
  if (acknowledgementDue !== null && referenceText(acknowledgementDue.purchase) === reference)
    return before ?? { dueSince: moment, deadline: acknowledgementDue.deadline };
  const isLatest = said.verifiedAt > 0 && said.verifiedAt >= (stored?.purchase.verifiedAt ?? 0);
  // An answer without lines does not replace one with lines: it is older, whenever it came.
  return isLatest && (said.lines.length > 0 || purchase.lines.length === 0) ? null : before;
};

const sameAcknowledgement = (a: Acknowledgement | null, b: Acknowledgement | null): boolean =>
  a?.dueSince === b?.dueSince && a?.deadline === b?.deadline;

/** Step 2: what is due of a joined purchase: its acknowledgement, and the next question to its store. */
const followUp = (input: PlanInput, joined: Joined) => {
  const { moment, liftsErasures, known, identifier } = input;
  const { reference, said, stored, purchase, hasChanged, isNews } = joined;
  const origin = originOf(input.origin, said, stored);
  const acknowledgement =
    origin === null ? (stored?.acknowledgement ?? null) : acknowledgementAfter(input, joined);
  const asking = {
    origin,
    purchase,
    stored,
    hasChanged,
    isNews,
    liftsErasure: liftsErasures && known.erasedPurchases.has(reference),
    moment,
  };
  const ask = askAfter({ ...asking, acknowledgement });
  const before = stored?.ask ?? null;
  const waited = stored?.acknowledgement ?? null;
  const isMoved =
    ask?.at !== before?.at ||
    ask?.because !== before?.because ||
    !sameAcknowledgement(acknowledgement, waited);
  const place = origin === null ? null : bundleOrPackageOf(origin.source);
  return {
    reference,
    changed: hasChanged || isMoved,
    /** The question once the acknowledgement is made. */
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
  const { application, known, survivor, absorbed, link, moment, acknowledgementDue } = input;
  const purchases = join(input).map((joined) => followUp(input, joined));
  const { holdingsWith, holdings, written } = project(input, purchases);
  const customer = customerAfter(input, holdings);
  const identities = input.identities.filter((_, index) => known.identities[index] === null);
  const changesNothing = absorbed.length + identities.length + written.length === 0;
  const due = purchases.find(
    ({ reference }) =>
      acknowledgementDue !== null && reference === referenceText(acknowledgementDue.purchase),
  );
  return {
    customer,
    toAcknowledge:
      link === null || due === undefined || selectsNothing(due.stored.purchase)
        ? null
        : { asked: due.stored, askOnceAcknowledged: due.askOnceAcknowledged },
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
            liftsErasures: input.liftsErasures,
            tellsChanges: input.tellsChanges,
            moment,
          },
  };
};
