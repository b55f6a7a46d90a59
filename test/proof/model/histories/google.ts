import fc from "fast-check";
import { DAY } from "../../../../testing/support/stores/purchases.ts";
import type { AndroidFact, AndroidOneTimeFact, AndroidSubscriptionFact } from "../stated-facts.ts";
import { at, BEGIN, choice, environment, type Made } from "./choices.ts";

/** Google's answers about purchase tokens. */

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

const OBFUSCATED = [null, null, "o1", "o2"] as const;

const answerScript = fc.record({
  state: fc.nat(SUBSCRIPTION_STATES.length - 1),
  // More than a minute lies between two answers, because an answer repeated within a minute is a replay.
  days: fc.integer({ min: 1, max: 40 }),
  // Also two minutes before the answer.
  ends: fc.oneof(fc.integer({ min: -20, max: 60 }), choice(-1.5, -1, -0.25, -2 / 1440)),
  variant: fc.nat(23),
});

const tokenScript = fc.record({
  form: choice("subscription", "subscription", "one-time"),
  begins: fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 100, max: 103 })),
  product: fc.nat(6),
  person: fc.nat(OBFUSCATED.length - 1),
  /** Selects the earlier purchase that this one replaces or resubscribes to. */
  before: fc.nat(4),
  relation: choice("none", "replaces", "replaces", "resubscribes"),
  answers: fc.array(answerScript, { minLength: 1, maxLength: 4 }),
});
type TokenScript = Made<typeof tokenScript>;
type AnswerScript = Made<typeof answerScript>;

const SUBSCRIPTIONS = [
  ["premium", "monthly"],
  ["premium", "yearly"],
  ["basic", null],
  ["unmapped", "x"],
] as const;
const ONE_TIME = [
  ["maps"],
  ["hint"],
  ["maps", "hint"],
  ["coins"],
  ["day", "maps"],
  ["day"],
  ["film"],
] as const;

const oneTimeOf = (
  { begins, product, person, relation }: TokenScript,
  { state, variant }: AnswerScript,
  place: number,
  index: number,
) => {
  const neverPaid = relation === "resubscribes" && person === 3;
  // An answer may be older than the one before it, and show a paid purchase as pending.
  const paid = ["PURCHASED", "PURCHASED", "CANCELLED", place < 2 ? "PENDING" : "PURCHASED"] as const;
  return {
    kind: "one-time",
    state: neverPaid ? at(["PENDING", "CANCELLED"] as const, state) : at(paid, state),
    completedAt: neverPaid ? null : BEGIN + begins * DAY + index,
    products: at(ONE_TIME, product).map((name) => ({
      product: name,
      purchaseOption: at(["buy", "rent", null], person),
      rented: name === "film" && person % 3 !== 0,
      consumed: name !== "maps" && variant % 2 === 1,
      quantity: name === "maps" ? 1 : 1 + (product % 3),
      unrefunded: variant % 6 === 5 ? 0 : variant % 4 === 3 ? 1 : null,
    })),
    asked: variant % 3 === 0 ? null : [at(at(ONE_TIME, product), variant)],
  } satisfies Partial<AndroidOneTimeFact>;
};

const linesOf = (
  product: number,
  answeredAt: number,
  { days, ends, variant }: AnswerScript,
): AndroidSubscriptionFact["lines"] => {
  const [name, basePlan] = at(SUBSCRIPTIONS, product);
  const [addOn, addOnPlan] = at(SUBSCRIPTIONS, product + 1);
  const [incoming, incomingPlan] = at(SUBSCRIPTIONS, product + 2);
  const expiry = answeredAt + ends * DAY;
  const isReplaced = variant % 8 === 6;
  const other = { paid: true, renews: true, leaves: null };
  const leaves = isReplaced ? "replaced" : variant % 8 === 4 ? "removed" : null;
  return [
    {
      product: name,
      basePlan,
      expiry,
      paid: variant % 6 !== 5,
      renews: variant % 2 === 0,
      leaves,
      replacement: incoming,
    },
    // The answer may list what is to take its place, before it is paid and after.
    ...(isReplaced && days % 3 > 0
      ? [
          {
            ...other,
            product: incoming,
            basePlan: incomingPlan,
            expiry: expiry + at([-1, 30], days) * DAY,
            paid: days % 3 === 1,
          },
        ]
      : []),
    // Google may charge each line at a date of its own.
    ...((variant % 3 === 2 || (isReplaced && days % 2 === 0)) && addOn !== name
      ? [{ ...other, product: addOn, basePlan: addOnPlan, expiry: expiry + at([1, -12, 12], days) * DAY }]
      : []),
  ];
};

const answersOf = (
  script: TokenScript,
  index: number,
  environment: AndroidFact["environment"],
): AndroidFact[] => {
  const { form, begins, product, person, before, relation } = script;
  const start = BEGIN + begins * DAY + index;
  let answeredAt = start;
  const earlier = index === 0 ? null : `token-${before % index}`;
  return script.answers.map((answer, place): AndroidFact => {
    answeredAt += answer.days * DAY;
    const common = {
      store: "android-store",
      environment,
      token: `token-${index}`,
      obfuscated: at(OBFUSCATED, person),
      answeredAt,
    } as const;
    if (form === "one-time") return { ...common, ...oneTimeOf(script, answer, place, index) };
    return {
      ...common,
      kind: "subscription",
      state: at(SUBSCRIPTION_STATES, answer.state),
      start: answer.variant % 4 === 3 ? null : start,
      lines: linesOf(product, answeredAt, answer),
      replaces: relation === "replaces" ? earlier : null,
      expired: relation === "resubscribes" ? earlier : null,
    };
  });
};

/** A token and the tokens it names are of one environment. */
export const androidFacts = (most: number): fc.Arbitrary<readonly AndroidFact[]> =>
  fc
    .record({ environment, scripts: fc.array(tokenScript, { maxLength: most }) })
    .map(({ environment, scripts }) =>
      scripts.flatMap((script, index) => answersOf(script, index, environment)),
    );
