import { createHash } from "node:crypto";

/**
 * The expected answers: a plain list of all facts and their owners, evaluated again for each question in the most
 * obvious way. It shares no code with the service. Where the two disagree, one of them is wrong.
 */

export type ModelEnvironment = "production" | "sandbox" | "xcode";

/** A signed transaction of the App Store. */
export interface IosFact {
  readonly store: "ios-store";
  readonly environment: ModelEnvironment;
  readonly transaction: string;
  /** The lineage. */
  readonly original: string;
  readonly product: string;
  readonly type: "subscription" | "non-renewing" | "non-consumable" | "consumable";
  /** `subscriptionGroupIdentifier`. */
  readonly group: string | null;
  /** `webOrderLineItemId`: the same for one period under every transaction id. */
  readonly webOrder: string | null;
  /** `purchaseDate`; of a restored copy, the time of the restore. */
  readonly start: number;
  /** `originalPurchaseDate`. */
  readonly originalStart: number;
  /** `expiresDate`, of subscriptions. */
  readonly end: number | null;
  readonly quantity: number;
  readonly revokedAt: number | null;
  /** `revocationPercentage`, in thousandths of a per cent; null: absent. */
  readonly revokedShare: number | null;
  readonly upgraded: boolean;
  /** `previousOriginalTransactionId`. */
  readonly previous: string | null;
  /** The transaction's own `appTransactionId`. */
  readonly appTransaction: string | null;
  /** SHA-256 of the certificate of StoreKit testing in Xcode. */
  readonly certificate: string | null;
  readonly signedAt: number;
}

interface AndroidAnswer {
  readonly store: "android-store";
  readonly environment: ModelEnvironment;
  readonly token: string;
  /** `obfuscatedExternalAccountId`; the client chooses it, so it names nobody. */
  readonly obfuscated: string | null;
  readonly answeredAt: number;
}

/** Google's answer about a subscription. */
export interface AndroidSubscriptionFact extends AndroidAnswer {
  readonly kind: "subscription";
  readonly state:
    | "ACTIVE"
    | "CANCELED"
    | "IN_GRACE_PERIOD"
    | "ON_HOLD"
    | "PAUSED"
    | "EXPIRED"
    | "PENDING"
    | "PENDING_PURCHASE_CANCELED";
  readonly start: number | null;
  readonly lines: readonly {
    readonly product: string;
    readonly basePlan: string | null;
    readonly expiry: number;
    /** False for a deferred replacement. */
    readonly paid: boolean;
    readonly renews: boolean;
    /** `deferredItemReplacement` or `deferredItemRemoval`: the line ends at its expiry, whatever its plan says. */
    readonly leaves: "replaced" | "removed" | null;
    /** The product that is to take its place. */
    readonly replacement?: string;
  }[];
  /** `linkedPurchaseToken`. */
  readonly replaces: string | null;
  /** `outOfAppPurchaseContext.expiredPurchaseToken`. */
  readonly expired: string | null;
  /** `canceledStateContext.replacementCancellation`: another purchase, which the answer does not name, took its place. */
  readonly isReplaced: boolean;
}

/** Google's answer about a one-time purchase. */
export interface AndroidOneTimeFact extends AndroidAnswer {
  readonly kind: "one-time";
  readonly state: "PURCHASED" | "CANCELLED" | "PENDING";
  /** Null until it is paid. */
  readonly completedAt: number | null;
  readonly products: readonly {
    readonly product: string;
    readonly purchaseOption: string | null;
    readonly rented: boolean;
    readonly consumed: boolean;
    readonly quantity: number;
    /** `refundableQuantity`; null: absent. */
    readonly unrefunded: number | null;
  }[];
  /** The products that a link selected; null: all of them. A notification selects none. */
  readonly asked: readonly string[] | null;
}

/** A renewal info of the App Store. */
export interface IosRenewal {
  readonly environment: ModelEnvironment;
  /** The lineage: its original transaction id; in Xcode as `lineageKey` names it. */
  readonly lineage: string;
  /** `renewalDate`; null: absent. */
  readonly renewalDate: number | null;
  /** `autoRenewStatus`. */
  readonly renews: boolean;
  /** `gracePeriodExpiresDate`; null: absent. */
  readonly graceEnd: number | null;
  /** `isInBillingRetryPeriod`. */
  readonly inRetry: boolean;
  /** `expirationIntent`; null: absent. */
  readonly intent: number | null;
  /** Whether it came beside the status of a billing grace period, which an app does not have. */
  readonly inGrace: boolean;
  readonly signedAt: number;
}

export type AndroidFact = AndroidSubscriptionFact | AndroidOneTimeFact;
export type Fact = IosFact | AndroidFact;

export interface ModelClaim {
  readonly account: string;
  readonly by: "credential" | "client";
}

/** Verified facts about one person, and the account that the request names. */
export interface ModelRequest {
  /**
   * Whether a store sends it. A notification names no account and selects no product: it is one transaction, one renewal
   * info or both of one lineage, or one of Google's answers.
   */
  readonly isNotification: boolean;
  readonly environment: ModelEnvironment;
  /** The app transaction id of an iOS request; null: none. */
  readonly appTransaction: string | null;
  readonly facts: readonly Fact[];
  readonly renewals: readonly IosRenewal[];
  /** Google's answers about other tokens during the request; a token without one is unknown to Google. */
  readonly answers: readonly AndroidSubscriptionFact[];
  readonly claim: ModelClaim | null;
}

export interface ModelProduct {
  readonly store: Fact["store"];
  readonly product: string;
  readonly basePlan: string | null;
  readonly purchaseOption: string | null;
  readonly grants: readonly string[];
  readonly access: { readonly months: number; readonly days: number } | null;
}

export interface ModelCatalog {
  readonly names: Readonly<Record<string, string>>;
  readonly products: readonly ModelProduct[];
}

/** An entry of an answer. `Customer` is a number in the model and an identifier in the service. */
export interface ModelEntitlement<Customer = number> {
  readonly identifier: string;
  readonly displayName: string;
  readonly productIdentifier: string;
  readonly environment: ModelEnvironment;
  readonly status: "active" | "grace_period" | "billing_retry" | "paused" | "expired" | "revoked";
  readonly active: boolean;
  readonly startsAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastVerifiedAt: string;
  readonly store: Fact["store"];
  readonly productKind: "subscription" | "one_time_product";
  readonly customerIdentifier: Customer;
  readonly willRenew: boolean | null;
}

export type ModelOutcome =
  | { readonly outcome: "nobody" }
  | { readonly outcome: "stored"; readonly customer: number }
  | { readonly outcome: "refused"; readonly code: "CUSTOMER_ALREADY_LINKED" | "IDENTITY_CONFLICT" };

/** The application's policy for a credential's link of a customer that is linked to another account. */
export type ModelTransfers = "refuse" | "when_inactive" | "always";

/** The application's policy and the service's bounds. */
export interface ModelTerms {
  readonly transfers: ModelTransfers;
  /** Most customers of an account by clients' claims: in production, and in all other environments together. */
  readonly claims: number;
  /** Milliseconds for which a subscription that was to be renewed stays active while the store is silent. */
  readonly leeway: number;
}

interface Person {
  /** In the order of creation. */
  readonly number: number;
  readonly environment: ModelEnvironment;
  readonly bornAt: number;
  readonly link: ModelClaim | null;
  readonly names: ReadonlySet<string>;
}

type Status = ModelEntitlement["status"];

/** The customer of a purchase, and who asserted the customer's link. */
interface Owner {
  readonly customer: number;
  readonly by: ModelClaim["by"] | null;
}

/** One product that one purchase grants or granted. */
interface Given {
  readonly fact: Fact;
  readonly customer: number;
  readonly by: ModelClaim["by"] | null;
  readonly key: string;
  readonly product: ModelProduct;
  readonly productIdentifier: string;
  readonly status: Status;
  readonly start: number | null;
  /** Start of access, after the passes of the same product before it. */
  readonly begins: number | null;
  readonly end: number | null;
  /** Whether an iOS subscription's start is after its end, so that it is unknown. */
  readonly beganLater?: boolean;
  readonly revokedAt: number | null;
  /** Time by which units were refunded; null: none. */
  readonly refundedBy: number | null;
  /** The last refund, or the first signing of any, if earlier. */
  readonly refundedFrom: number | null;
  /** Units that are not refunded. */
  readonly units: number;
  /** Units that an answer showed as not refunded: the others never counted. */
  readonly shown: number;
  readonly bought: number;
  /** Whether its length comes from the catalog. */
  readonly isPass: boolean;
  readonly isRented?: boolean;
  readonly kind: ModelEntitlement["productKind"];
  readonly willRenew: boolean | null;
  readonly verifiedAt: number;
  /** Its place among the products of the purchase. */
  readonly place: number;
}

/**
 * The three latest periods of each product of an iOS lineage count, those that had not ended at the lineage's last signing,
 * and the product's first, which may have ended another product's period early. The others no longer decide where
 * another period ended.
 */
const COUNTED_OF_EACH_PRODUCT = 3;

