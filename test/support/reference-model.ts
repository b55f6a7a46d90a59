import { createHash } from "node:crypto";

/**
 * What every answer should be: a plain list of all facts, and of who they belong to, evaluated anew for each question in
 * the most obvious way. It shares no code with the service; where the two disagree, one of them is wrong.
 */

export type ModelEnvironment = "production" | "sandbox" | "xcode";

/** What the App Store signed of one in-app purchase. */
export interface IosFact {
  readonly store: "ios-store";
  readonly environment: ModelEnvironment;
  readonly transaction: string;
  /** The lineage. */
  readonly original: string;
  readonly product: string;
  readonly type: "subscription" | "non-renewing" | "non-consumable" | "consumable";
  readonly start: number;
  /** Of subscriptions. */
  readonly end: number | null;
  readonly revokedAt: number | null;
  readonly upgraded: boolean;
  readonly signedAt: number;
}

interface AndroidAnswer {
  readonly store: "android-store";
  readonly environment: ModelEnvironment;
  readonly token: string;
  /** The application's obfuscated name of the person. */
  readonly person: string | null;
  readonly answeredAt: number;
}

/** What Google answered about a subscription. */
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
  }[];
  /** `linkedPurchaseToken`. */
  readonly replaces: string | null;
  /** `outOfAppPurchaseContext.expiredPurchaseToken`. */
  readonly expired: string | null;
}

/** What Google answered about a one-time purchase. */
export interface AndroidOneTimeFact extends AndroidAnswer {
  readonly kind: "one-time";
  readonly state: "PURCHASED" | "CANCELLED" | "PENDING";
  readonly completedAt: number;
  readonly products: readonly {
    readonly product: string;
    readonly consumed: boolean;
    readonly refunded: boolean;
  }[];
  /** The product that was asked for; null: all of them. */
  readonly asked: string | null;
}

export type AndroidFact = AndroidSubscriptionFact | AndroidOneTimeFact;
export type Fact = IosFact | AndroidFact;

export interface ModelClaim {
  readonly account: string;
  readonly by: "credential" | "client";
}

/** Verified facts about one person, and the account that the request names. */
export interface ModelRequest {
  readonly environment: ModelEnvironment;
  /** The app transaction id of an iOS request; null where it has none. */
  readonly appTransaction: string | null;
  readonly facts: readonly Fact[];
  readonly claim: ModelClaim | null;
}

export interface ModelProduct {
  readonly store: Fact["store"];
  readonly product: string;
  readonly basePlan: string | null;
  readonly grants: readonly string[];
  readonly access: { readonly months: number; readonly days: number } | null;
}

export interface ModelCatalog {
  readonly names: Readonly<Record<string, string>>;
  readonly products: readonly ModelProduct[];
}

/** An entry of an answer. `Customer`: a number in the model, the identifier in an answer. */
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

interface Person {
  /** In the order in which they were made. */
  readonly number: number;
  readonly bornAt: number;
  readonly link: ModelClaim | null;
  readonly names: ReadonlySet<string>;
}

type Status = ModelEntitlement["status"];

/** One product that one purchase gives or gave. */
interface Given {
  readonly fact: Fact;
  readonly customer: number;
  readonly key: string;
  readonly product: ModelProduct;
  readonly productIdentifier: string;
  readonly status: Status;
  readonly start: number | null;
  readonly end: number | null;
  readonly revokedAt: number | null;
  readonly kind: ModelEntitlement["productKind"];
  readonly willRenew: boolean | null;
  /** Its place among what the same purchase gives. */
  readonly place: number;
}

/**
 * Of each product of an iOS lineage the two latest transactions count: the current one, and one renewed ahead of time.
 * What came before them has ended, and no longer says where something else ended.
 */
const COUNTED_OF_EACH_PRODUCT = 2;

const iso = (moment: number | null): string | null =>
  moment === null ? null : new Date(moment).toISOString();

/** Calendar months from a moment, in UTC; the month's last day where the month is too short. */
const after = (moment: number, { months, days }: { months: number; days: number }): number => {
  const date = new Date(moment);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months);
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime() + days * 86_400_000;
};

