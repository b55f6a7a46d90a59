import fc from "fast-check";
import { NATURES, STANDINGS, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { nextRefresh } from "../../lib/freshness/refresh-times.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

/** Moments a hundred days around now, often on a boundary of a day. */
const moment = fc.oneof(
  fc.integer({ min: NOW - 100 * DAY, max: NOW + 100 * DAY }),
  fc.integer({ min: -100, max: 100 }).map((days) => NOW + days * DAY),
);
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });

/** A product has one nature, and of those only a subscription has ends of its own. */
const line: fc.Arbitrary<Partial<Line>> = fc
  .record({
    event: fc.constantFrom("a", "b", "c"),
    nature: fc.constantFrom(...NATURES),
    standing: fc.constantFrom(...STANDINGS),
    startsAt: moment,
    endsAt: moment,
    revokedAt: orNull(moment),
    verifiedAt: moment,
  })
  .map(({ endsAt, ...one }) => ({
    ...one,
    productIdentifier: one.nature,
    endsAt: one.nature === "auto_renewable" ? endsAt : null,
  }));

const renewal = fc.record({
  periodEndsAt: orNull(moment),
  willRenew: fc.boolean(),
  graceEndsAt: orNull(moment),
  isInBillingRetry: fc.boolean(),
  signedAt: moment,
});

/** Lines of one lineage: each transaction id once. */
const purchase: fc.Arbitrary<Purchase> = fc
  .record({
    store: fc.constantFrom("ios-store" as const, "android-store" as const),
    lines: fc.array(line, { maxLength: 5 }),
    renewal: orNull(renewal),
    isReplaced: fc.boolean(),
  })
  .map(({ store, lines, renewal: said, isReplaced }) =>
    aPurchase({
      store,
      lines: lines.map((one, index) => {
        const isIos = store === "ios-store";
        return aLine({
          ...one,
          transactionIdentifier: isIos ? String(index) : null,
          event: isIos ? (one.event ?? null) : null,
        });
      }),
      renewal: said === null || store === "android-store" ? null : aRenewal(said),
      replacedBy: isReplaced ? purchaseKey("2") : null,
    }),
  );

test("the next refresh is later than the moment, so that nothing is asked about twice at once", () => {
  fc.assert(
    fc.property(purchase, moment, (one, after) => {
      const next = nextRefresh(one, after);
      expect(next === null || next.at > after).toBe(true);
    }),
  );
});

test("the same facts and moment give the same time, in any order of the lines", () => {
  fc.assert(
    fc.property(purchase, moment, (one, after) => {
      const reversed = { ...one, lines: one.lines.toReversed() };
      expect(nextRefresh(reversed, after)?.at).toBe(nextRefresh(one, after)?.at);
      expect(nextRefresh(one, after)).toEqual(nextRefresh(one, after));
    }),
  );
});

test("a later moment never gives an earlier time", () => {
  fc.assert(
    fc.property(purchase, moment, moment, (one, a, b) => {
      const [earlier, later] = [Math.min(a, b), Math.max(a, b)].map((after) => nextRefresh(one, after)?.at);
      expect(later === undefined || (earlier !== undefined && earlier <= later)).toBe(true);
    }),
  );
});

/**
 * Refreshes of 60 days without news: five close steps, one at the moment itself and sixty daily ones after an end, after the end of a grace period
 * and after an unseen renewal, sixty-five for each dispute, a few for each one-time purchase, four a day for a payment.
 */
const mostIn60Days = ({ lines }: Purchase): number => Math.max(240, 3 * 67 + 75 * lines.length);

test("sixty days without news make a bounded number of refreshes", () => {
  fc.assert(
    fc.property(purchase, moment, (one, from) => {
      let asked = 0;
      let at: number | undefined = from;
      while (at !== undefined && at <= from + 60 * DAY) {
        at = nextRefresh(one, at)?.at;
        asked += 1;
      }
      expect(asked).toBeLessThanOrEqual(mostIn60Days(one) + 1);
    }),
  );
});

