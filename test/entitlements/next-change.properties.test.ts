import fc from "fast-check";
import type { Environment } from "../../lib/contract/schemas.ts";
import type { CatalogProduct } from "../../lib/entitlements/catalog.ts";
import type { Terms } from "../../lib/entitlements/grants.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import { nextChangeAt } from "../../lib/entitlements/next-change.ts";
import { STANDINGS, type Line, type Nature } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  NOW,
  period,
} from "../../testing/support/purchases.ts";

const MINUTE = 60_000;
const HALF_DAY = DAY / 2;

/** The leeways, Google's silent grace period and the App Store's retries. */
const DELAYS = [15 * MINUTE, DAY, 2 * DAY, 60 * DAY];
const LEEWAYS = [0, 15 * MINUTE, DAY];

/** Half-days around now, so that times often meet, sometimes a little beside, or a delay away. */
const instant: fc.Arbitrary<number> = fc
  .record({
    halfDays: fc.integer({ min: -40, max: 40 }),
    beside: fc.constantFrom(0, 0, 0, -1, 1, MINUTE, -MINUTE, 15 * MINUTE, 2 * DAY),
  })
  .map(({ halfDays, beside }) => NOW + halfDays * HALF_DAY + beside);
const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const NATURES_OF: Readonly<Record<string, Nature>> = {
  monthly: "auto_renewable",
  yearly: "auto_renewable",
  unmapped: "auto_renewable",
  season: "non_renewing",
  day: "consumable",
  forever: "non_consumable",
};
const MAPPED = ["monthly", "yearly", "season", "day", "forever"];

const rarely = <T, U>(rare: fc.Arbitrary<T>, usual: fc.Arbitrary<U>): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 1, arbitrary: rare }, { weight: 7, arbitrary: usual });
const none = fc.constant(null);

const line: fc.Arbitrary<Line> = fc
  .record({
    transactionIdentifier: pick("1", "2", "3", "4", "5", "6"),
    event: pick("a", "b", "c", "d", "e", "until 1"),
    productIdentifier: pick(...Object.keys(NATURES_OF)),
    standing: rarely(pick(...STANDINGS), pick("entitled" as const)),
    startsAt: rarely(none, instant),
    length: rarely(pick(null, -HALF_DAY, 0, 1), pick(HALF_DAY, DAY, 3 * DAY, 10 * DAY)),
    revokedAt: rarely(instant, none),
    refundedBy: rarely(instant, none),
    revokedSince: rarely(instant, none),
    units: rarely(pick([3, 0, 0], [3, 1, 0], [3, 1, 1]), pick([1, 0, 0], [1, 0, 1])),
    rented: rarely(pick(true), pick(false)),
    willRenew: rarely(pick(null, false), pick(true)),
    /** Whether it was verified last after its end, or how long before. */
    verified: pick(-DAY, -HALF_DAY, -1, 0, 1, HALF_DAY),
  })
  .map(({ length, units: [quantity = 1, refundedQuantity = 0, leastRefunded = 0], verified, ...one }) => {
    const nature = NATURES_OF[one.productIdentifier] ?? "consumable";
    const endsAt = length === null ? null : (one.startsAt ?? NOW) + length;
    return aLine({
      ...one,
      nature,
      purchasedAt: one.startsAt,
      endsAt: nature === "auto_renewable" ? endsAt : null,
      quantity,
      refundedQuantity,
      leastRefunded,
      verifiedAt: (endsAt ?? NOW) + verified,
    });
  });

interface RenewalScript {
  readonly spokenOf: number;
  readonly date: "end" | "later" | "absent";
  readonly willRenew: boolean;
  readonly grace: number | null;
  readonly isInBillingRetry: boolean;
  readonly expirationIntent: number | null;
  /** From the end. */
  readonly signed: number;
}

const renewalScript: fc.Arbitrary<RenewalScript> = fc.record({
  spokenOf: fc.nat(3),
  date: pick("end", "end", "end", "later", "absent"),
  willRenew: pick(true, true, false),
  grace: pick(null, null, MINUTE, HALF_DAY, 16 * DAY, 61 * DAY),
  isInBillingRetry: fc.boolean(),
  expirationIntent: pick(null, null, 2),
  signed: pick(-DAY, -1, 0, 1, DAY),
});

const renewalOf = (lines: readonly Line[], script: RenewalScript): Renewal | null => {
  const { spokenOf, date, grace, signed, ...said } = script;
  const endsAt = lines[spokenOf % Math.max(1, lines.length)]?.endsAt ?? null;
  return endsAt === null
    ? null
    : aRenewal({
        ...said,
        periodEndsAt: date === "absent" ? null : date === "later" ? endsAt + 30 * DAY : endsAt,
        graceEndsAt: grace === null ? null : endsAt + grace,
        signedAt: endsAt + signed,
      });
};

const KEYS = ["1", "2", "3", "4"].map(purchaseKey);