const isPending = (fact: AndroidFact): boolean =>
  fact.state === "PENDING" || fact.state === "PENDING_PURCHASE_CANCELED";

const tokenName = ({ environment }: Fact, token: string): string => `android ${environment} token ${token}`;

/** The purchase that a fact is about. */
const purchaseName = (fact: Fact): string =>
  fact.store === "ios-store"
    ? `ios ${fact.environment} lineage ${fact.original}`
    : tokenName(fact, fact.token);

/** Everything by which a fact names one person. */
const namesOf = (fact: Fact): string[] => {
  const names = [purchaseName(fact)];
  if (fact.store === "ios-store") return names;
  if (fact.person !== null) names.push(`android ${fact.environment} person ${fact.person}`);
  if (fact.kind === "subscription" && !isPending(fact))
    for (const other of [fact.replaces, fact.expired]) if (other !== null) names.push(tokenName(fact, other));
  return names;
};

const namesOfRequest = ({ environment, appTransaction, facts }: ModelRequest): string[] => [
  ...(appTransaction === null ? [] : [`ios ${environment} app ${appTransaction}`]),
  ...facts.flatMap(namesOf),
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

const LINEAGE: Order<IosFact> = [
  ({ start }) => start,
  ({ upgraded }) => !upgraded,
  ({ end, upgraded, signedAt }) => Math.min(end ?? Infinity, upgraded ? signedAt : Infinity),
  ({ transaction }) => transaction,
];

const productOf = (
  { products }: ModelCatalog,
  store: Fact["store"],
  product: string,
  basePlan: string | null,
): ModelProduct | undefined => {
  const same = products.filter((sold) => sold.store === store && sold.product === product);
  return same.find((sold) => sold.basePlan === basePlan) ?? same.find((sold) => sold.basePlan === null);
};

const givenByIos = (
  facts: readonly IosFact[],
  customer: number,
  catalog: ModelCatalog,
  moment: number,
): Given[] => {
  const latestSigned = facts.filter((fact) =>
    facts.every((other) => other.transaction !== fact.transaction || other.signedAt <= fact.signedAt),
  );
  const distinct = latestSigned.filter(
    (fact, index) => latestSigned.findIndex(({ transaction }) => transaction === fact.transaction) === index,
  );
  const lineage = sorted(distinct, LINEAGE);
  const counted = lineage.filter(
    (fact, index) =>
      lineage.slice(index + 1).filter(({ product }) => product === fact.product).length <
      COUNTED_OF_EACH_PRODUCT,
  );
  return counted.flatMap((fact, place): Given[] => {
    const { type, start, revokedAt, upgraded, signedAt } = fact;
    const product = productOf(catalog, "ios-store", fact.product, null);
    if (product === undefined || start > moment) return [];
    const next = counted[place + 1];
    let end = type === "subscription" ? fact.end : null;
    if (upgraded) end = Math.min(end ?? Infinity, signedAt);
    if (type === "subscription" && end !== null && next !== undefined) end = Math.min(end, next.start);
    if (type !== "subscription" && end === null && product.access !== null)
      end = after(start, product.access);
    const revoked = revokedAt !== null && revokedAt <= moment;
    const ended = upgraded || (end !== null && end <= moment);
    return [
      {
        fact,
        customer,
        key: fact.original,
        product,
        productIdentifier: fact.product,
        status: revoked ? "revoked" : ended ? "expired" : "active",
        start,
        end,
        revokedAt: revoked ? revokedAt : null,
        kind: type === "subscription" || type === "non-renewing" ? "subscription" : "one_time_product",
        willRenew: null,
        place,
      },
    ];
  });
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

const latestAnswer = <T extends AndroidFact>(facts: readonly T[]): T | undefined =>
  sorted(facts, [({ answeredAt }) => -answeredAt])[0];

const givenByAndroid = (
  facts: readonly AndroidFact[],
  all: readonly Fact[],
  customer: number,
  catalog: ModelCatalog,
  moment: number,
): Given[] => {
  const answer = latestAnswer(facts);
  if (answer === undefined) return [];
  const isReplaced = all.some(
    (other) =>
      other.store === "android-store" &&
      other.kind === "subscription" &&
      other.environment === answer.environment &&
      !isPending(other) &&
      other.token !== answer.token &&
      other.replaces === answer.token,
  );
  if (isReplaced) return [];
  const key = createHash("sha256").update(answer.token).digest("hex");
  const common = { fact: answer, customer, key, revokedAt: null };

  if (answer.kind === "subscription") {
    const state = STATES[answer.state];
    if (state === null) return [];
    return answer.lines.flatMap((line, place): Given[] => {
      const product = productOf(catalog, "android-store", line.product, line.basePlan);
      if (!line.paid || product === undefined || (answer.start ?? 0) > moment) return [];
      const lapsed = (state === "active" || state === "grace_period") && line.expiry <= moment;
      return [
        {
          ...common,
          product,
          productIdentifier: line.product,
          status: lapsed ? "expired" : state,
          start: answer.start,
          end: line.expiry,
          kind: "subscription",
          willRenew: line.renews && answer.state !== "CANCELED",
          place,
        },
      ];
    });
  }

  const asked = new Set(facts.map((fact) => (fact.kind === "one-time" ? fact.asked : null)));
  if (answer.state === "PENDING") return [];
  return answer.products.flatMap(({ product: productIdentifier, refunded }, place): Given[] => {
    const product = productOf(catalog, "android-store", productIdentifier, null);
    if (product === undefined || answer.completedAt > moment) return [];
    if (!asked.has(null) && !asked.has(productIdentifier)) return [];
    const end = product.access === null ? null : after(answer.completedAt, product.access);
    const lapsed = end !== null && end <= moment;
    return [
      {
        ...common,
        product,
        productIdentifier,
        status: answer.state === "CANCELLED" || refunded ? "revoked" : lapsed ? "expired" : "active",
        start: answer.completedAt,
        end,
        kind: "one_time_product",
        willRenew: null,
        place,
      },
    ];
  });
};

const isActive = ({ status }: Given): boolean => status === "active" || status === "grace_period";

/** Which of several purchases that give one entitlement is shown. */
const SHOWN: Order<Given> = [
  (given) => !isActive(given),
  ({ fact }) => ["production", "sandbox", "xcode"].indexOf(fact.environment),
  ({ end }) => -(end ?? Infinity),
  ({ start }) => -(start ?? -Infinity),
  ({ key }) => key,
  ({ fact }) => fact.store,
  ({ productIdentifier }) => productIdentifier,
  ({ place }) => place,
];

/** What facts, each with the customer it belongs to, entitle to at a moment. */
export const entitlementsFrom = (
  facts: readonly { readonly fact: Fact; readonly customer: number }[],
  catalog: ModelCatalog,
  moment: number,
): ModelEntitlement[] => {
  const all = facts.map(({ fact }) => fact);
  const purchases = [...new Set(all.map(purchaseName))];
  const given = purchases.flatMap((name) => {
    const about = facts.filter(({ fact }) => purchaseName(fact) === name);
    const customer = about[0]?.customer ?? 0;
    const ios = about.flatMap(({ fact }) => (fact.store === "ios-store" ? [fact] : []));
    const android = about.flatMap(({ fact }) => (fact.store === "android-store" ? [fact] : []));
    return [
      ...givenByIos(ios, customer, catalog, moment),
      ...givenByAndroid(android, all, customer, catalog, moment),
    ];
  });
  const identifiers = sorted([...new Set(given.flatMap(({ product }) => product.grants))], [(text) => text]);
  return identifiers.flatMap((identifier): ModelEntitlement[] => {
    const [shown] = sorted(
      given.filter(({ product }) => product.grants.includes(identifier)),
      SHOWN,
    );
    if (shown === undefined) return [];
    const { fact } = shown;
    return [
      {
        identifier,
        displayName: catalog.names[identifier] ?? identifier,
        productIdentifier: shown.productIdentifier,
        environment: fact.environment,
        status: shown.status,
        active: isActive(shown),
        startsAt: iso(shown.start),
        expiresAt: iso(shown.end),
        revokedAt: iso(shown.revokedAt),
        lastVerifiedAt: iso(fact.store === "ios-store" ? fact.signedAt : fact.answeredAt) ?? "",
        store: fact.store,
        productKind: shown.kind,
        customerIdentifier: shown.customer,
        willRenew: shown.willRenew,
      },
    ];
  });
};

export interface ReferenceModel {
  /** What the request should be answered; applies it. */
  submit(request: ModelRequest, moment: number): ModelOutcome;
  /** An operator takes the customer's link away; false where it has none. */
  unlink(customer: number): boolean;
  entitlementsOf(customer: number, moment: number): ModelEntitlement[];
  /** The customers linked to an account, by number, and what they are entitled to. */
  account(account: string, moment: number): { customers: number[]; entitlements: ModelEntitlement[] };
  customers(): readonly number[];
  /** A copy that goes on by itself. */
  copy(): ReferenceModel;
}

/** Gives way to the credential's claim. */
const givesWay = (link: ModelClaim, claim: ModelClaim | null): boolean =>
  link.by === "client" && claim?.by === "credential" && claim.account !== link.account;

export const createReferenceModel = (
  catalog: ModelCatalog,
  begin: { readonly facts: readonly Fact[]; readonly people: readonly Person[]; readonly made: number } = {
    facts: [],
    people: [],
    made: 0,
  },
): ReferenceModel => {
  const facts = [...begin.facts];
  let people = [...begin.people];
  let made = begin.made;

  const factsOf = ({ names }: Person): Fact[] => facts.filter((fact) => names.has(purchaseName(fact)));
  const entitlements = (of: readonly Person[], moment: number): ModelEntitlement[] =>
    entitlementsFrom(
      of.flatMap((person) => factsOf(person).map((fact) => ({ fact, customer: person.number }))),
      catalog,
      moment,
    );

  return {
    submit: (request, moment) => {
      const { claim } = request;
      const names = namesOfRequest(request);
      const owners = people.filter((person) => names.some((name) => person.names.has(name)));
      if (names.length === 0) return { outcome: "nobody" };
      const byCredential = claim?.by === "credential";
      if (owners.length === 0 && request.facts.length === 0 && !byCredential) return { outcome: "nobody" };

      const firm = owners.flatMap(({ link }) => (link === null || givesWay(link, claim) ? [] : [link]));
      const accounts = [...new Set(firm.map(({ account }) => account))];
      if (accounts.length > 1) return { outcome: "refused", code: "IDENTITY_CONFLICT" };
      const [account] = accounts;
      if (account !== undefined && claim !== null && claim.account !== account)
        return { outcome: "refused", code: "CUSTOMER_ALREADY_LINKED" };

      const [survivor] = sorted(owners, [
        ({ link }) => (link === null ? 2 : givesWay(link, claim) ? 1 : 0),
        ({ bornAt }) => bornAt,
        ({ number }) => number,
      ]);
      const hasBought = request.facts.length > 0 || owners.some((owner) => factsOf(owner).length > 0);
      const mayLink = byCredential || hasBought;
      const linkedTo = account ?? (mayLink ? claim?.account : undefined);
      const asserted = mayLink ? [...firm, ...(claim === null ? [] : [claim])] : firm;
      const link: ModelClaim | null =
        linkedTo === undefined
          ? null
          : {
              account: linkedTo,
              by: asserted.some(({ by }) => by === "credential") ? "credential" : "client",
            };
      const person: Person = {
        number: survivor?.number ?? (made += 1),
        bornAt: survivor?.bornAt ?? moment,
        link,
        names: new Set([...owners.flatMap((owner) => [...owner.names]), ...names]),
      };
      people = [...people.filter((other) => !owners.includes(other)), person];
      facts.push(...request.facts);
      return { outcome: "stored", customer: person.number };
    },
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
    copy: () => createReferenceModel(catalog, { facts, people, made }),
  };
};
