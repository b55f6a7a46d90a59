import fc from "fast-check";
import type { Environment } from "../../../../lib/contract/schemas.ts";
import { DAY } from "../../../../testing/support/stores/purchases.ts";
import { aVerifiedTransaction } from "../../../../testing/support/stores/ios-store.ts";
import type { IosFact } from "../stated-facts.ts";
import { at, BEGIN, choice, type Made } from "./choices.ts";

/** Lineages of the App Store: each is one purchase with all that is ever signed of it. */

const HOUR = 3_600_000;
const days = fc.integer({ min: 0, max: 40 });

const nextPeriod = fc.record({
  does: choice("buy"),
  days,
  begins: choice("at the end", "at the end", "ahead", "now", "within", "with it", "later"),
  isOther: fc.boolean(),
  /** Whether the store marks the period before as upgraded. */
  marks: fc.boolean(),
  /** Whether it has the web order of the period before. */
  isOneOrder: choice(false, false, true),
});

/** A period is signed once more: itself, a copy under another id, or another product of the same bundle. */
const sameAgain = fc.record({
  does: choice("say"),
  days,
  /** Counted from the last. */
  which: choice(1, 1, 2, 3),
  as: choice("itself", "itself", "copy", "restore", "another part"),
  mark: choice("none", "refund", "reversal", "upgrade"),
});

const subscription = fc.record({
  form: choice("subscription"),
  begins: fc.integer({ min: 0, max: 600 }),
  product: fc.nat(2),
  /** Whether its periods carry `webOrderLineItemId`. */
  webOrders: choice(true, true, false),
  steps: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: nextPeriod },
      { weight: 4, arbitrary: sameAgain },
      { weight: 1, arbitrary: fc.record({ does: choice("extend", "unheard"), days }) },
    ),
    { maxLength: 7 },
  ),
});

const oneTime = fc.record({
  form: choice("one-time"),
  // Often close together, so that passes queue up.
  begins: fc.oneof(fc.integer({ min: 0, max: 690 }), fc.integer({ min: 100, max: 103 })),
  product: fc.nat(5),
  quantity: choice(1, 1, 3),
  steps: fc.array(
    fc.record({
      which: choice("last", "last", "first", "another"),
      isCopy: choice(false, false, true),
      revoked: choice("as before", "whole", "part", "no"),
      days: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2 })),
    }),
    { maxLength: 5 },
  ),
});

export const lineageScript = fc.oneof(
  { weight: 3, arbitrary: subscription },
  { weight: 2, arbitrary: oneTime },
);
type LineageScript = Made<typeof lineageScript>;

const SUBSCRIPTIONS = ["monthly", "yearly", "basic"] as const;
const LENGTHS = { monthly: 30, yearly: 365, basic: 30 } as const;
const ONE_TIME = [
  ["map", "Non-Consumable"],
  ["forever", "Non-Consumable"],
  ["season", "Non-Renewing Subscription"],
  ["day", "Consumable"],
  ["coins", "Consumable"],
  ["day", "Consumable"],
] as const;

/** The identifiers of one lineage of an Apple Account. */
export interface Lineage {
  readonly environment: Environment;
  readonly original: string;
  readonly appTransaction: string | null;
  /** Another app transaction id that some of its transactions carry; null: none. */
  readonly otherAppTransaction: string | null;
  /** The lineage that moved here, if any. */
  readonly previous: string | null;
}

const idOf = ({ original }: Lineage, index: number): string => `${original}${String(index).padStart(2, "0")}`;

const transactionOf = (lineage: Lineage, fields: Partial<IosFact>): IosFact => ({
  ...aVerifiedTransaction({
    environment: lineage.environment,
    originalTransactionId: lineage.original,
    appTransactionId: lineage.appTransaction,
    ...fields,
  }),
  store: "ios-store",
});

type Period = IosFact & { readonly purchaseDate: number; readonly expiresDate: number };

/** When the next period is bought, and its start; null: the store sells none so. */
const boughtAfter = (
  current: Period,
  before: Period | undefined,
  clock: number,
  { begins, days }: Made<typeof nextPeriod>,
): { readonly boughtAt: number; readonly start: number } | null => {
  const at = (boughtAt: number, start = boughtAt) => ({ boughtAt, start });
  switch (begins) {
    case "at the end":
      return at(current.expiresDate);
    case "ahead":
      return at(Math.max(clock, current.expiresDate - DAY), current.expiresDate);
    case "now":
      return at(clock + days * HOUR + 1);
    case "within":
      return at(Math.max(clock, Math.min(current.purchaseDate + days * DAY + 1, current.expiresDate - 1)));
    case "with it":
      // Once only: the store does not sell three times in a millisecond.
      return before?.purchaseDate === current.purchaseDate ? null : at(clock, current.purchaseDate);
    case "later":
      return at(current.expiresDate + days * DAY);
  }
};