test("a period that becomes known at its end or after it, without a word on its renewal, is asked about within seconds", () => {
  const late = fc.record({
    heard: fc.oneof(
      fc.integer({ min: -60 * 60 * 1000, max: 59 * DAY }),
      fc.integer({ min: -1000, max: 1000 }),
    ),
    length: fc.constantFrom(5 * 60 * 1000, 7 * DAY, 30 * DAY, 365 * DAY),
    wordBefore: orNull(fc.integer({ min: 1, max: 40 * DAY })),
    isRefunded: fc.boolean(),
    before: fc.constantFrom("nothing", "the period before it", "another end"),
  });
  fc.assert(
    fc.property(late, ({ heard, length, wordBefore, isRefunded, before }) => {
      const endsAt = NOW;
      const startsAt = endsAt - length;
      const verifiedAt = Math.max(endsAt + heard, startsAt);
      const older = aLine({
        transactionIdentifier: "1",
        startsAt: startsAt - length,
        endsAt: startsAt,
        verifiedAt: startsAt - length + 1,
      });
      const revokedAt = isRefunded ? startsAt + length / 2 : null;
      const last = aLine({ transactionIdentifier: "2", startsAt, endsAt, revokedAt, verifiedAt });
      // A word on the period before it is none on this one.
      const renewal =
        wordBefore === null
          ? null
          : aRenewal({ periodEndsAt: startsAt, signedAt: startsAt - Math.min(wordBefore, length) });
      const known = {
        nothing: null,
        "the period before it": aPurchase({ lines: [older], renewal }),
        "another end": aPurchase({ lines: [{ ...last, endsAt: endsAt + 5 * DAY }] }),
      }[before];
      const next = nextRefresh(aPurchase({ lines: [older, last], renewal }), verifiedAt, null, known);
      expect(next).not.toBeNull();
      expect((next?.at ?? 0) - verifiedAt).toBeLessThanOrEqual(5000);
    }),
  );
});

test("what was refunded is asked about as long as the refund's reversal would give access, at most a quarter apart", () => {
  const refunded = fc.record({
    nature: fc.constantFrom("non_consumable" as const, "non_renewing" as const, "auto_renewable" as const),
    /** Days from the start to the end, to the refund, and to the moment. */
    length: fc.constantFrom(7, 30, 365),
    refund: fc.integer({ min: 0, max: 390 }),
    later: fc.integer({ min: 0, max: 800 }),
    willRenew: orNull(fc.boolean()),
    isAnswer: fc.boolean(),
  });
  fc.assert(
    fc.property(refunded, ({ nature, length, refund, later, willRenew, isAnswer }) => {
      const isSubscription = nature === "auto_renewable";
      const endsAt = isSubscription ? NOW + length * DAY : null;
      const revokedAt = NOW + (isSubscription ? refund % length : refund) * DAY;
      const renewal =
        willRenew === null || endsAt === null
          ? null
          : aRenewal({ periodEndsAt: endsAt, willRenew, signedAt: revokedAt });
      const lines = [aLine({ nature, startsAt: NOW, endsAt, revokedAt, verifiedAt: revokedAt })];
      const after = revokedAt + later * DAY;
      const next = nextRefresh(aPurchase({ lines, renewal }), after, isAnswer ? after : null)?.at ?? Infinity;
      const givesUntil = {
        non_consumable: Infinity,
        non_renewing: NOW + 400 * DAY,
        auto_renewable: endsAt ?? 0,
      };
      const isSoonEnough = next <= Math.min(after + 91 * DAY, endsAt ?? Infinity);
      expect(isSoonEnough || after >= givesUntil[nature] - DAY).toBe(true);
    }),
  );
});

test("sixty days in which the store signs some facts anew with each answer, and says nothing else, are bounded alike", () => {
  fc.assert(
    fc.property(purchase, moment, fc.nat(63), (one, from, anew) => {
      /** The facts as an answer at the moment gives them; a fact that is not given stays as it was signed. */
      const answered = (facts: Purchase, at: number): Purchase => ({
        ...facts,
        lines: facts.lines.map((line, index) =>
          facts.store === "android-store" || (anew >> index) % 2 === 1
            ? { ...line, verifiedAt: Math.max(line.verifiedAt, at) }
            : line,
        ),
        renewal:
          facts.renewal === null || anew % 2 === 0
            ? facts.renewal
            : { ...facts.renewal, signedAt: Math.max(facts.renewal.signedAt, at) },
        verifiedAt: Math.max(facts.verifiedAt, at),
      });
      let facts = one;
      let asked = 0;
      let at = nextRefresh(facts, from)?.at;
      while (at !== undefined && at <= from + 60 * DAY && asked < 10_000) {
        facts = answered(facts, at);
        at = nextRefresh(facts, at, at)?.at;
        asked += 1;
      }
      expect(asked).toBeLessThanOrEqual(mostIn60Days(one) + 1);
    }),
    { numRuns: 2000 },
  );
});
