import fc from "fast-check";
import { statedPurchases } from "../../lib/customers/verified-facts.ts";
import { holdingsOf, NEWEST_HELD_PER_PRODUCT } from "../../lib/entitlements/holdings.ts";
import { joinAll } from "../../lib/entitlements/join.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId } from "../../lib/identifiers.ts";
import { entitlementsAt } from "../../testing/support/purchases.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { entitlementsFrom, type Fact, type IosFact, type IosRenewal } from "../support/reference-model.ts";
import { MOMENTS, orders, shuffled, SOLD } from "./any-order.ts";
import { toPurchases, toRenewal } from "./as-verified.ts";
import { differenceOfEntitlements, Names } from "./comparison.ts";
import { END, factsOf, histories, LEEWAYS, moments, renewalsIn } from "./histories.ts";
import { CATALOG, toCatalog } from "./model-client.ts";

const leeways = fc.constantFrom(...LEEWAYS);

const proven = (facts: readonly Fact[]): readonly Purchase[] =>
  statedPurchases({ purchases: toPurchases(facts), renewals: [] });

const NOTHING_MAPPED = toCatalog({ names: {}, products: [] });
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

const answerOf = (purchases: readonly Purchase[], moment: number, leeway = 0) =>
  entitlementsAt(
    moment,
    purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase })),
    SOLD,
    leeway,
  );

const DAY = 86_400_000;

/**
 * The answer, with the other's end of calendar months if the two are less than four days apart: of passes that are used up, not
 * all are held, and from 29 to 31 January a month that begins later may end earlier on the 28th.
 */
const nearly = (
  answer: ReturnType<typeof answerOf>,
  other: ReturnType<typeof answerOf>,
  moment: number,
): ReturnType<typeof answerOf> =>
  answer.map((one, index) => {
    const wanted = other[index];
    const ends = [one, wanted].map((entitlement) => Date.parse(entitlement?.expiresAt ?? ""));
    const [first, last] = [Math.min(...ends), Math.max(...ends)];
    if (wanted === undefined || one.productIdentifier !== "season" || !(last - first < 4 * DAY)) return one;
    return first <= moment && moment < last ? wanted : { ...one, expiresAt: wanted.expiresAt };
  });

