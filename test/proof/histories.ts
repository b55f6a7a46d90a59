import fc from "fast-check";
import type {
  AndroidFact,
  AndroidOneTimeFact,
  AndroidSubscriptionFact,
  Fact,
  IosFact,
  ModelClaim,
  ModelEnvironment,
  ModelRequest,
} from "../support/reference-model.ts";
import { DAY, NOW } from "../support/purchases.ts";

/**
 * Histories of persons in both stores, as scripts of small choices, so that a failing one shrinks to the few choices
 * that matter. All of it has happened before {@link END}.
 */
export const END = NOW;
const BEGIN = END - 700 * DAY;

const choice = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const days = fc.integer({ min: 0, max: 40 });
const environment: fc.Arbitrary<ModelEnvironment> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<ModelEnvironment>("production") },
  { weight: 1, arbitrary: fc.constant<ModelEnvironment>("sandbox") },
);

const at = <T>(values: readonly T[], index: number): T => {
  const value = values[index % values.length];
  if (value === undefined) throw new RangeError("There is nothing to choose from.");
  return value;
};

const SUBSCRIPTION_STEPS = [
  "renew",
  "renew-early",
  "upgrade",
  "upgrade-unsaid",
  "upgrade-at-once",
  "crossgrade-at-renewal",
  "lapse-and-return",
  "refund",
  "refund-of-earlier",
  "reversal",
  "said-again",
] as const;

interface SubscriptionScript {
  readonly form: "subscription";
  readonly begins: number;
  readonly product: number;
  readonly steps: readonly { readonly step: (typeof SUBSCRIPTION_STEPS)[number]; readonly days: number }[];
}

interface OneTimeScript {
  readonly form: "one-time";
  readonly begins: number;
  readonly product: number;
  /** A family member's purchase, which the family's organizer can take back, is refunded and restored alike. */
  readonly steps: readonly {
    readonly step: "restore" | "refund" | "reversal" | "said-again";
    readonly days: number;
  }[];
}

type LineageScript = SubscriptionScript | OneTimeScript;

