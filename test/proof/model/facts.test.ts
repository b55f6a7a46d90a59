import fc from "fast-check";
import { catalogOf } from "../../../lib/entitlements/catalog.ts";
import { HELD_PER_ENTITLEMENT, holdingsOf } from "../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { byReference, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { plusPeriod } from "../../../lib/entitlements/time.ts";
import { DAY, entitlementsAt, period } from "../../../testing/support/stores/purchases.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { MOMENTS, orders, shuffled } from "./any-order.ts";
import { toRenewal } from "./as-verified.ts";
import { END, factsOf, histories, LEEWAYS, moments, renewalsIn, type History } from "./histories.ts";
import { heldBySomebody, joinedFacts, statedBy } from "./joined-facts.ts";
import type { Fact, IosFact } from "./stated-facts.ts";
import { CATALOG } from "./model-client.ts";

const NOTHING_MAPPED = catalogOf(new Map(), []);

const answerOf = (purchases: readonly Purchase[], moment: number, leeway = 0) =>
  entitlementsAt(moment, heldBySomebody(purchases), CATALOG, leeway);

/** What the stores state, fact by fact. */
const statementsOf = (history: History): readonly (readonly Purchase[])[] => [
  ...factsOf(history).map((fact) => statedBy([fact])),
  ...renewalsIn(history).map((renewal) => [toRenewal(renewal)]),
];

/** Holdings as they grow with each statement, which is joined with what is stored of its purchases. */
const grownFrom = (statements: readonly (readonly Purchase[])[], catalog = CATALOG): readonly Purchase[] => {
  const stored = new Map<string, Purchase>();
  let held: readonly Purchase[] = [];
  for (const stated of statements) {
    const said = byReference(joinAll(stated));
    const known = [...said.keys()].flatMap((reference) => stored.get(reference) ?? []);
    const joined = byReference(joinAll([...known, ...said.values()]));
    for (const [reference, purchase] of joined) stored.set(reference, purchase);
    held = holdingsOf(new Map([...byReference(held), ...joined]).values(), catalog);
  }
  return held;
};

describe("facts without a table", () => {
  test(
    "join to the same bytes, in any order, batches and repetition",
    () => {
      fc.assert(
        fc.property(histories, orders, fc.nat(7), (history, order, batch) => {
          const statements = statementsOf(history);
          const some = shuffled([...statements, ...statements.slice(0, order.length % 5)], order);
          const size = batch + 1;
          let joined: Purchase[] = [];
          for (let from = 0; from < some.length; from += size)
            joined = joinAll([...joined, ...some.slice(from, from + size).flat()]);
          const all = joinedFacts(factsOf(history), renewalsIn(history));
          expect(joined).toEqual(all);
          expect(JSON.stringify(joined)).toBe(JSON.stringify(all));
        }),
        cases(300, 40_000),
      );
    },
    TIMEOUT,
  );

  test(
    "answer from holdings, whatever they grew by, as from all purchases",
    () => {
      fc.assert(
        fc.property(histories, orders, fc.constantFrom(...LEEWAYS), (history, order, leeway) => {
          const [facts, renewals] = [factsOf(history), renewalsIn(history)];
          const all = joinedFacts(facts, renewals);
          const held = grownFrom(shuffled(statementsOf(history), order));
          expect(held).toEqual(holdingsOf(all, CATALOG));
          expect(holdingsOf(held, CATALOG)).toEqual(held);
          for (const moment of moments(facts, MOMENTS, renewals))
            expect(answerOf(held, moment, leeway)).toEqual(answerOf(all, moment, leeway));
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  test(
    "answer alike where subscriptions and non-consumables are mapped only later",
    () => {
      fc.assert(
        fc.property(histories, fc.constantFrom(...LEEWAYS), (history, leeway) => {
          const renewals = renewalsIn(history);
          const facts = factsOf(history).filter((fact) =>
            fact.store === "ios-store"
              ? fact.type === "subscription" || fact.type === "non-consumable"
              : fact.kind === "subscription",
          );
          const all = joinedFacts(facts, renewals);
          const held = holdingsOf(all, NOTHING_MAPPED);
          expect(holdingsOf(held, NOTHING_MAPPED)).toEqual(held);
          for (const moment of moments(facts, MOMENTS, renewals))
            expect(answerOf(held, moment, leeway)).toEqual(answerOf(all, moment, leeway));
        }),
        cases(100, 10_000),
      );
    },
    TIMEOUT,
  );
});

describe("holdings of what is bought often", () => {
  interface Bought {
    readonly product: string;
    readonly minutesAgo: number;
    readonly isRefunded: boolean;
  }

  const often = (products: readonly string[], most: number): fc.Arbitrary<readonly Bought[]> =>
    fc.array(
      fc.record({
        product: fc.constantFrom(...products),
        minutesAgo: fc.oneof(fc.integer({ min: 0, max: 200_000 }), fc.integer({ min: 0, max: 60_000 })),
        isRefunded: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
      }),
      { minLength: Math.floor(most / 2), maxLength: most },
    );

  const toFact = ({ product, minutesAgo, isRefunded }: Bought, index: number): IosFact => {
    const start = END - minutesAgo * 60_000;
    return {
      store: "ios-store",
      environment: "production",
      transaction: String(index),
      original: String(index),
      product,
      type: product === "season" ? "non-renewing" : "consumable",
      group: null,
      webOrder: null,
      start,
      originalStart: start,
      end: null,
      quantity: 1,
      revokedAt: isRefunded ? start + 3_600_000 : null,
      revokedShare: null,
      upgraded: false,
      previous: null,
      appTransaction: null,
      certificate: null,
      signedAt: END,
    };
  };

  const growing = (facts: readonly Fact[]): readonly Purchase[] =>
    grownFrom(facts.map((fact) => statedBy([fact])));

  test(
    "keep each pass within the bound, whatever the order",
    () => {
      fc.assert(
        fc.property(often(["day", "season"], HELD_PER_ENTITLEMENT), orders, (bought, order) => {
          const facts = bought.map(toFact);
          const held = growing(shuffled(facts, order));
          for (const days of [0, 1, 20, 40, 400, 4_000])
            expect(answerOf(held, END + days * DAY)).toEqual(answerOf(joinedFacts(facts), END + days * DAY));
        }),
        cases(25, 600),
      );
    },
    TIMEOUT,
  );

  test(
    "keep of each entitlement those that end last, whatever the order",
    () => {
      fc.assert(
        fc.property(often(["day", "season", "coins"], 160), orders, (bought, order) => {
          const facts = bought.map(toFact);
          const held = growing(shuffled(facts, order));
          expect(held).toEqual(holdingsOf(joinedFacts(facts), CATALOG));
          for (const product of ["day", "season"]) {
            const endOf = ({ start, revokedAt }: IosFact): number =>
              revokedAt ?? plusPeriod(start, period(product === "day" ? "P1D" : "P1M"));
            const lasting = facts
              .filter((fact) => fact.product === product)
              .toSorted((a, b) => endOf(b) - endOf(a) || (a.original < b.original ? -1 : 1))
              .slice(0, HELD_PER_ENTITLEMENT);
            const kept = held.filter(({ lines }) => lines[0]?.productIdentifier === product);
            expect(kept.map(({ key }) => key)).toEqual(lasting.map(({ original }) => original).sort());
          }
        }),
        cases(25, 600),
      );
    },
    TIMEOUT,
  );
});
