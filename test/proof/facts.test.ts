import fc from "fast-check";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import { holdingsOf, NEWEST_HELD_PER_PRODUCT } from "../../lib/entitlements/holdings.ts";
import { joinAll, type Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId } from "../../lib/identifiers.ts";
import { cases, TIMEOUT } from "../support/proof.ts";
import { entitlementsFrom, type Fact } from "../support/reference-model.ts";
import { MOMENTS, orders, shuffled, SOLD } from "./any-order.ts";
import { differenceOfEntitlements, Names } from "./comparison.ts";
import { END, factsOf, histories, moments } from "./histories.ts";
import { CATALOG, toCatalog, toPurchases } from "./world.ts";

const NOTHING_MAPPED = toCatalog({ names: {}, products: [] });
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

const answerOf = (purchases: readonly Purchase[], moment: number) =>
  entitlementsAt(
    moment,
    purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, purchase })),
    SOLD,
  );

describe("facts alone, without a table", () => {
  const expected = (facts: readonly Fact[], moment: number) => {
    const names = new Names();
    names.same(1, SOMEBODY);
    return names.entitlements(
      entitlementsFrom(
        facts.map((fact) => ({ fact, customer: 1 })),
        CATALOG,
        moment,
      ),
    );
  };

  test(
    "facts in any order, in any batches, any number of times give the answers of the plain list, at many moments",
    () => {
      fc.assert(
        fc.property(histories, orders, fc.nat(7), (history, order, batch) => {
          const facts = factsOf(history);
          const again = [...facts, ...facts.slice(0, order.length % 5)];
          const some = shuffled(again, order);
          const size = batch + 1;
          let joined: Purchase[] = [];
          for (let from = 0; from < some.length; from += size)
            joined = joinAll([...joined, ...toPurchases(some.slice(from, from + size))]);
          expect(joined).toEqual(joinAll(toPurchases(facts)));
          for (const moment of moments(facts, MOMENTS))
            expect(differenceOfEntitlements(expected(facts, moment), answerOf(joined, moment))).toBeNull();
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  test(
    "holdings answer as all purchases do, whichever catalog they were made with, consumables apart",
    () => {
      fc.assert(
        fc.property(histories, fc.boolean(), (history, unmapped) => {
          const facts = factsOf(history).filter(
            (fact) =>
              !unmapped ||
              (fact.store === "ios-store"
                ? fact.type !== "consumable"
                : fact.kind === "subscription" || fact.products.every(({ consumed }) => !consumed)),
          );
          const purchases = joinAll(toPurchases(facts));
          const catalog = unmapped ? NOTHING_MAPPED : SOLD;
          const holdings = holdingsOf(purchases, catalog);
          for (const moment of moments(facts, MOMENTS))
            expect(differenceOfEntitlements(expected(facts, moment), answerOf(holdings, moment))).toBeNull();
          expect(holdingsOf(holdings, catalog)).toEqual(holdings);
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  test(
    "of very many passes the newest answer for all, as long as refunds leave one of those held",
    () => {
      const pass = fc.record({
        product: fc.constantFrom("day", "season"),
        begins: fc.integer({ min: 0, max: 60_000 }),
        refunded: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
      });
      fc.assert(
        fc.property(fc.array(pass, { minLength: 60, maxLength: 160 }), orders, (passes, order) => {
          const facts = passes.map(({ product, begins, refunded }, index): Fact => ({
            store: "ios-store",
            environment: "production",
            transaction: String(index),
            original: String(index),
            product,
            type: product === "day" ? "consumable" : "non-renewing",
            start: END - begins * 60_000,
            end: null,
            revokedAt: refunded ? END : null,
            upgraded: false,
            signedAt: END,
          }));
          const holdings = holdingsOf(toPurchases(facts), SOLD);
          let grown: Purchase[] = [];
          for (const fact of shuffled(facts, order))
            grown = holdingsOf([...grown, ...toPurchases([fact])], SOLD);
          expect(grown).toEqual(holdings);
          const most = 2 * (NEWEST_HELD_PER_PRODUCT.valid + NEWEST_HELD_PER_PRODUCT.revoked);
          expect(holdings.length).toBeLessThanOrEqual(most);
          const all = joinAll(toPurchases(facts));
          for (const moment of [END, END + 86_400_000, END + 40 * 86_400_000])
            expect(answerOf(holdings, moment)).toEqual(answerOf(all, moment));
        }),
        cases(25, 600),
      );
    },
    TIMEOUT,
  );
});