const createSubscription = (lineage: Lineage, first: number, began: number, webOrders: boolean) => {
  const facts: Period[] = [];
  const periods: Period[] = [];
  let clock = began;
  const say = (fact: Period): Period => {
    // A lineage's first transaction has been seen with one app transaction id, and its renewals with another.
    const isOther = lineage.otherAppTransaction !== null && facts.length % 2 === 1;
    const appTransactionId = isOther ? lineage.otherAppTransaction : lineage.appTransaction;
    const said = { ...fact, signedAt: clock + 10 * (facts.length + 1), appTransactionId };
    facts.push(said);
    return said;
  };
  const buy = (index: number, purchaseDate: number, sameOrder?: IosFact): void => {
    const productId = at(SUBSCRIPTIONS, index);
    const ownOrder = sameOrder?.webOrderLineItemId ?? `9${lineage.original}${facts.length}`;
    const bought = transactionOf(lineage, {
      transactionId: idOf(lineage, facts.length),
      productId,
      subscriptionGroupIdentifier: "main",
      webOrderLineItemId: webOrders ? ownOrder : null,
      originalPurchaseDate: began,
      previousOriginalTransactionId: lineage.previous,
    });
    const expiresDate = purchaseDate + LENGTHS[productId] * DAY;
    periods.push(say({ ...bought, purchaseDate, expiresDate }));
  };
  buy(first, clock);
  return {
    facts,
    periods,
    buy: (product: number, step: Made<typeof nextPeriod>): void => {
      const current = at(periods, periods.length - 1);
      const next = boughtAfter(current, periods.at(-2), clock, step);
      if (next === null) return;
      clock = next.boughtAt;
      if (step.marks) periods[periods.length - 1] = say({ ...current, isUpgraded: true });
      buy(product, next.start, step.isOneOrder ? current : undefined);
    },
    again: ({ which, as, mark, days }: Made<typeof sameAgain>): void => {
      const index = Math.max(0, periods.length - which);
      const period = at(periods, index);
      clock += days * (as === "itself" ? DAY : HOUR);
      const said = say({
        ...period,
        ...(as !== "itself" && { transactionId: idOf(lineage, facts.length) }),
        // Like some old copies, it has the time of the restore as its purchase date.
        ...(as === "restore" && { purchaseDate: clock }),
        ...(as === "another part" && { productId: at(SUBSCRIPTIONS, days) }),
        ...(mark === "refund" && { revocationDate: clock }),
        ...(mark === "reversal" && { revocationDate: null }),
        ...(mark === "upgrade" && { isUpgraded: true }),
      });
      if (as === "itself") periods[index] = said;
    },
    /** Without a web order a period is named by its end, so an extension makes another. A refunded one is not extended. */
    extend: (days: number): void => {
      const current = at(periods, periods.length - 1);
      const isRefunded = facts.some(
        (one) => one.transactionId === current.transactionId && one.revocationDate !== null,
      );
      if (current.isUpgraded || isRefunded || !webOrders) return;
      periods[periods.length - 1] = say({ ...current, expiresDate: current.expiresDate + days * DAY });
    },
  };
};

const subscriptionFacts = (
  { begins, product: first, webOrders, steps }: LineageScript & { form: "subscription" },
  lineage: Lineage,
): readonly IosFact[] => {
  const { facts, buy, again, extend } = createSubscription(lineage, first, BEGIN + begins * DAY, webOrders);
  let product = first;
  // Nobody tells the service what was signed before.
  let unheard = 0;
  for (const step of steps) {
    if (step.does === "buy") {
      if (step.isOther) product += 1 + (step.days % 2);
      buy(product, step);
    } else if (step.does === "say") again(step);
    else if (step.does === "extend") extend(step.days);
    else unheard = facts.length;
  }
  return facts.slice(Math.min(unheard, facts.length - 1));
};

const NOT_REVOKED = { revocationDate: null, revocationPercentage: null };

const oneTimeFacts = (
  { begins, product: index, quantity, steps }: LineageScript & { form: "one-time" },
  lineage: Lineage,
): readonly IosFact[] => {
  const [productId, type] = at(ONE_TIME, index);
  let clock = BEGIN + begins * DAY;
  const first = transactionOf(lineage, {
    transactionId: lineage.original,
    productId,
    type,
    purchaseDate: clock,
    originalPurchaseDate: clock,
    expiresDate: null,
    quantity: type === "Non-Consumable" ? 1 : quantity,
    signedAt: clock + 1,
  });
  let last = first;
  const facts = [first];
  for (const { which, isCopy, revoked, days } of steps) {
    clock += days * DAY + 10;
    // As it was said last, refunded or not.
    const another = facts.findLast((one) => one.transactionId !== last.transactionId) ?? last;
    const share = revoked === "part" ? at([33_333, 50_000, 66_667], days) : at([null, 100_000], days);
    last = {
      ...(which === "first" ? first : which === "another" ? another : last),
      ...(revoked === "no" && NOT_REVOKED),
      ...(["whole", "part"].includes(revoked) && { revocationDate: clock, revocationPercentage: share }),
      ...(isCopy &&
        type !== "Consumable" && {
          transactionId: idOf(lineage, facts.length),
          purchaseDate: clock,
          ...NOT_REVOKED,
        }),
      signedAt: clock,
    };
    facts.push(last);
  }
  return facts;
};

export const factsOfLineage = (script: LineageScript, lineage: Lineage): readonly IosFact[] =>
  script.form === "subscription" ? subscriptionFacts(script, lineage) : oneTimeFacts(script, lineage);