const lineageScript: fc.Arbitrary<LineageScript> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record<SubscriptionScript>({
      form: fc.constant("subscription"),
      begins: fc.integer({ min: 0, max: 600 }),
      product: fc.nat(2),
      steps: fc.array(fc.record({ step: choice(...SUBSCRIPTION_STEPS), days }), { maxLength: 7 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record<OneTimeScript>({
      form: fc.constant("one-time"),
      begins: fc.integer({ min: 0, max: 690 }),
      product: fc.nat(5),
      steps: fc.array(
        fc.record({ step: choice("restore", "refund", "reversal", "said-again" as const), days }),
        { maxLength: 3 },
      ),
    }),
  },
);

const SUBSCRIPTIONS = ["monthly", "yearly", "basic"] as const;
const LENGTH: Record<string, number> = { monthly: 30, yearly: 365, basic: 30 };
const ONE_TIME: readonly (readonly [string, IosFact["type"]])[] = [
  ["map", "non-consumable"],
  ["forever", "non-consumable"],
  ["season", "non-renewing"],
  ["day", "consumable"],
  ["coins", "consumable"],
  ["day", "consumable"],
];

const subscriptionFacts = (
  { begins, product: first, steps }: SubscriptionScript,
  environment: ModelEnvironment,
  original: string,
): IosFact[] => {
  const facts: IosFact[] = [];
  let clock = BEGIN + begins * DAY;
  let said = 0;
  let product = at(SUBSCRIPTIONS, first);
  const say = (fact: Omit<IosFact, "signedAt">): IosFact => {
    said += 1;
    const spoken = { ...fact, signedAt: clock + said };
    facts.push(spoken);
    return spoken;
  };
  const buy = (start: number): IosFact =>
    say({
      store: "ios-store",
      environment,
      transaction: `${original}${String(facts.length).padStart(2, "0")}`,
      original,
      product,
      type: "subscription",
      start,
      end: start + (LENGTH[product] ?? 30) * DAY,
      revokedAt: null,
      upgraded: false,
    });
  const bought = [buy(clock)];
  for (const { step, days } of steps) {
    const current = bought.at(-1);
    if (current === undefined || current.end === null) continue;
    const replaceCurrent = (changes: Partial<IosFact>): void => {
      bought[bought.length - 1] = say({ ...current, ...changes });
    };
    const other = at(SUBSCRIPTIONS, SUBSCRIPTIONS.indexOf(product) + 1 + (days % 2));
    switch (step) {
      case "renew":
        clock = current.end;
        bought.push(buy(clock));
        break;
      case "renew-early":
        clock = Math.max(clock, current.end - DAY);
        bought.push(buy(current.end));
        break;
      case "upgrade":
      case "upgrade-unsaid":
        clock = Math.max(clock, Math.min(current.start + days * DAY + 1, current.end - 1));
        if (step === "upgrade") replaceCurrent({ upgraded: true });
        product = other;
        bought.push(buy(clock));
        break;
      case "upgrade-at-once":
        // Once: the store does not sell three times in a millisecond.
        if (bought.at(-2)?.start === current.start) break;
        replaceCurrent({ upgraded: true });
        product = other;
        bought.push(buy(current.start));
        break;
      case "crossgrade-at-renewal":
        clock = current.end;
        product = other;
        bought.push(buy(clock));
        break;
      case "lapse-and-return":
        clock = current.end + days * DAY;
        bought.push(buy(clock));
        break;
      case "refund":
        clock += days * DAY;
        replaceCurrent({ revokedAt: clock });
        break;
      case "refund-of-earlier": {
        const earlier = at(bought, days);
        clock += DAY;
        bought[days % bought.length] = say({ ...earlier, revokedAt: clock });
        break;
      }
      case "reversal":
        clock += days * DAY;
        replaceCurrent({ revokedAt: null });
        break;
      case "said-again":
        clock += days * DAY;
        replaceCurrent({});
    }
  }
  return facts;
};

const oneTimeFacts = (
  { begins, product: index, steps }: OneTimeScript,
  environment: ModelEnvironment,
  original: string,
): IosFact[] => {
  const [product, type] = at(ONE_TIME, index);
  let clock = BEGIN + begins * DAY;
  let last: IosFact = {
    store: "ios-store",
    environment,
    transaction: original,
    original,
    product,
    type,
    start: clock,
    end: null,
    revokedAt: null,
    upgraded: false,
    signedAt: clock + 1,
  };
  const facts = [last];
  for (const { step, days } of steps) {
    clock += days * DAY + 10;
    const restored = step === "restore" && type === "non-consumable";
    last = {
      ...last,
      signedAt: clock,
      ...(restored && { transaction: `${original}${String(facts.length).padStart(2, "0")}`, start: clock }),
      ...(step === "refund" && { revokedAt: clock }),
      ...(step === "reversal" && { revokedAt: null }),
    };
    facts.push(last);
  }
  return facts;
};

/** One Apple Account in one environment, with all that was ever signed for it. */
interface AppleAccount {
  readonly environment: ModelEnvironment;
  readonly appTransaction: string;
  readonly facts: readonly IosFact[];
}

const appleAccounts = (most: number): fc.Arbitrary<readonly AppleAccount[]> =>
  fc
    .array(fc.record({ environment, lineages: fc.array(lineageScript, { maxLength: 4 }) }), {
      minLength: 1,
      maxLength: most,
    })
    .map((accounts) =>
      accounts.map(({ environment, lineages }, index) => {
        // Counted in each environment alike: what the sandbox names may be named in production too.
        const account = accounts.slice(0, index).filter((other) => other.environment === environment).length;
        return {
          environment,
          appTransaction: `70${account}`,
          facts: lineages.flatMap((script, lineage) => {
            const original = `7${account}${String(lineage).padStart(2, "0")}`;
            return script.form === "subscription"
              ? subscriptionFacts(script, environment, original)
              : oneTimeFacts(script, environment, original);
          }),
        };
      }),
    );

const SUBSCRIPTION_STATES = [
  "ACTIVE",
  "ACTIVE",
  "CANCELED",
  "IN_GRACE_PERIOD",
  "ON_HOLD",
  "PAUSED",
  "EXPIRED",
  "PENDING",
  "PENDING_PURCHASE_CANCELED",
] as const;

const PERSONS = [null, null, "o1", "o2"] as const;

interface AndroidScript {
  readonly environment: ModelEnvironment;
  readonly form: "subscription" | "one-time";
  readonly begins: number;
  readonly product: number;
  readonly person: number;
  /** The place of the purchase before it that it replaces, or that expired before it. */
  readonly before: number;
  readonly relation: "none" | "none" | "replaces" | "resubscribes";
  readonly answers: readonly {
    readonly state: number;
    readonly days: number;
    readonly ends: number;
    readonly variant: number;
  }[];
}

const androidScript: fc.Arbitrary<AndroidScript> = fc.record({
  environment,
  form: choice("subscription", "subscription", "one-time" as const),
  begins: fc.integer({ min: 0, max: 600 }),
  product: fc.nat(5),
  person: fc.nat(PERSONS.length - 1),
  before: fc.nat(4),
  relation: choice("none", "none", "replaces", "resubscribes" as const),
  answers: fc.array(
    fc.record({
      state: fc.nat(SUBSCRIPTION_STATES.length - 1),
      days: fc.integer({ min: 1, max: 40 }),
      ends: fc.integer({ min: -20, max: 60 }),
      variant: fc.nat(11),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

const ANDROID_SUBSCRIPTIONS = [
  ["premium", "monthly"],
  ["premium", "yearly"],
  ["basic", null],
  ["unmapped", "x"],
] as const;
const ANDROID_ONE_TIME = [["maps"], ["hint"], ["maps", "hint"], ["coins"], ["day", "maps"], ["day"]] as const;

const androidFacts = (script: AndroidScript, index: number): AndroidFact[] => {
  const { environment, form, begins, product, person, before, relation, answers } = script;
  const start = BEGIN + begins * DAY + index;
  let clock = start;
  const earlier = index === 0 || relation === "none" ? null : `token-${before % index}`;
  return answers.map(({ state, days, ends, variant }) => {
    // More than a minute between two answers: an answer repeated within a minute is a replay, whenever it was given.
    clock += days * DAY;
    const common = {
      store: "android-store",
      environment,
      token: `token-${index}`,
      person: at(PERSONS, person),
      answeredAt: clock,
    } as const;
    if (form === "one-time")
      return {
        ...common,
        kind: "one-time",
        state: at(["PURCHASED", "PURCHASED", "CANCELLED", "PENDING"] as const, state),
        completedAt: start,
        products: at(ANDROID_ONE_TIME, product).map((name) => ({
          product: name,
          consumed: name !== "maps" && variant % 2 === 1,
          refunded: variant % 6 === 5,
        })),
        asked: variant % 3 === 0 ? null : at(at(ANDROID_ONE_TIME, product), variant),
      } satisfies AndroidOneTimeFact;
    const [name, basePlan] = at(ANDROID_SUBSCRIPTIONS, product);
    const [addOn, addOnPlan] = at(ANDROID_SUBSCRIPTIONS, product + 1);
    const line = { product: name, basePlan, expiry: clock + ends * DAY, paid: variant % 6 !== 5 };
    return {
      ...common,
      kind: "subscription",
      state: at(SUBSCRIPTION_STATES, state),
      start: variant % 4 === 3 ? null : start,
      lines: [
        { ...line, renews: variant % 2 === 0 },
        ...(variant % 3 === 2 && addOn !== name
          ? [
              {
                product: addOn,
                basePlan: addOnPlan,
                expiry: line.expiry + DAY,
                paid: true,
                renews: true,
              },
            ]
          : []),
      ],
      replaces: relation === "replaces" ? earlier : null,
      expired: relation === "resubscribes" ? earlier : null,
    } satisfies AndroidSubscriptionFact;
  });
};

/** Everything that the stores have said of a few persons. */
export interface History {
  readonly apple: readonly AppleAccount[];
  readonly android: readonly AndroidFact[];
}

const historiesOf = (people: number): fc.Arbitrary<History> =>
  fc.record({
    apple: appleAccounts(people),
    android: fc.array(androidScript, { maxLength: people + 1 }).map((scripts) =>
      // A token is of one environment; so are those it names.
      scripts.flatMap((script, index) =>
        androidFacts({ ...script, environment: scripts[0]?.environment ?? "production" }, index),
      ),
    ),
  });

export const histories = historiesOf(3);

export const factsOf = ({ apple, android }: History): Fact[] => [
  ...apple.flatMap(({ facts }) => facts),
  ...android,
];

interface RequestScript {
  readonly kind: "ios" | "ios" | "ios" | "android";
  readonly account: number;
  /** `modern`: with its app transaction id; `older`: without; `mixed`: without, and with facts of two Apple Accounts. */
  readonly client: "modern" | "modern" | "older" | "mixed";
  readonly picks: readonly number[];
  readonly claim: number;
  /** Above the number of customers: nobody is unlinked. */
  readonly unlinks: number;
}

export const ACCOUNTS = ["a", "b", "c"] as const;
const CLAIMS: readonly (ModelClaim | null)[] = [
  null,
  null,
  null,
  null,
  null,
  null,
  ...ACCOUNTS.flatMap((account): ModelClaim[] => [
    { account, by: "credential" },
    { account, by: "client" },
  ]),
  { account: "a", by: "credential" },
  { account: "a", by: "client" },
];

const requestScript: fc.Arbitrary<RequestScript> = fc.record({
  kind: choice("ios", "ios", "ios", "android" as const),
  account: fc.nat(2),
  client: fc.oneof(
    { weight: 4, arbitrary: fc.constant("modern" as const) },
    { weight: 3, arbitrary: fc.constant("older" as const) },
    { weight: 2, arbitrary: fc.constant("mixed" as const) },
  ),
  picks: fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(fc.nat(63), { maxLength: 6 }) },
  ),
  claim: fc.nat(CLAIMS.length - 1),
  unlinks: fc.nat(7),
});

const requestOf = ({ apple, android }: History, script: RequestScript): ModelRequest => {
  const { kind, account: index, client, picks, claim: claimIndex } = script;
  const claim = at(CLAIMS, claimIndex);
  if (kind === "android" && android.length > 0) {
    const fact = at(android, picks[0] ?? 0);
    return {
      environment: fact.environment,
      appTransaction: null,
      facts: [fact],
      claim: { account: claim?.account ?? at(ACCOUNTS, claimIndex), by: "credential" },
    };
  }
  const account = at(apple, index);
  const { environment, appTransaction } = account;
  const pool =
    client === "mixed"
      ? apple.filter((other) => other.environment === environment).flatMap(({ facts }) => facts)
      : account.facts;
  return {
    environment,
    appTransaction: client === "modern" ? appTransaction : null,
    facts: pool.length === 0 ? [] : [...new Set(picks.map((pick) => at(pool, pick)))],
    claim,
  };
};

export interface Traffic {
  readonly history: History;
  readonly requests: readonly ModelRequest[];
  /** The place, among the customers that there are by then, of the one that an operator unlinks after each request. */
  readonly unlinks: readonly number[];
}

/** Requests that carry parts of a history of so many people, in any order, some of them more than once. */
export const trafficOf = (
  length: { readonly minLength: number; readonly maxLength: number },
  people = 3,
): fc.Arbitrary<Traffic> =>
  fc
    .record({ history: historiesOf(people), scripts: fc.array(requestScript, length) })
    .map(({ history, scripts }) => ({
      history,
      requests: scripts.map((script) => requestOf(history, script)),
      unlinks: scripts.map(({ unlinks }) => unlinks),
    }));

/**
 * Moments at which an answer could change, and the ones just before and after them: all of them, or so many of them,
 * others for other facts.
 */
export const moments = (facts: readonly Fact[], limit: number): number[] => {
  const boundaries = facts.flatMap((fact) =>
    fact.store === "ios-store"
      ? [fact.start, fact.end, fact.revokedAt, fact.start + DAY]
      : fact.kind === "one-time"
        ? [fact.completedAt, fact.completedAt + 2 * DAY]
        : [fact.start, ...fact.lines.map(({ expiry }) => expiry)],
  );
  const all = [
    ...new Set(boundaries.flatMap((moment) => (moment === null ? [] : [moment - 1, moment, moment + 1]))),
  ].sort((a, b) => a - b);
  const step = Math.max(1, all.length / limit);
  const first = all.reduce((sum, moment) => sum + moment, 0) % step;
  const some = Array.from(
    { length: Math.ceil(all.length / step) },
    (_, index) => all[Math.floor(first + index * step)],
  );
  return [...some.filter((moment) => moment !== undefined), END, END + 400 * DAY];
};