/** Tolerance for clocks: access that begins within a minute has begun. */
const CLOCKS = 60_000;

/** Longest time for which Google calls a subscription active, or in grace, after its end. */
const SILENT = 48 * 3_600_000;

/** Longest time for which the App Store retries a payment. */
const RETRIED = 60 * 86_400_000;

/** Longest billing grace period of the App Store. */
const LONGEST_GRACE = 28 * 86_400_000;

const iso = (moment: number | null): string | null =>
  moment === null ? null : new Date(moment).toISOString();

/** Calendar months from a moment, in UTC; the last day of a month that is too short. */
const after = (moment: number, { months, days }: { months: number; days: number }): number => {
  const date = new Date(moment);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months);
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime() + days * 86_400_000;
};

const isPending = (fact: AndroidFact): boolean =>
  fact.state === "PENDING" || fact.state === "PENDING_PURCHASE_CANCELED";

/** Whether the payment is still to come. */
const awaitsPayment = (fact: Fact): boolean => fact.store === "android-store" && fact.state === "PENDING";

const tokenName = ({ environment }: Fact, token: string): string => `android ${environment} token ${token}`;

/** In Xcode every id is "0", so the certificate and the product tell lineages apart. */
const lineageKey = ({ environment, original, certificate, group, product }: IosFact): string =>
  environment === "xcode" ? `${certificate}:${original}:${group ?? product}` : original;

export const lineageKeyOf = lineageKey;

const lineageName = (environment: ModelEnvironment, key: string): string =>
  `ios ${environment} lineage ${key}`;
const appName = (environment: ModelEnvironment, appTransaction: string): string =>
  `ios ${environment} app ${appTransaction}`;

/** The purchase that a fact is about. */
const purchaseName = (fact: Fact): string =>
  fact.store === "ios-store" ? lineageName(fact.environment, lineageKey(fact)) : tokenName(fact, fact.token);

/** The lineage that this one replaced. */
const previousName = ({ environment, previous, original }: IosFact): string | null =>
  environment === "xcode" || previous === null || previous === original
    ? null
    : lineageName(environment, previous);

/** The tokens of the same person's older purchases that Google's answer names. */
const olderTokens = (fact: Fact): string[] =>
  fact.store === "ios-store" || fact.kind === "one-time" || isPending(fact)
    ? []
    : [fact.replaces, fact.expired].filter((token) => token !== null);

/** Every name by which a fact identifies a person. */
const namesOf = (fact: Fact): string[] => {
  const names = [purchaseName(fact)];
  if (fact.store === "android-store")
    return [...names, ...olderTokens(fact).map((token) => tokenName(fact, token))];
  const previous = previousName(fact);
  return previous === null ? names : [...names, previous];
};

/**
 * The app transaction id of a request: the app transaction's own, or else the one that every lineage carries, if any.
 * The transactions of one lineage are one person's, so another id among them names nobody; nor does one of two that all
 * lineages carry. In Xcode it names nobody.
 */
const appTransactionsOf = ({ environment, appTransaction, facts }: ModelRequest): string[] => {
  if (environment === "xcode") return [];
  const lineages = [...Map.groupBy(facts, purchaseName).values()].map((said) =>
    said.flatMap((fact) => (fact.store === "ios-store" ? (fact.appTransaction ?? []) : [])),
  );
  const [first, ...others] = [appTransaction === null ? [] : [appTransaction], ...lineages].filter(
    (carried) => carried.length > 0,
  );
  const common = new Set(first?.filter((value) => others.every((carried) => carried.includes(value))));
  return common.size === 1 ? [...common].map((value) => appName(environment, value)) : [];
};

const namesOfRequest = (request: ModelRequest): string[] => [
  ...appTransactionsOf(request),
  ...request.facts.flatMap(namesOf),
];