const holding: fc.Arbitrary<Holding> = fc
  .record({
    customer: pick("1", "1", "1", "2"),
    assertedBy: pick(null, "client" as const, "credential" as const),
    store: pick("ios-store" as const, "ios-store" as const, "android-store" as const),
    environment: rarely<Environment, Environment>(pick("sandbox", "xcode"), pick("production")),
    key: pick(...KEYS),
    lines: fc.uniqueArray(line, {
      selector: ({ transactionIdentifier }) => transactionIdentifier,
      minLength: 1,
      maxLength: 3,
    }),
    renewal: pick(true, true, false),
    script: renewalScript,
    selectedProducts: rarely(fc.subarray(["season", "day", "forever"]), none),
    replacedBy: pick(...KEYS),
    replacedAt: rarely(pick("whole" as const), fc.option(instant, { nil: null, freq: 3 })),
  })
  .map(
    ({ customer, assertedBy, store, key, lines, renewal, script, replacedBy, replacedAt, ...purchase }) => {
      const isIos = store === "ios-store";
      return {
        customerIdentifier: customerId(`00000000-0000-7000-8000-00000000000${customer}`),
        assertedBy,
        purchase: aPurchase({
          ...purchase,
          store,
          key,
          environment: !isIos && purchase.environment === "xcode" ? "sandbox" : purchase.environment,
          renewal: isIos && renewal ? renewalOf(lines, script) : null,
          replacedBy: replacedAt === null ? null : replacedBy,
          replacedAt: replacedAt === "whole" ? null : replacedAt,
          lines: isIos ? lines : lines.map((one) => ({ ...one, transactionIdentifier: null, event: null })),
        }),
      };
    },
  );

const holdings = fc.uniqueArray(holding, {
  selector: ({ purchase: { store, environment, key } }) => `${store} ${environment} ${key}`,
  maxLength: 3,
});

const terms: fc.Arbitrary<Terms> = fc
  .record({
    durations: fc.array(pick(null, "PT12H", "P1D", "P1M", "P1M1D"), { minLength: 10, maxLength: 10 }),
    grants: fc.array(pick(["premium"], ["premium"], ["pro", "premium"], ["maps"]), {
      minLength: 10,
      maxLength: 10,
    }),
    renewalLeeway: pick(...LEEWAYS),
  })
  .map(({ durations, grants, renewalLeeway }) => ({
    renewalLeeway,
    catalog: aCatalog(
      (["ios-store", "android-store"] as const).flatMap((store, half) =>
        MAPPED.map((productIdentifier, index): CatalogProduct => {
          const place = half * MAPPED.length + index;
          const duration = durations[place] ?? null;
          return aProduct({
            store,
            productIdentifier,
            grants: grants[place] ?? [],
            accessDuration: duration === null ? null : period(duration),
          });
        }),
      ),
    ),
  }));

const toldAt = (moment: number, held: readonly Holding[], by: Terms): string =>
  JSON.stringify(
    entitlementsAt(moment, held, by).map((entitlement) => ({ ...entitlement, lastVerifiedAt: null })),
  );

/** Every time in the facts. */
const timesIn = (value: unknown): number[] =>
  typeof value === "number"
    ? value > 1_000_000
      ? [value]
      : []
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(timesIn)
      : [];

const FROM = NOW - 60 * DAY;
const UNTIL = NOW + 140 * DAY;

/** Moments at and just before each time in the facts, a minute before it and each delay after it; and each half-day. */
const momentsAround = (held: readonly Holding[]): number[] => {
  const times = [...new Set(timesIn(held.map(({ purchase }) => purchase)))];
  const near = times.flatMap((time) => [-MINUTE, 0, ...DELAYS].map((delay) => time + delay));
  const spread = Array.from({ length: (UNTIL - FROM) / HALF_DAY }, (_, index) => FROM + index * HALF_DAY);
  return [...new Set([...near.flatMap((time) => [time - 1, time]), ...spread]), UNTIL + 10_000 * DAY]
    .filter((moment) => moment >= FROM)
    .sort((a, b) => a - b);
};

/** Instants at which the answer changes, from a moment on. */
const changesFrom = (moment: number, held: readonly Holding[], by: Terms): number[] => {
  const changes: number[] = [];
  const most = 6 * held.flatMap(({ purchase }) => purchase.lines).length + held.length;
  let next = nextChangeAt(moment, held, by);
  while (next !== null) {
    expect(next).toBeGreaterThan(changes.at(-1) ?? moment);
    changes.push(next);
    expect(changes.length).toBeLessThanOrEqual(most);
    next = nextChangeAt(next, held, by);
  }
  return changes;
};

test(
  "the answer stays the same up to the next change and changes there; the changes are few and come to an end",
  () => {
    fc.assert(
      fc.property(holdings, terms, (held, by) => {
        const changes = changesFrom(FROM, held, by);
        const borders = [FROM, ...changes];
        const told = borders.map((moment) => toldAt(moment, held, by));
        for (const [index, change] of changes.entries()) {
          expect(told[index + 1]).not.toBe(told[index]);
          expect(toldAt(change - 1, held, by)).toBe(told[index]);
          expect(nextChangeAt(change - 1, held, by)).toBe(change);
        }
        const differing = momentsAround(held).filter((moment) => {
          const last = borders.findLastIndex((border) => border <= moment);
          return toldAt(moment, held, by) !== told[last];
        });
        expect(differing).toEqual([]);
      }),
      cases(300, 20_000),
    );
  },
  TIMEOUT,
);

test(
  "the order of the purchases makes no difference",
  () => {
    fc.assert(
      fc.property(holdings, terms, instant, (held, by, moment) => {
        expect(nextChangeAt(moment, held.toReversed(), by)).toBe(nextChangeAt(moment, held, by));
      }),
      cases(300, 20_000),
    );
  },
  TIMEOUT,
);