describe("facts alone, without a table", () => {
  const expected = (
    facts: readonly Fact[],
    moment: number,
    renewals: readonly IosRenewal[] = [],
    leeway = 0,
  ) => {
    const names = new Names();
    names.same(1, SOMEBODY);
    return names.entitlements(
      entitlementsFrom(
        facts.map((fact) => ({ fact, customer: 1, by: null })),
        CATALOG,
        moment,
        { renewals, leeway },
      ),
    );
  };

  test(
    "give the answers of the plain list at many moments, in any order, in any batches and any number of times",
    () => {
      fc.assert(
        fc.property(histories, orders, fc.nat(7), leeways, (history, order, batch, leeway) => {
          const [facts, renewals] = [factsOf(history), renewalsIn(history)];
          const said = [...facts.map((fact) => proven([fact])), ...renewals.map((one) => [toRenewal(one)])];
          const some = shuffled([...said, ...said.slice(0, order.length % 5)], order);
          const size = batch + 1;
          let joined: Purchase[] = [];
          for (let from = 0; from < some.length; from += size)
            joined = joinAll([...joined, ...some.slice(from, from + size).flat()]);
          expect(joined).toEqual(joinAll(said.flat()));
          for (const moment of moments(facts, MOMENTS, renewals))
            expect(
              differenceOfEntitlements(
                expected(facts, moment, renewals, leeway),
                answerOf(joined, moment, leeway),
              ),
            ).toBeNull();
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  test(
    "give the same answers from holdings, whichever catalog the holdings were made with, except for consumables",
    () => {
      fc.assert(
        fc.property(histories, fc.boolean(), leeways, (history, unmapped, leeway) => {
          const renewals = renewalsIn(history);
          const facts = factsOf(history).filter(
            (fact) =>
              !unmapped ||
              (fact.store === "ios-store" ? fact.type !== "consumable" : fact.kind === "subscription"),
          );
          const purchases = joinAll([...proven(facts), ...renewals.map(toRenewal)]);
          const catalog = unmapped ? NOTHING_MAPPED : SOLD;
          const holdings = holdingsOf(purchases, catalog);
          for (const moment of moments(facts, MOMENTS, renewals))
            expect(
              differenceOfEntitlements(
                expected(facts, moment, renewals, leeway),
                answerOf(holdings, moment, leeway),
              ),
            ).toBeNull();
          expect(holdingsOf(holdings, catalog)).toEqual(holdings);
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  const boughtOften = (product: string, minutesAgo: number, index: number): IosFact => ({
    store: "ios-store",
    environment: "production",
    transaction: String(index),
    original: String(index),
    product,
    type: product === "season" ? "non-renewing" : "consumable",
    group: null,
    webOrder: null,
    start: END - minutesAgo * 60_000,
    originalStart: END - minutesAgo * 60_000,
    end: null,
    quantity: 1,
    revokedAt: null,
    revokedShare: null,
    upgraded: false,
    previous: null,
    appTransaction: null,
    certificate: null,
    signedAt: END,
  });

  test(
    "keep every pass that is not used up in the holdings, however many are bought one after the other",
    () => {
      const pass = fc.record({
        product: fc.constantFrom("day", "season"),
        minutesAgo: fc.oneof(fc.integer({ min: 0, max: 200_000 }), fc.integer({ min: 0, max: 60_000 })),
        refunded: fc.integer({ min: 0, max: 19 }).map((dice) => dice === 0),
      });
      // About one a month, so that what is taken of the calendar decides whether one reaches the next.
      const monthly = fc
        .array(fc.integer({ min: 28 * 24 * 60, max: 33 * 24 * 60 }), { minLength: 60, maxLength: 100 })
        .map((gaps) => {
          let minutesAgo = 0;
          return gaps.map((gap) => ({
            product: "season",
            minutesAgo: (minutesAgo += gap),
            refunded: false,
          }));
        });
      const passesOf = fc.oneof(fc.array(pass, { minLength: 60, maxLength: 160 }), monthly);
      fc.assert(
        fc.property(passesOf, (passes) => {
          const facts = passes
            .toSorted((a, b) => b.minutesAgo - a.minutesAgo)
            .map(({ product, minutesAgo, refunded }, index): Fact => {
              const bought = boughtOften(product, minutesAgo, index);
              return refunded ? { ...bought, revokedAt: bought.start + 3_600_000 } : bought;
            });
          let grown: Purchase[] = [];
          for (const fact of facts) grown = holdingsOf([...grown, ...proven([fact])], SOLD);
          const all = joinAll(proven(facts));
          for (const days of [0, 1, 20, 40, 400]) {
            const moment = END + days * DAY;
            const wanted = answerOf(all, moment);
            expect(nearly(answerOf(grown, moment), wanted, moment)).toEqual(wanted);
          }
        }),
        cases(25, 600),
      );
    },
    TIMEOUT,
  );

  test(
    "keep the newest of often bought products that never end in the holdings, in any order",
    () => {
      const LASTING = toCatalog({
        ...CATALOG,
        products: CATALOG.products.map((product) => ({ ...product, access: null })),
      });
      const often = fc.record({
        product: fc.constantFrom("day", "season", "coins"),
        minutesAgo: fc.integer({ min: 0, max: 60_000 }),
        refunded: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
      });
      fc.assert(
        fc.property(fc.array(often, { minLength: 60, maxLength: 160 }), orders, (bought, order) => {
          const facts = bought.map(({ product, minutesAgo, refunded }, index): Fact => ({
            ...boughtOften(product, minutesAgo, index),
            revokedAt: refunded ? END : null,
          }));
          const holdings = holdingsOf(proven(facts), LASTING);
          let grown: Purchase[] = [];
          for (const fact of shuffled(facts, order))
            grown = holdingsOf([...grown, ...proven([fact])], LASTING);
          expect(grown).toEqual(holdings);
          const most = 2 * (NEWEST_HELD_PER_PRODUCT.valid + NEWEST_HELD_PER_PRODUCT.revoked);
          expect(holdings.length).toBeLessThanOrEqual(most);
        }),
        cases(25, 600),
      );
    },
    TIMEOUT,
  );
});
