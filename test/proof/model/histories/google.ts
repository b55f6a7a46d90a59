import fc from "fast-check";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import { DAY } from "../../../../testing/support/stores/purchases.ts";
import type { AndroidFact } from "../stated-facts.ts";
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

const COMMON = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" } as const;

const oneTimeOf = (
  { begins, product, person, relation }: TokenScript,
  { state, variant }: AnswerScript,
  place: number,
  index: number,
) => {
  const neverPaid = relation === "resubscribes" && person === 3;
  // An answer may be older than the one before it, and show a paid purchase as pending.
  const paid = ["PURCHASED", "PURCHASED", "CANCELLED", place < 2 ? "PENDING" : "PURCHASED"] as const;
  const purchaseState = neverPaid ? at(["PENDING", "CANCELLED"] as const, state) : at(paid, state);
  const purchaseOptionId = at(["buy", "rent", null], person);
  const obfuscated = at(OBFUSCATED, person);
  const answer = {
    ...COMMON,
    purchaseStateContext: { purchaseState },
    ...(!neverPaid && { purchaseCompletionTime: isoTime(BEGIN + begins * DAY + index) }),
    productLineItem: at(ONE_TIME, product).map((productId) => ({
      productId,
      productOfferDetails: {
        ...(purchaseOptionId !== null && { purchaseOptionId }),
        ...(productId === "film" && person % 3 !== 0 && { rentOfferDetails: {} }),
        quantity: productId === "maps" ? 1 : 1 + (product % 3),
        ...(variant % 6 === 5 && { refundableQuantity: 0 }),
        ...(variant % 6 !== 5 && variant % 4 === 3 && { refundableQuantity: 1 }),
        consumptionState:
          productId !== "maps" && variant % 2 === 1
            ? "CONSUMPTION_STATE_CONSUMED"
            : "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
      },
    })),
    ...(obfuscated !== null && { obfuscatedExternalAccountId: obfuscated }),
  };
  return { answer, asked: variant % 3 === 0 ? null : [at(at(ONE_TIME, product), variant)] };
};

const lineOf = (product: number, expiry: number, isPaid = true, renews = true) => {
  const [productId, basePlanId] = at(SUBSCRIPTIONS, product);
  return {
    productId,
    expiryTime: isoTime(expiry),
    ...(isPaid && { latestSuccessfulOrderId: "GPA.1" }),
    ...(basePlanId !== null && { offerDetails: { basePlanId } }),
    autoRenewingPlan: { autoRenewEnabled: renews },
  };
};

const linesOf = (product: number, answeredAt: number, { days, ends, variant }: AnswerScript) => {
  const expiry = answeredAt + ends * DAY;
  const isReplaced = variant % 8 === 6;
  const [incoming] = at(SUBSCRIPTIONS, product + 2);
  const hasAddOn = at(SUBSCRIPTIONS, product + 1)[0] !== at(SUBSCRIPTIONS, product)[0];
  return [
    {
      ...lineOf(product, expiry, variant % 6 !== 5, variant % 2 === 0),
      // The line ends at its expiry, whatever its plan says.
      ...(isReplaced && { deferredItemReplacement: { productId: incoming } }),
      ...(variant % 8 === 4 && { deferredItemRemoval: {} }),
    },
    // The answer may list what is to take its place, before it is paid and after.
    ...(isReplaced && days % 3 > 0
      ? [lineOf(product + 2, expiry + at([-1, 30], days) * DAY, days % 3 === 1)]
      : []),
    // Google may charge each line at a date of its own.
    ...((variant % 3 === 2 || (isReplaced && days % 2 === 0)) && hasAddOn
      ? [lineOf(product + 1, expiry + at([1, -12, 12], days) * DAY)]
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
  const obfuscated = at(OBFUSCATED, person);
  const isTest = environment === "sandbox";
  return script.answers.map((scripted, place): AndroidFact => {
    answeredAt += scripted.days * DAY;
    const common = {
      store: "android-store",
      environment,
      token: `token-${index}`,
      answeredAt,
    } as const;
    if (form === "one-time") {
      const { answer, asked } = oneTimeOf(script, scripted, place, index);
      const body = { ...answer, ...(isTest && { testPurchaseContext: {} }) };
      return { ...common, kind: "one-time", answer: body, asked };
    }
    const answer = {
      ...COMMON,
      subscriptionState: `SUBSCRIPTION_STATE_${at(SUBSCRIPTION_STATES, scripted.state)}`,
      ...(scripted.variant % 4 !== 3 && { startTime: isoTime(start) }),
      lineItems: linesOf(product, answeredAt, scripted),
      ...(earlier !== null && relation === "replaces" && { linkedPurchaseToken: earlier }),
      ...(earlier !== null &&
        relation === "resubscribes" && { outOfAppPurchaseContext: { expiredPurchaseToken: earlier } }),
      ...(obfuscated !== null && {
        externalAccountIdentifiers: { obfuscatedExternalAccountId: obfuscated },
      }),
      ...(isTest && { testPurchase: {} }),
    };
    return { ...common, kind: "subscription", answer };
  });
};

/** A token and the tokens it names are of one environment. */
export const androidFacts = (most: number): fc.Arbitrary<readonly AndroidFact[]> =>
  fc
    .record({ environment, scripts: fc.array(tokenScript, { maxLength: most }) })
    .map(({ environment, scripts }) =>
      scripts.flatMap((script, index) => answersOf(script, index, environment)),
    );
