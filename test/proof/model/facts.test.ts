import fc from "fast-check";
import { catalogOf } from "../../../lib/entitlements/catalog.ts";
import { holdingsOf } from "../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { byReference, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { renewalsOf } from "../../../lib/stores/ios-store/purchases.ts";
import { entitlementsAt } from "../../../testing/support/stores/purchases.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { MOMENTS, orders, shuffled } from "./any-order.ts";
import { heldBySomebody, joinedFacts, statedBy } from "./as-verified.ts";
import { factsOf, histories, LEEWAYS, moments, renewalsIn, type History } from "./histories.ts";
import { CATALOG } from "./model-client.ts";

const NOTHING_MAPPED = catalogOf(new Map(), []);

const answerOf = (purchases: readonly Purchase[], moment: number, leeway = 0) =>
  entitlementsAt(moment, heldBySomebody(purchases), CATALOG, leeway);

/** What the stores state, fact by fact. */
const statementsOf = (history: History): readonly (readonly Purchase[])[] => [
  ...factsOf(history).map((fact) => statedBy([fact])),
  ...renewalsIn(history).map((renewal) => renewalsOf([renewal], [])),
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
    held = holdingsOf([...held, ...joined.values()], catalog);
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
              ? fact.type === "Auto-Renewable Subscription" || fact.type === "Non-Consumable"
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