/** Orders by the first comparison that tells the two apart. */
type Order<T> = readonly ((value: T) => string | number | boolean)[];
const sorted = <T>(values: readonly T[], order: Order<T>): T[] =>
  [...values].sort((a, b) => {
    for (const by of order) {
      const [left, right] = [by(a), by(b)];
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  });

const productOf = (
  { products }: ModelCatalog,
  store: Fact["store"],
  product: string,
  {
    basePlan = null,
    purchaseOption = null,
  }: { basePlan?: string | null; purchaseOption?: string | null } = {},
): ModelProduct | undefined => {
  const same = products.filter((sold) => sold.store === store && sold.product === product);
  return (
    same.find((sold) => sold.basePlan === basePlan && sold.purchaseOption === purchaseOption) ??
    same.find((sold) => sold.basePlan === null && sold.purchaseOption === null)
  );
};

/** The name of a purchase event: one purchase under any number of transaction ids. */
const eventName = (fact: IosFact): string => {
  const { environment, product, type, transaction, webOrder, end, start, originalStart } = fact;
  const isXcode = environment === "xcode";
  if (type === "subscription")
    return isXcode || webOrder === null ? `${product} until ${end}` : `${product} web order ${webOrder}`;
  if (type === "consumable") return isXcode ? `${product} at ${start}` : `consumable ${transaction}`;
  return isXcode ? `${product} at ${originalStart}` : `one ${product}`;
};

/** A purchase event according to its deciding copy. */
interface Event {
  readonly fact: IosFact;
  readonly start: number;
  /** The store's end; null: none. */
  readonly natural: number | null;
  /** The end, cut short by an upgrade. */
  readonly end: number | null;
  readonly revokedAt: number | null;
  /** The last refund of it, also once that was reversed. */
  readonly refundedBy: number | null;
  /** The last refund, or the first signing of any, if earlier. */
  readonly refundedFrom: number | null;
  /** Units that are not refunded. */
  readonly units: number;
}

const unitsOf = ({ type, quantity, revokedAt, revokedShare }: IosFact): number => {
  if (revokedAt === null) return quantity;
  if (revokedShare === null || quantity <= 1 || type === "subscription" || type === "non-consumable")
    return 0;
  return quantity - Math.round((quantity * revokedShare) / 100_000);
};

/** The latest copy; of copies signed at one moment, the one in the lineage with the smaller id. */
const latestSigned = (facts: readonly IosFact[]): IosFact => {
  const [latest] = sorted(facts, [({ signedAt }) => -signedAt, ({ original }) => original]);
  if (latest === undefined) throw new RangeError("Nothing was signed.");
  return latest;
};

/** The last signed copy of a transaction id. */
interface Copy {
  readonly latest: IosFact;
  /** The first signing of a revoked copy; null: never revoked. */
  readonly revokedSince: number | null;
  /** The latest revocation that was ever signed. */
  readonly revokedLast: number | null;
  /** The lineages under which it was signed. */
  readonly lineages: ReadonlySet<string>;
}

const firstOf = (times: readonly (number | null)[]): number | null => {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
};

const lastOf = (times: readonly (number | null)[]): number | null => {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.max(...known);
};

/** The latest copy of each transaction id. In Xcode every id is "0", so the event tells copies apart. */
const copiesOf = (facts: readonly IosFact[]): Copy[] =>
  [
    ...Map.groupBy(facts, (fact) =>
      fact.environment === "xcode" ? `${eventName(fact)} ${fact.transaction}` : fact.transaction,
    ).values(),
  ].map((said) => ({
    latest: latestSigned(said),
    revokedSince: firstOf(said.map(({ revokedAt, signedAt }) => (revokedAt === null ? null : signedAt))),
    revokedLast: lastOf(said.map(({ revokedAt }) => revokedAt)),
    lineages: new Set(said.map(purchaseName)),
  }));

/** Whether an id was bought after a refund: not before it was dated, nor signed before the store first told of it. */
const isBoughtAfter = ({ latest }: Copy, at: number, ids: readonly Copy[]): boolean =>
  latest.start > at &&
  ids.some(
    ({ revokedLast, revokedSince }) =>
      revokedLast === at && revokedSince !== null && latest.signedAt >= revokedSince,
  );

/** The fact that decides one purchase: the last signed of the ids ever revoked, unless that one was given back or there is none. */
const saidOf = (ids: readonly Copy[]): IosFact => {
  const everRevoked = ids.filter(({ revokedSince }) => revokedSince !== null);
  const said = everRevoked.length === 0 ? null : latestSigned(everRevoked.map(({ latest }) => latest));
  return said !== null && said.revokedAt !== null ? said : latestSigned(ids.map(({ latest }) => latest));
};

const eventOf = (ids: readonly Copy[]): Event => {
  // A non-consumable is bought anew after a refund, and each purchase has its own.
  const boughtAfter = (id: Copy): number =>
    id.latest.type === "non-consumable"
      ? Math.max(
          0,
          ...ids.map(({ revokedLast }) => revokedLast ?? 0).filter((at) => isBoughtAfter(id, at, ids)),
        )
      : 0;
  const purchases = [...Map.groupBy(ids, boughtAfter)]
    .sort(([a], [b]) => b - a)
    .map(([, some]) => saidOf(some));
  const paid = purchases.filter(({ revokedAt }) => revokedAt === null);
  const fact = paid.length > 0 ? latestSigned(paid) : purchases[0];
  if (fact === undefined) throw new RangeError("Nothing was signed.");
  const refunds = ids.map(({ revokedLast }) => revokedLast);
  const refundsOfFact = ids.filter(({ latest }) => latest === fact).map(({ revokedLast }) => revokedLast);
  // A restored copy of a period lacks the mark of its upgrade, however late it is signed.
  const marked = fact.type === "subscription" ? ids.filter(({ latest }) => latest.upgraded) : [];
  const asMarked =
    marked.length === 0 || fact.upgraded
      ? fact
      : { ...fact, upgraded: true, signedAt: latestSigned(marked.map(({ latest }) => latest)).signedAt };
  const { type, end, revokedAt, upgraded, signedAt } = asMarked;
  const natural = type === "subscription" ? end : null;
  const units = unitsOf(fact);
  return {
    fact: asMarked,
    start:
      type === "subscription"
        ? Math.min(...ids.map(({ latest }) => latest.start))
        : type === "consumable"
          ? fact.start
          : fact.originalStart,
    natural,
    end: upgraded ? Math.min(natural ?? Infinity, signedAt) : natural,
    revokedAt: units === 0 ? revokedAt : null,
    refundedBy: type === "subscription" ? lastOf(refunds) : lastOf(refundsOfFact),
    refundedFrom: firstOf([lastOf(refunds), ...ids.map(({ revokedSince }) => revokedSince)]),
    units,
  };
};

const LINEAGE: Order<Event> = [
  ({ start }) => start,
  ({ fact }) => !fact.upgraded,
  ({ end }) => end ?? Infinity,
  ({ fact }) => fact.transaction,
  ({ fact }) => fact.product,
];

/** A next period that is charged ahead of time begins at most this long before the end of the current one. */
const AHEAD = 2 * 86_400_000;

/** Two copies of one web order may be of two periods: Apple has given a renewal the previous period's web order. */
const areOnePeriod = ({ latest: a }: Copy, { latest: b }: Copy): boolean => {
  if (a.type !== "subscription" || a.end === null || b.end === null) return true;
  const [first, second] = a.start <= b.start ? [a, b] : [b, a];
  if (a.end !== b.end && (a.start >= a.end || b.start >= b.end)) return false;
  const overlap = Math.min(a.end, b.end) - second.start;
  return a.end === b.end || a.start === b.start || (second.end ?? 0) <= (first.end ?? 0) || overlap > AHEAD;
};

/** Groups of copies of one event, connected directly or through other copies. */
const together = (copies: readonly Copy[], areOne: (a: Copy, b: Copy) => boolean): Copy[][] => {
  const left = new Set(copies);
  const groups: Copy[][] = [];
  for (const first of copies) {
    if (!left.delete(first)) continue;
    const group = [first];
    for (const one of group)
      for (const other of left)
        if (areOne(one, other)) {
          left.delete(other);
          group.push(other);
        }
    groups.push(group);
  }
  return groups;
};

/** The copies of each event of one person. An event may be signed under several lineages. */
const eventsOfPerson = (facts: readonly IosFact[]): Copy[][] => {
  const haveOneName = ({ latest: a, lineages }: Copy, { latest: b, lineages: others }: Copy): boolean =>
    eventName(a) === eventName(b) &&
    ((a.type === "subscription" && a.webOrder !== null) ||
      [...lineages].some((lineage) => others.has(lineage)));
  // In Xcode ids are not unique, so each lineage stands by itself.
  const apart = ({ environment, ...fact }: IosFact): string =>
    environment === "xcode" ? purchaseName({ environment, ...fact }) : environment;
  return [...Map.groupBy(facts, apart).values()].flatMap((some) =>
    together(copiesOf(some), haveOneName).flatMap((named) => together(named, areOnePeriod)),
  );
};

/** The transactions that are kept of a lineage. */
const rememberedOf = (facts: readonly IosFact[]): IosFact[] => {
  const lastHeard = Math.max(...facts.map(({ signedAt }) => signedAt));
  const copies = copiesOf(facts);
  const endOf = ({ latest }: Copy): number =>
    (latest.type === "subscription" ? latest.end : null) ?? Infinity;
  // Two events of the product, by name, end later. By name, because copies may turn out to be one event only later.
  const isOutlasted = (copy: Copy): boolean =>
    new Set(
      copies
        .filter(({ latest }) => latest.product === copy.latest.product)
        .filter((other) => endOf(other) > endOf(copy))
        .map(({ latest }) => eventName(latest)),
    ).size >= COUNTED_OF_EACH_PRODUCT;
  // In Xcode, a restore has the id of the purchase, so that no copy tells reliably when the purchase began.
  const isFirst = ({ latest }: Copy): boolean =>
    latest.type === "subscription" &&
    latest.environment !== "xcode" &&
    copies.every((other) => other.latest.product !== latest.product || other.latest.start >= latest.start);
  const ids = copies
    .filter((copy) => endOf(copy) > lastHeard || !isOutlasted(copy) || isFirst(copy))
    .map(({ latest }) => latest);
  return facts.filter((fact) =>
    ids.some(
      (id) =>
        id.transaction === fact.transaction &&
        (fact.environment !== "xcode" || eventName(id) === eventName(fact)),
    ),
  );
};

/** A copy restored after the end of its period says only that it had begun by then. */
const beganBy = ({ start, end }: Event): number => Math.min(start, end ?? Infinity);

/**
 * The period that a renewal info speaks of: the one that ends at its date, else the last that had begun by then. A failed payment
 * is that of the last one that was over, or whose renewal might be charged by then, if there is one.
 */
const spokenOf = (periods: readonly Event[], renewal: IosRenewal): Event | undefined => {
  const { renewalDate, signedAt, inRetry, inGrace, graceEnd } = renewal;
  const ending = periods.filter(({ end, fact }) => end === renewalDate && !fact.upgraded);
  const begun = periods.filter((period) => beganBy(period) <= signedAt);
  const over = begun.filter(({ end }) => (end ?? Infinity) <= signedAt + AHEAD);
  const hasFailed = inRetry || inGrace || graceEnd !== null;
  const undated = hasFailed && over.length > 0 ? over : begun;
  return sorted(sorted(ending.length > 0 ? ending : undated, LINEAGE), [beganBy]).at(-1);
};

/**
 * Whether a period never ran: it was charged ahead of time, and between the charge and its start the person upgraded. It starts
 * where the period before it ends, and the upgrade started in that one. Or the upgrade was renewed at its end, which was further away
 * than a renewal is charged ahead. Whatever the store says of it since.
 */
const isOvertaken = (
  period: Event,
  periods: readonly Event[],
  known = new Map<Event, boolean>(),
): boolean => {
  const found = known.get(period);
  if (found !== undefined) return found;
  const overtaken = periods.some(
    (upgrade) =>
      upgrade.fact.product !== period.fact.product &&
      upgrade.start < period.start &&
      period.start - upgrade.start <= AHEAD &&
      (upgrade.fact.end ?? 0) > period.start &&
      (upgrade.revokedAt ?? Infinity) > period.start &&
      (periods.some((before) => before.start < upgrade.start && before.fact.end === period.start) ||
        ((upgrade.fact.end ?? 0) - period.start > AHEAD &&
          // What was refunded and given back was paid for and ran.
          (period.refundedFrom === null || period.revokedAt !== null) &&
          (upgrade.refundedFrom ?? Infinity) > period.start &&
          periods.some(
            (renewed) => renewed.fact.product === upgrade.fact.product && renewed.start === upgrade.fact.end,
          ))) &&
      !isOvertaken(upgrade, periods, known),
  );
  known.set(period, overtaken);
  return overtaken;
};

/** Refunded before it began. */
const neverRan = ({ revokedAt, start }: Event): boolean => revokedAt !== null && revokedAt <= start;

/**
 * Whether a refunded period was given back, and the person bought the other since the refund: both go on, until the store
 * marks the first as upgraded.
 */
const isGivenBackBeside = ({ fact, revokedAt, refundedFrom }: Event, other: Event): boolean =>
  !fact.upgraded && revokedAt === null && refundedFrom !== null && refundedFrom <= other.start;

/**
 * Whether the person went on from one period to another, which began after it, or at once in its place. Not to what was bought
 * beside it after a refund.
 */
const wentOn = (from: Event, to: Event): boolean =>
  (to.end ?? Infinity) > (from.end ?? Infinity) &&
  !neverRan(to) &&
  !(isGivenBackBeside(from, to) && beganBy(to) < (from.end ?? Infinity)) &&
  (beganBy(to) > beganBy(from) || (beganBy(to) === beganBy(from) && !to.fact.upgraded));

/** The end of the grace period after a period; the longest one where the store tells none. */
const graceEndOf = (end: number, { graceEnd, inGrace }: IosRenewal): number | null =>
  graceEnd ?? (inGrace ? end + LONGEST_GRACE : null);

/** Status of a period by the renewal info that speaks of it. */
const renewedStatus = (end: number, renewal: IosRenewal, leeway: number, moment: number): Status => {
  if (moment < end) return "active";
  const graceEnd = graceEndOf(end, renewal);
  if (moment < (graceEnd ?? 0)) return "grace_period";
  // Silence since the end, the word that it still renews and nothing else, or the word that a later period was paid, of which no transaction is known.
  const isRenewed = (renewal.renewalDate ?? 0) > end && !renewal.inRetry;
  const isUndecided = !renewal.inRetry && graceEnd === null && renewal.intent === null;
  const isSilent = renewal.renews && (renewal.signedAt < end || isUndecided);
  if ((isSilent || isRenewed) && moment < end + leeway) return "active";
  return renewal.inRetry && moment < end + RETRIED ? "billing_retry" : "expired";
};

/** The grants of one lineage. */
const givenByIos = (
  events: readonly {
    readonly copies: readonly Copy[];
    readonly home: IosFact;
    readonly until: number | null;
    /** When another lineage replaced this one; null: none names it. */
    readonly replacedAt: number | null;
  }[],
  renewal: IosRenewal | undefined,
  leeway: number,
  assumesRenewals: boolean,
  customer: Owner,
  catalog: ModelCatalog,
  moment: number,
): Given[] => {
  const known = events.map(({ copies, home, until, replacedAt }) => ({
    ...eventOf(copies),
    home,
    until,
    replacedAt,
  }));
  const bought = known.filter(({ fact }) => fact.type === "subscription");
  const all = known.filter((event) => !bought.includes(event) || !isOvertaken(event, bought));
  const periods = all.filter(({ fact }) => fact.type === "subscription");
  const spoken = renewal === undefined ? undefined : spokenOf(periods, renewal);
  // The store's word on the most recent purchase: it overtook a period that was charged before and begins later. One that begins
  // where this one ends was not overtaken, however late the store's word on this one's payment is.
  const isNamedLast = (event: Event, end: number | null, other: Event): boolean =>
    renewal !== undefined &&
    !event.fact.upgraded &&
    end === renewal.renewalDate &&
    other.start < (end ?? Infinity) &&
    event.fact.product !== other.fact.product &&
    // What is refunded ended a period for good, unless the store names that one since.
    renewal.signedAt >= (other.revokedAt ?? Math.min(other.fact.signedAt, other.start));
  const isLast = !periods.some(
    (other) => spoken !== undefined && wentOn(spoken, other) && !isNamedLast(spoken, spoken.end, other),
  );
  // In the order of the ends that the store gave, whatever cuts them short.
  const counted = sorted(
    all.filter(({ until }) => (until ?? Infinity) > moment),
    LINEAGE,
  ).map((event) => {
    const { until, end, fact } = event;
    const isCut = until !== null && fact.type === "subscription";
    return {
      ...event,
      natural: end,
      end: isCut ? Math.min(end ?? Infinity, until) : end,
      isSpoken: event === spoken,
    };
  });
  /** Whether the person went from an upgraded period to another product while it ran: it was no charge that never ran. */
  const wasLeft = ({ fact, start, end }: Event): boolean =>
    counted.some(
      (other) =>
        other.fact.type === "subscription" &&
        other.fact.product !== fact.product &&
        other.start > start &&
        other.start <= (end ?? Infinity) &&
        other.start < (other.end ?? Infinity) &&
        !neverRan(other),
    );
  /** Whether the other was refunded and given back, and this one, bought just before it began, was renewed at its end: both ran. */
  const ranBeside = ({ fact, start, end }: Event, other: Event): boolean =>
    other.refundedFrom !== null &&
    other.revokedAt === null &&
    other.start - start <= AHEAD &&
    counted.some(
      (renewed) =>
        renewed.fact.type === "subscription" &&
        renewed.fact.product === fact.product &&
        renewed.start === end,
    );
  const nextOf = (event: Event, place: number): Event | undefined => {
    const { fact } = event;
    return counted.slice(place + 1).find(
      (other) =>
        other.fact.type === "subscription" &&
        (fact.upgraded || !other.fact.upgraded || wasLeft(other)) &&
        other.start < (other.end ?? Infinity) &&
        !neverRan(other) &&
        !isGivenBackBeside(event, other) &&
        (other.fact.product === fact.product
          ? // The same product is not bought again for a shorter time. The refund of a renewal does not end the period before;
            // in the middle of a period, only a person who had left the product, or was refunded, buys it again. The store has
            // not marked or refunded what it signed since.
            (other.end ?? 0) > (event.end ?? 0) &&
            (other.revokedAt === null ||
              ((event.end ?? 0) - other.start > AHEAD && fact.signedAt < other.start)) &&
            !other.fact.upgraded
          : // Another product that is charged ahead of time begins at the end of this one. The store says of an upgraded
            // period that the next product was no such.
            other.start !== event.start &&
            !isNamedLast(event, event.natural, other) &&
            (fact.upgraded || ((event.end ?? 0) - other.start > AHEAD && !ranBeside(event, other)))),
    );
  };
  const endOf = (event: Event, place: number): number | null =>
    event.fact.type === "subscription" && event.end !== null
      ? Math.min(event.end, nextOf(event, place)?.start ?? Infinity)
      : event.end;
  /**
   * Whether a period is known to run until the start of another: it lasts until then, and was not refunded long before the
   * charge. A refunded one that ends at that very start is the one that was renewed, whenever it was refunded.
   */
  const reaches = (other: (typeof counted)[number], place: number, { start, fact }: Event): boolean =>
    other.fact.type === "subscription" &&
    other.start < start &&
    ((other.revokedAt !== null && !other.fact.upgraded && Math.abs((other.natural ?? 0) - start) <= CLOCKS) ||
      ((endOf(other, place) ?? 0) >= start - CLOCKS &&
        ((other.revokedAt ?? Infinity) >= start - CLOCKS ||
          (other.revokedAt ?? 0) >= fact.signedAt - AHEAD)));
  const given = counted.flatMap((event, place): { readonly one: Given; readonly order: Event }[] => {
    const { fact, start, revokedAt, units } = event;
    const product = productOf(catalog, "ios-store", fact.product);
    if (product === undefined) return [];
    const isSubscription = fact.type === "subscription";
    const end = endOf(event, place);
    const revoked = revokedAt !== null && revokedAt <= moment;
    const ended = fact.upgraded || (end !== null && end <= moment);
    const renewed = event.isSpoken && isLast && end === event.natural ? renewal : undefined;
    // The renewal is paid already, a day before it begins.
    const paidNext = counted
      .slice(place + 1)
      .filter(
        (other) =>
          isSubscription &&
          end === event.natural &&
          (end ?? 0) > moment &&
          other.fact.type === "subscription" &&
          !other.fact.upgraded &&
          other.revokedAt === null &&
          other.start === end &&
          (other.end ?? 0) > end,
      );
    // Only a subscription that runs is charged ahead of time. Where no known period reaches the next one's start, the one that
    // runs is not known, and its access shows from the charge on.
    const isChargedAhead =
      isSubscription &&
      fact.environment !== "xcode" &&
      !fact.upgraded &&
      revokedAt === null &&
      fact.transaction !== event.home.original &&
      fact.signedAt < start &&
      start - fact.signedAt <= AHEAD &&
      (event.replacedAt === null || event.replacedAt < fact.signedAt - AHEAD) &&
      !counted.some((other, otherPlace) => reaches(other, otherPlace, event));
    const status = fact.upgraded
      ? "expired"
      : renewed !== undefined && end !== null
        ? renewedStatus(end, renewed, leeway, moment)
        : ended && !(assumesRenewals && isSubscription && moment < (end ?? 0) + leeway)
          ? "expired"
          : "active";
    return [
      {
        order: { ...event, end },
        one: {
          ...customer,
          fact,
          key: lineageKey(event.home),
          product,
          productIdentifier: fact.product,
          status: revoked ? "revoked" : status,
          start,
          begins: isChargedAhead ? fact.signedAt : start,
          end: end === null ? null : Math.max(end, (renewed && graceEndOf(end, renewed)) ?? 0),
          beganLater: isSubscription && (start > (end ?? Infinity) || (isChargedAhead && moment < start)),
          revokedAt,
          refundedBy: event.refundedBy,
          refundedFrom: event.refundedFrom,
          units,
          shown: fact.quantity,
          bought: fact.quantity,
          isPass: !isSubscription && product.access !== null,
          kind: isSubscription || fact.type === "non-renewing" ? "subscription" : "one_time_product",
          willRenew: renewed?.renews ?? (paidNext.length === 0 ? null : true),
          verifiedAt: Math.max(
            fact.signedAt,
            ...(renewed === undefined ? paidNext.map((next) => next.fact) : [renewed]).map(
              ({ signedAt }) => signedAt,
            ),
          ),
          place,
        },
      },
    ];
  });
  // Those of one moment are in the order of the ends that count.
  const ordered = sorted(
    given.map(({ order }) => order),
    LINEAGE,
  );
  return given.map(({ one, order }) => ({ ...one, place: ordered.indexOf(order) }));
};

const STATES: Record<AndroidSubscriptionFact["state"], Status | null> = {
  ACTIVE: "active",
  CANCELED: "active",
  IN_GRACE_PERIOD: "grace_period",
  ON_HOLD: "billing_retry",
  PAUSED: "paused",
  EXPIRED: "expired",
  PENDING: null,
  PENDING_PURCHASE_CANCELED: null,
};

/** Whether an answer shows anything as owned, or as owned once. */
const showsPurchase = (fact: AndroidFact): boolean =>
  fact.kind === "subscription"
    ? !isPending(fact) && fact.lines.some((line) => isOwnedIn(line, fact))
    : fact.state !== "PENDING" && fact.completedAt !== null;

/** Nothing paid becomes unpaid, so an answer that shows nothing is older than one that does, whenever it came. */
const latestAnswer = <T extends AndroidFact>(facts: readonly T[]): T | undefined =>
  sorted(facts, [(fact) => !showsPurchase(fact), ({ answeredAt }) => -answeredAt])[0];

/** Whether something is owned, so that the purchase replaces its predecessor. */
const isPaidFor = (fact: AndroidSubscriptionFact): boolean => !isPending(fact) && fact.lines.some(isOwned);

/** A line that will be replaced or removed is owned, with or without an order of its own. */
const isOwned = ({ paid, leaves }: AndroidSubscriptionFact["lines"][number]): boolean =>
  paid || leaves !== null;

/** Whether a line of this answer is owned: of a purchase without any order that is not pending, all lines are. */
const isOwnedIn = (
  line: AndroidSubscriptionFact["lines"][number],
  { state, lines }: AndroidSubscriptionFact,
) => isOwned(line) || (STATES[state] !== null && !lines.some(isOwned));

/** Whether a line has ended by the time of the answer, and is not paid again. */
const isOverIn = (
  { expiry, renews, leaves }: AndroidSubscriptionFact["lines"][number],
  { state, answeredAt }: AndroidSubscriptionFact,
): boolean =>
  expiry <= answeredAt &&
  (state === "CANCELED" || (state === "ACTIVE" && leaves !== "replaced" && (!renews || leaves !== null)));

/** Google's answers of these tests are never acknowledged; what is over, or not owned, need not be. */
const isToBeAcknowledged = (fact: Fact): boolean =>
  fact.store === "android-store" &&
  fact.kind === "subscription" &&
  !isPending(fact) &&
  fact.state !== "EXPIRED" &&
  fact.lines.some((line) => isOwnedIn(line, fact) && !isOverIn(line, fact));

const isReplacedBy = (answer: AndroidFact, other: Fact): boolean =>
  other.store === "android-store" &&
  other.kind === "subscription" &&
  other.environment === answer.environment &&
  isPaidFor(other) &&
  other.token !== answer.token &&
  other.replaces === answer.token;

/** Days after the end of a purchase for which Google knows it, and so says that another one took its place. */
const KNOWN_AFTER_END = 60;

/** Whether Google has ever said that another purchase took this one's place, and nobody has told of that one: not long after its end. */
const goOnUnseen = (moving: readonly Fact[], everything: readonly Fact[], moment: number): boolean => {
  const subscriptions = moving.flatMap((fact) =>
    fact.store === "android-store" && fact.kind === "subscription" ? [fact] : [],
  );
  return [...Map.groupBy(subscriptions, purchaseName).values()].some((said) => {
    const answer = latestAnswer(said);
    return (
      answer !== undefined &&
      said.some(({ isReplaced }) => isReplaced) &&
      !everything.some((other) => isReplacedBy(answer, other)) &&
      answer.lines.some(
        (line) => isOwnedIn(line, answer) && line.expiry + KNOWN_AFTER_END * 86_400_000 > moment,
      )
    );
  });
};

const givenByAndroid = (
  facts: readonly AndroidFact[],
  everything: readonly Fact[],
  leeway: number,
  customer: Owner,
  catalog: ModelCatalog,
  moment: number,
): Given[] => {
  const answer = latestAnswer(facts);
  if (answer === undefined) return [];
  if (everything.some((other) => isReplacedBy(answer, other))) return [];
  const key = createHash("sha256").update(answer.token).digest("hex");
  const common = { ...customer, fact: answer, key, revokedAt: null, verifiedAt: answer.answeredAt };

  if (answer.kind === "subscription") {
    const state = STATES[answer.state];
    if (state === null) return [];
    return answer.lines.flatMap((line, place): Given[] => {
      const product = productOf(catalog, "android-store", line.product, { basePlan: line.basePlan });
      if (!isOwnedIn(line, answer) || product === undefined) return [];
      // A line that will be replaced is paid again, as another product.
      const renews = line.leaves === "replaced" || (line.renews && line.leaves === null);
      // Lines may be charged separately. One that does not renew, or is replaced, and ends before another is over.
      // A replacement that the answer lists has to be paid first.
      const replacement = answer.lines.find(
        (other) => other !== line && line.leaves === "replaced" && other.product === line.replacement,
      );
      const goesOn = replacement === undefined ? answer.lines : [replacement];
      const isGone =
        (!renews || line.leaves === "replaced") &&
        line.expiry <= answer.answeredAt &&
        (goesOn.some((other) => isOwnedIn(other, answer) && other.expiry > answer.answeredAt) ||
          // Nothing brings back what was cancelled or removed beside something that renews.
          (!renews &&
            answer.lines.some(
              (other) =>
                isOwnedIn(other, answer) &&
                (other.leaves === "replaced" || (other.renews && other.leaves === null)),
            )));
      const willRenew = renews && !isGone && answer.state !== "CANCELED" && answer.state !== "EXPIRED";
      // In a grace period everything that renews keeps its access. One whose own date has passed in it keeps it until the
      // period is over, at the latest at the first date that is still ahead. A later date of another line says nothing.
      const charged = answer.lines.filter(
        (other) =>
          isOwnedIn(other, answer) &&
          (other.leaves === "replaced" || (other.renews && other.leaves === null)),
      );
      // A replacement whose first payment failed has no order yet, but may have a date.
      const replaced = charged.filter(({ leaves }) => leaves === "replaced");
      const replacements = answer.lines.filter((other) =>
        replaced.some((leaving) => leaving !== other && leaving.replacement === other.product),
      );
      const ends = [...charged, ...replacements].map(({ expiry }) => expiry);
      const ahead = ends.filter((expiry) => expiry > answer.answeredAt);
      const isCarried =
        answer.state === "IN_GRACE_PERIOD" && renews && !isGone && line.expiry <= answer.answeredAt;
      // For a day at most: at the very end of the grace period the answer is the same.
      const carriedTo =
        ahead.length > 0 || replaced.length > 0
          ? Math.min(...ahead, answer.answeredAt + 86_400_000)
          : Math.max(...ends);
      const end = isCarried ? carriedTo : line.expiry;
      const grants = state === "active" || state === "grace_period";
      const lasts = !willRenew ? 0 : answer.answeredAt >= end ? SILENT : leeway;
      const silentUntil = end + lasts;
      return [
        {
          ...common,
          product,
          productIdentifier: line.product,
          status: isGone || (grants && silentUntil <= moment) ? "expired" : state,
          start: answer.start,
          begins: answer.start,
          end,
          refundedBy: null,
          refundedFrom: null,
          units: 1,
          shown: 1,
          bought: 1,
          isPass: false,
          kind: "subscription",
          willRenew,
          place,
        },
      ];
    });
  }

  const asked = facts.map((fact) => (fact.kind === "one-time" ? fact.asked : null));
  if (answer.state === "PENDING" || answer.completedAt === null) return [];
  return answer.products.flatMap((bought, place): Given[] => {
    const { product: productIdentifier, purchaseOption, rented } = bought;
    const product = productOf(catalog, "android-store", productIdentifier, { purchaseOption });
    if (product === undefined || (rented && product.access === null)) return [];
    if (!asked.some((products) => products === null || products.includes(productIdentifier))) return [];
    const unitsIn = (said: AndroidOneTimeFact, line: AndroidOneTimeFact["products"][number]): number =>
      said.state === "CANCELLED" ? 0 : (line.unrefunded ?? line.quantity);
    const units = unitsIn(answer, bought);
    const said = facts.flatMap((other) =>
      other.kind === "one-time" && other.state !== "PENDING"
        ? other.products
            .filter((line) => line.product === productIdentifier)
            .map((line) => ({ units: unitsIn(other, line), of: line.quantity, at: other.answeredAt }))
        : [],
    );
    // Google gives no time of a refund, so the first answer with the largest refund counts.
    const [heard] = sorted(
      said.filter(({ units, of }) => units < of),
      [({ units, of }) => units - of, ({ at }) => at],
    );
    return [
      {
        ...common,
        product,
        productIdentifier,
        status: units === 0 ? "revoked" : "active",
        start: answer.completedAt,
        begins: answer.completedAt,
        end: null,
        units,
        shown: Math.max(...said.map((one) => one.units)),
        bought: bought.quantity,
        refundedBy: heard?.at ?? null,
        refundedFrom: null,
        isPass: product.access !== null,
        isRented: rented,
        kind: "one_time_product",
        willRenew: null,
        place,
      },
    ];
  });
};

/**
 * A pass gives each entitlement where the earlier ones of its product have used up the time of that one, whichever customer
 * of the account bought them. A rental's time runs from its purchase.
 */
const inTurn = (given: readonly Given[], moment: number): Given[] => {
  const passes = sorted(
    given.filter(({ isPass }) => isPass),
    [({ start }) => start ?? 0, ...BY_KEY],
  );
  const ends = new Map<string, number>();
  const placed = passes.flatMap((pass) =>
    pass.product.grants.map((grant): Given => {
      const name = JSON.stringify([
        pass.fact.store,
        pass.fact.environment,
        pass.productIdentifier,
        pass.isRented ? pass.key : null,
        grant,
      ]);
      const begins = Math.max(pass.start ?? 0, ends.get(name) ?? 0);
      const { months, days } = pass.product.access ?? { months: 0, days: 0 };
      const lasting = (units: number): number =>
        after(begins, { months: months * units, days: days * units });
      // Time used before a refund stays used, whatever is refunded later. Units first seen refunded were never used.
      const used = pass.refundedBy === null ? begins : Math.min(lasting(pass.shown), pass.refundedBy);
      const over = Math.max(lasting(pass.units), used);
      const end = pass.units > 0 ? over : lasting(pass.bought);
      ends.set(name, Math.max(over, ends.get(name) ?? 0));
      const status = pass.status === "active" && end <= moment ? "expired" : pass.status;
      return { ...pass, product: { ...pass.product, grants: [grant] }, begins, end, status };
    }),
  );
  return [...given.filter(({ isPass }) => !isPass), ...placed];
};

const isActive = ({ status }: Given): boolean => status === "active" || status === "grace_period";

/** The end of access. Revoked access ended at its revocation at the latest; without a time, at its start. */
const accessEnd = ({ status, start, end, revokedAt }: Given): number | null => {
  if (status !== "revoked") return end;
  return revokedAt === null ? start : Math.min(end ?? Infinity, revokedAt);
};

const BY_KEY: Order<Given> = [
  ({ key }) => key,
  ({ fact }) => fact.store,
  ({ productIdentifier }) => productIdentifier,
  ({ place }) => place,
];

/** The order of purchases that grant one entitlement; the first is shown. */
const SHOWN: Order<Given> = [
  (given) => !isActive(given),
  ({ fact }) => ["production", "sandbox", "xcode"].indexOf(fact.environment),
  (given) => !isActive(given) && given.status !== "billing_retry" && given.status !== "paused",
  (given) => !isActive(given) && given.by !== "credential",
  (given) => -(accessEnd(given) ?? Infinity),
  ({ start }) => -(start ?? -Infinity),
  ...BY_KEY,
];

/** The lineage that names this one, and the start of its first transaction that does so; null: none. */
const replacementOf = (
  lineage: string,
  everything: readonly Fact[],
): { readonly by: string; readonly at: number } | null => {
  const namings = everything.flatMap((other) =>
    other.store === "ios-store" && previousName(other) === lineage
      ? // A restored copy may begin after its period's end.
        [{ by: purchaseName(other), at: Math.min(other.start, other.end ?? Infinity) }]
      : [],
  );
  // Of two at one moment the greater key.
  const [first] = sorted(sorted(namings, [({ by }) => by]).toReversed(), [({ at }) => at]);
  return first ?? null;
};

/** The latest renewal info of a lineage. */
const latestRenewal = (renewals: readonly IosRenewal[], home: IosFact | undefined): IosRenewal | undefined =>
  sorted(
    renewals.filter(
      ({ environment, lineage }) =>
        home !== undefined && lineageName(environment, lineage) === purchaseName(home),
    ),
    [({ signedAt }) => -signedAt, ({ inGrace }) => !inGrace],
  )[0];

/** Terms beside the facts that decide what these give. */
interface FactTerms {
  /** Facts of everybody, if not the same: another lineage or token may replace one of these. */
  readonly everything?: readonly Fact[];
  readonly renewals?: readonly IosRenewal[];
  readonly leeway?: number;
  /** Whether a subscription of whose renewal Apple has said nothing may be renewed. */
  readonly assumesRenewals?: boolean;
}

/** Accesses that the facts give, those that begin later included, with passes in turn. */
const givenFrom = (
  facts: readonly ({ readonly fact: Fact } & Owner)[],
  catalog: ModelCatalog,
  moment: number,
  {
    everything = facts.map(({ fact }) => fact),
    renewals = [],
    leeway = 0,
    assumesRenewals = false,
  }: FactTerms,
): Given[] => {
  const owners = [...Map.groupBy(facts, ({ customer }) => customer)];
  return inTurn(
    owners.flatMap(([customer, owned]) => {
      const owner = { customer, by: owned[0]?.by ?? null };
      const ios = owned.flatMap(({ fact }) => (fact.store === "ios-store" ? [fact] : []));
      const remembered = [...Map.groupBy(ios, purchaseName).values()].flatMap(rememberedOf);
      // An event counts in the lineage where it was signed last. An event of one lineage counts until that is replaced.
      const events = eventsOfPerson(remembered).map((copies) => {
        const lineages = new Set(copies.flatMap((copy) => [...copy.lineages]));
        const [home] = sorted(
          copies.map(({ latest }) => latest),
          [({ signedAt }) => -signedAt, ({ original }) => original],
        );
        if (home === undefined) throw new RangeError("An event has a copy.");
        const newer = replacementOf(purchaseName(home), everything);
        const replaced = lineages.size > 1 ? null : newer;
        // Two lineages that name each other at one moment do not end each other.
        const isMutual =
          replaced !== null && replacementOf(replaced.by, everything)?.by === purchaseName(home);
        const { start } = eventOf(copies);
        const isBefore = replaced !== null && (isMutual ? start < replaced.at : start <= replaced.at);
        const until = isBefore ? replaced.at : null;
        return { copies, home, until, replacedAt: newer?.at ?? null };
      });
      const android = owned.flatMap(({ fact }) => (fact.store === "android-store" ? [fact] : []));
      return [
        ...[...Map.groupBy(events, ({ home }) => purchaseName(home)).values()].flatMap((lineage) =>
          givenByIos(
            lineage,
            latestRenewal(renewals, lineage[0]?.home),
            leeway,
            assumesRenewals,
            owner,
            catalog,
            moment,
          ),
        ),
        ...[...Map.groupBy(android, purchaseName).values()].flatMap((answers) =>
          givenByAndroid(answers, everything, leeway, owner, catalog, moment),
        ),
      ];
    }),
    moment,
  );
};

/** Passes that are not over, refunded ones aside, each with the time at which it begins. */
const passesAhead = (given: readonly Given[], moment: number): string[] =>
  given.flatMap(({ isPass, fact, key, productIdentifier, place, product, status, begins, end }) =>
    isPass && status !== "revoked" && (end ?? Infinity) > moment
      ? [JSON.stringify([purchaseName(fact), key, productIdentifier, place, product.grants, begins])]
      : [],
  );

/** Grants of products that the catalog does not map. */
const UNMAPPED = "unmapped";

/** The catalog with all products of these facts. An iOS consumable that it does not map gives nothing. */
const withUnmapped = (catalog: ModelCatalog, facts: readonly Fact[]): ModelCatalog => {
  const named = facts.flatMap((fact) =>
    fact.store === "ios-store"
      ? fact.type === "consumable"
        ? []
        : [fact.product]
      : (fact.kind === "subscription" ? fact.lines : fact.products).map(({ product }) => product),
  );
  const stores = ["ios-store", "android-store"] as const;
  const sold = stores.flatMap((store) =>
    named.map((product) => ({ store, product, basePlan: null, purchaseOption: null })),
  );
  const unmapped = sold
    .filter(({ store, product }) => productOf(catalog, store, product) === undefined)
    .map((product) => ({ ...product, grants: [UNMAPPED], access: null }));
  // A rental without a length counts for a year.
  const rentals = facts
    .flatMap((fact) => (fact.store === "android-store" && fact.kind === "one-time" ? fact.products : []))
    .filter(({ rented }) => rented)
    .map(({ product, purchaseOption }) => ({
      store: "android-store" as const,
      product,
      basePlan: null,
      purchaseOption,
    }))
    .filter(({ store, product, purchaseOption }) => {
      const access = productOf(catalog, store, product, { purchaseOption })?.access ?? null;
      return access === null;
    })
    .map((product) => ({ ...product, grants: [UNMAPPED], access: { months: 12, days: 0 } }));
  return { ...catalog, products: [...rentals, ...catalog.products, ...unmapped] };
};

/**
 * Whether a lineage may have a paid period, as the store has not said that it is over: its word names an end that no transaction has; a
 * period that it has neither refunded nor marked would end later; or the period that began last was upgraded, and ended less than a day
 * ago or would end later.
 */
const mayRunUnseen = (
  moving: readonly Fact[],
  { everything, renewals }: Required<Pick<FactTerms, "everything" | "renewals">>,
  moment: number,
): boolean => {
  const ios = moving.flatMap((fact) =>
    fact.store === "ios-store" && fact.type === "subscription" ? [fact] : [],
  );
  return [...Map.groupBy(ios, purchaseName)].some(([lineage, said]) => {
    const ids = eventsOfPerson(rememberedOf(said));
    const events = ids.map(eventOf);
    // A mark under any id counts: what is restored may lack it.
    const hasMark = (copies: readonly Copy[]): boolean => copies.some(({ latest }) => latest.upgraded);
    const marked = new Set(events.filter((_, place) => hasMark(ids[place] ?? [])));
    const renewal = latestRenewal(renewals, said[0]);
    const named = renewal?.renewalDate ?? null;
    // It may be renewed by now, and not be asked about yet.
    const leeway = renewal === undefined || (renewal.renews && !renewal.inRetry) ? 86_400_000 : 0;
    const replacedAt = replacementOf(lineage, everything)?.at ?? -Infinity;
    // What was named so long before had begun when another lineage replaced this one.
    const isOfReplaced = replacedAt <= moment && (renewal?.signedAt ?? 0) + AHEAD <= replacedAt;
    if (renewal !== undefined && named !== null && !isOfReplaced) {
      const isSeen = ids.some((copies) =>
        copies.some(({ latest }) => Math.abs((latest.end ?? Infinity) - named) <= CLOCKS),
      );
      const lasts = Math.max(renewal.inRetry ? 0 : named + leeway, graceEndOf(named, renewal) ?? 0);
      if (!isSeen && lasts > moment) return true;
    }
    const isUnended = events.some(
      (event) =>
        !marked.has(event) &&
        event.revokedAt === null &&
        (event.fact.end ?? 0) + leeway > moment &&
        event.start > replacedAt,
    );
    if (isUnended) return true;
    const begins = ({ start, fact }: Event): number => Math.min(start, fact.end ?? Infinity);
    // A refund ends no subscription: unless the store says that it does not renew, the next period may be charged two days ahead.
    const mayRenewAfterRefund = ids.some((copies) => {
      const event = eventOf(copies);
      const ends = copies.map(({ latest }) => latest.end ?? Infinity);
      const namedEnd = ends.find((end) => named !== null && Math.abs(end - named) <= CLOCKS);
      const isNamed = namedEnd !== undefined;
      // Nothing is known of the renewal of what began last, and the store's word is about another period.
      const counting = events.filter((other) => !isOvertaken(other, events));
      const began = counting.filter((other) => !neverRan(other));
      const isLast = [counting, began].some(
        (some) => sorted(sorted(some, LINEAGE), [begins]).at(-1)?.fact === event.fact,
      );
      const spoken = renewal === undefined ? undefined : spokenOf(began, renewal);
      const lasts = isNamed || spoken?.fact === event.fact ? leeway : 86_400_000;
      const end = namedEnd ?? Math.max(...ends);
      return (
        event.revokedAt !== null &&
        !hasMark(copies) &&
        (isNamed || isLast) &&
        event.start > replacedAt &&
        moment >= end - AHEAD &&
        moment < end + lasts &&
        lasts > 0 &&
        !events.some((other) => begins(other) >= end)
      );
    });
    if (mayRenewAfterRefund) return true;
    // What was charged ahead and never ran says nothing of what came after.
    const ran = events.filter(
      (event) => !isOvertaken(event, events) && (marked.has(event) || !neverRan(event)),
    );
    return ran.some(
      (event) =>
        marked.has(event) &&
        event.start > replacedAt &&
        (event.fact.end ?? Infinity) + 86_400_000 > moment &&
        ran.every(
          (other) =>
            begins(other) < begins(event) ||
            (begins(other) === begins(event) &&
              (marked.has(other) || other.fact.product === event.fact.product)),
        ),
    );
  });
};

/** The entitlements at a moment from facts, each with its customer. */
export const entitlementsFrom = (
  facts: readonly ({ readonly fact: Fact } & Owner)[],
  catalog: ModelCatalog,
  moment: number,
  terms: FactTerms = {},
): ModelEntitlement[] => {
  const given = givenFrom(facts, catalog, moment, terms).filter(
    ({ begins }) => (begins ?? 0) <= moment + CLOCKS,
  );
  const identifiers = sorted([...new Set(given.flatMap(({ product }) => product.grants))], [(text) => text]);
  return identifiers.flatMap((identifier): ModelEntitlement[] => {
    const [shown] = sorted(
      given.filter(({ product }) => product.grants.includes(identifier)),
      SHOWN,
    );
    if (shown === undefined) return [];
    const { fact, status, end, revokedAt } = shown;
    const isRevoked = status === "revoked";
    return [
      {
        identifier,
        displayName: catalog.names[identifier] ?? identifier,
        productIdentifier: shown.productIdentifier,
        environment: fact.environment,
        status,
        active: isActive(shown),
        startsAt: iso(shown.beganLater === true ? null : shown.start),
        expiresAt: iso(isRevoked && revokedAt !== null ? Math.min(end ?? Infinity, revokedAt) : end),
        revokedAt: iso(isRevoked ? revokedAt : null),
        lastVerifiedAt: iso(shown.verifiedAt) ?? "",
        store: fact.store,
        productKind: shown.kind,
        customerIdentifier: shown.customer,
        willRenew: shown.willRenew,
      },
    ];
  });
};

export interface ReferenceModel {
  /** Applies the request and returns the expected answer. */
  submit(request: ModelRequest, moment: number): ModelOutcome;
  /** An operator's unlinking; false when the customer has no link. */
  unlink(customer: number): boolean;
  entitlementsOf(customer: number, moment: number): ModelEntitlement[];
  /** The customers linked to an account, by number, and their entitlements. */
  account(account: string, moment: number): { customers: number[]; entitlements: ModelEntitlement[] };
  customers(): readonly number[];
  /** Whether a purchase of this token was told in which a product is selected; a subscription is as a whole. */
  isSelected(token: string): boolean;
  /** An independent copy. */
  copy(): ReferenceModel;
}

/** Whether a client's link gives way to a credential's claim. */
const givesWay = (link: ModelClaim, claim: ModelClaim | null): boolean =>
  link.by === "client" && claim?.by === "credential" && claim.account !== link.account;

/** A refused link's facts: what it wished to select is not the owner's wish. */
const selectingNothing = (facts: readonly Fact[]): readonly Fact[] =>
  facts.map((fact) =>
    fact.store === "android-store" && fact.kind === "one-time" ? { ...fact, asked: [] } : fact,
  );

const isProduction = (environment: ModelEnvironment): boolean => environment === "production";

export const createReferenceModel = (
  catalog: ModelCatalog,
  terms: ModelTerms = { transfers: "refuse", claims: 20, leeway: 0 },
  begin: {
    readonly facts: readonly Fact[];
    readonly renewals: readonly IosRenewal[];
    readonly people: readonly Person[];
    readonly made: number;
  } = {
    facts: [],
    renewals: [],
    people: [],
    made: 0,
  },
): ReferenceModel => {
  const facts = [...begin.facts];
  const renewals = [...begin.renewals];
  let people = [...begin.people];
  let made = begin.made;

  const factsOf = ({ names }: Person): Fact[] => facts.filter((fact) => names.has(purchaseName(fact)));
  const ownedBy = (of: readonly Person[]) =>
    of.flatMap((person) =>
      factsOf(person).map((fact) => ({ fact, customer: person.number, by: person.link?.by ?? null })),
    );
  const entitlements = (of: readonly Person[], moment: number): ModelEntitlement[] =>
    entitlementsFrom(ownedBy(of), catalog, moment, { everything: facts, renewals, leeway: terms.leeway });
  /** Renewal infos name nobody: those of lineages without an owner are ignored. */
  const keepRenewals = (of: ModelRequest, owned: ReadonlySet<string>): void => {
    renewals.push(
      ...of.renewals.filter((renewal) => owned.has(lineageName(renewal.environment, renewal.lineage))),
    );
  };
  const ownedNames = (): ReadonlySet<string> => new Set(people.flatMap(({ names }) => [...names]));
  /** On a conflict of accounts: each owner gets the facts of its own purchases, and no link changes. */
  const keepForOwners = (request: ModelRequest): void => {
    const named = appTransactionsOf(request);
    const groups = [...Map.groupBy(request.facts, purchaseName)].map(([name, said]) => ({
      name,
      said,
      predecessors: said.flatMap((fact) =>
        fact.store === "ios-store"
          ? [previousName(fact)]
          : fact.kind === "subscription" && !isPending(fact) && fact.replaces !== null
            ? [tokenName(fact, fact.replaces)]
            : [],
      ),
      apps: said.flatMap((fact) =>
        fact.store === "ios-store" && fact.environment !== "xcode" && fact.appTransaction !== null
          ? named
          : [],
      ),
    }));
    const owners = new Map(
      people.flatMap(({ names, number }) => [...names].map((name) => [name, number] as const)),
    );
    const successorsOf = (name: string): string[] =>
      groups.filter(({ predecessors }) => predecessors.includes(name)).map((group) => group.name);
    // A purchase without an owner goes to its predecessor's owner, step by step; at last to its successor's.
    for (const leads of [
      ["predecessors"],
      ["predecessors", "apps"],
      ["predecessors", "apps", "successors"],
    ] as const)
      for (const _ of groups)
        for (const group of groups) {
          const led = { ...group, successors: successorsOf(group.name) };
          const names = leads.flatMap((lead) => led[lead]);
          const owner = names.map((name) => owners.get(name ?? "")).find((number) => number !== undefined);
          if (!owners.has(group.name) && owner !== undefined) owners.set(group.name, owner);
        }
    const learned = groups.flatMap(({ name, said }) => {
      const owner = owners.get(name);
      return owner === undefined
        ? []
        : said.flatMap(namesOf).map((other) => [other, owners.get(other) ?? owner] as const);
    });
    facts.push(...groups.filter(({ name }) => owners.has(name)).flatMap(({ said }) => said));
    people = people.map((person) => ({
      ...person,
      names: new Set([
        ...person.names,
        ...learned.filter(([, number]) => number === person.number).map(([name]) => name),
      ]),
    }));
    keepRenewals(request, ownedNames());
  };

  /**
   * Google's answers about older tokens of which nothing has been told, or only that they are not paid: the newer one proves that
   * they were. Also about those that these name: the oldest first.
   */
  const untold = ({ facts: said, answers }: ModelRequest): AndroidSubscriptionFact[] => {
    const named = ownedNames();
    const told = new Set(facts.map(purchaseName));
    const paid = new Set(
      facts.flatMap((fact) =>
        fact.store === "android-store" && !isPending(fact) ? [purchaseName(fact)] : [],
      ),
    );
    const found: AndroidSubscriptionFact[] = [];
    const look = (fact: Fact): void => {
      for (const token of olderTokens(fact)) {
        const answer = answers.find((other) => other.token === token);
        const name = tokenName(fact, token);
        // A purchase without anything paid for is asked about again until the newer one is acknowledged, and one that was told of also
        // when the newer one is first heard of.
        const isFirst = told.has(name) && !paid.has(purchaseName(fact));
        const isKnown = named.has(name) && (paid.has(name) || !(isToBeAcknowledged(fact) || isFirst));
        if (answer === undefined || isKnown) continue;
        if ([...found, ...said].includes(answer)) continue;
        found.unshift(answer);
        look(answer);
      }
    };
    said.forEach(look);
    return found;
  };

  const submit = (request: ModelRequest, moment: number): ModelOutcome => {
    const { claim, environment } = request;
    for (const fact of untold(request))
      submit({ ...request, facts: [fact], renewals: [], answers: [], claim: null }, moment);
    const names = namesOfRequest(request);
    const owners = people.filter((person) => names.some((name) => person.names.has(name)));
    keepRenewals(request, ownedNames());
    if (names.length === 0) return { outcome: "nobody" };
    const byCredential = claim?.by === "credential";
    if (owners.length === 0 && request.facts.length === 0 && !byCredential) return { outcome: "nobody" };

    const firm = owners.flatMap(({ link }) => (link === null || givesWay(link, claim) ? [] : [link]));
    const accounts = [...new Set(firm.map(({ account }) => account))];
    if (accounts.length > 1) {
      keepForOwners({ ...request, facts: selectingNothing(request.facts) });
      return { outcome: "refused", code: "IDENTITY_CONFLICT" };
    }
    let [account] = accounts;
    let agreeing = firm;
    if (account !== undefined && claim !== null && claim.account !== account) {
      const told = {
        everything: [...facts, ...request.facts],
        renewals: [...renewals, ...request.renewals],
        // What ended within a day may be renewed by now, and not be asked about yet.
        leeway: 86_400_000,
        assumesRenewals: true,
      };
      const nobody = { customer: 0, by: null };
      const moving = [...owners.flatMap(factsOf), ...request.facts].map((fact) => ({ fact, ...nobody }));
      const left = people
        .filter((person) => person.link?.account === account && !owners.includes(person))
        .flatMap((person) => factsOf(person).map((fact) => ({ fact, ...nobody, customer: person.number })));
      // Passes of one account follow one another, so one that moves may take another's time with it, or its own.
      const ahead = (held: typeof left): string[] =>
        passesAhead(givenFrom(held, catalog, moment, told), moment);
      // What the catalog does not map may be on sale, and be mapped later. A consumable of the App Store is consumed; of Google's
      // one-time products only what the request shows is known.
      const isKnown = ({ fact, product }: Given): boolean =>
        !product.grants.includes(UNMAPPED) ||
        fact.store === "ios-store" ||
        fact.kind === "subscription" ||
        request.facts.some((said) => purchaseName(said) === purchaseName(fact));
      const everything = withUnmapped(
        catalog,
        moving.map(({ fact }) => fact),
      );
      // Google has called its payment missing, and not just now: it may have recovered since.
      const mayHaveRecovered = ({ fact, status, verifiedAt, end }: Given): boolean =>
        fact.store === "android-store" &&
        (status === "billing_retry" || status === "paused") &&
        verifiedAt + 600_000 <= moment &&
        Math.max(verifiedAt, end ?? 0) + KNOWN_AFTER_END * 86_400_000 > moment;
      // Google has been seen to call a subscription over at its end, and to renew it a minute later.
      const mayRenewYet = ({ fact, end, verifiedAt }: Given): boolean =>
        fact.store === "android-store" &&
        fact.kind === "subscription" &&
        fact.state === "EXPIRED" &&
        end !== null &&
        verifiedAt >= end - 600_000 &&
        moment < end + 600_000;
      const isInactive =
        !givenFrom(moving, everything, moment, told).some(
          (given) => (isActive(given) && isKnown(given)) || mayHaveRecovered(given) || mayRenewYet(given),
        ) &&
        !mayRunUnseen(
          moving.map(({ fact }) => fact),
          told,
          moment,
        ) &&
        ahead([...left, ...moving]).every((pass) => ahead(left).includes(pass));
      const moves =
        byCredential &&
        (terms.transfers === "always" ||
          (terms.transfers === "when_inactive" &&
            isInactive &&
            !request.facts.some(awaitsPayment) &&
            !goOnUnseen(
              moving.map(({ fact }) => fact),
              told.everything,
              moment,
            )));
      if (!moves) {
        // The link is refused, but the facts are kept.
        submit({ ...request, facts: selectingNothing(request.facts), claim: null }, moment);
        return { outcome: "refused", code: "CUSTOMER_ALREADY_LINKED" };
      }
      account = claim.account;
      agreeing = [];
    }

    const [survivor] = sorted(owners, [
      ({ link }) => (link === null ? 2 : givesWay(link, claim) ? 1 : 0),
      ({ bornAt }) => bornAt,
      ({ number }) => number,
    ]);
    const hasBought = request.facts.length > 0 || owners.some((owner) => factsOf(owner).length > 0);
    const claimed = people.filter(
      (person) =>
        claim?.by === "client" &&
        person.link?.account === claim.account &&
        person.link.by === "client" &&
        isProduction(person.environment) === isProduction(environment),
    ).length;
    const mayLink = byCredential || (hasBought && claimed < terms.claims);
    const linkedTo = account ?? (mayLink ? claim?.account : undefined);
    const asserted = mayLink ? [...agreeing, ...(claim === null ? [] : [claim])] : agreeing;
    const link: ModelClaim | null =
      linkedTo === undefined
        ? null
        : {
            account: linkedTo,
            by: asserted.some(({ by }) => by === "credential") ? "credential" : "client",
          };
    const person: Person = {
      number: survivor?.number ?? (made += 1),
      environment,
      bornAt: survivor?.bornAt ?? moment,
      link,
      names: new Set([...owners.flatMap((owner) => [...owner.names]), ...names]),
    };
    people = [...people.filter((other) => !owners.includes(other)), person];
    facts.push(...request.facts);
    keepRenewals(request, ownedNames());
    return { outcome: "stored", customer: person.number };
  };

  return {
    submit,
    unlink: (customer) => {
      const isLinked = people.some(({ number, link }) => number === customer && link !== null);
      people = people.map((person) => (person.number === customer ? { ...person, link: null } : person));
      return isLinked;
    },
    entitlementsOf: (customer, moment) =>
      entitlements(
        people.filter(({ number }) => number === customer),
        moment,
      ),
    account: (account, moment) => {
      const linked = people.filter(({ link }) => link?.account === account);
      return {
        customers: linked.map(({ number }) => number),
        entitlements: entitlements(linked, moment),
      };
    },
    customers: () => people.map(({ number }) => number),
    isSelected: (token) =>
      facts.some(
        (fact) =>
          fact.store === "android-store" &&
          fact.token === token &&
          (fact.kind === "subscription" || fact.asked === null || fact.asked.length > 0),
      ),
    copy: () => createReferenceModel(catalog, terms, { facts, renewals, people, made }),
  };
};
