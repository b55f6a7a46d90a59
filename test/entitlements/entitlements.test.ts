import * as z from "zod/mini";
import { customerEntitlement, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { entitlementsAt, nextChangeAt } from "../../lib/entitlements/entitlements.ts";
import type { Holding } from "../../lib/entitlements/timeline.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  NOW,
} from "../../testing/support/stores/purchases.ts";
import { at, CATALOG, CUSTOMER, held, LEEWAY, MINUTE, termsOf } from "./history.ts";

const answer = (purchases: readonly Purchase[], catalog = CATALOG, moment = NOW): CustomerEntitlement[] =>
  entitlementsAt(moment, held(...purchases), termsOf(catalog));

describe("an entry", () => {
  test("has exactly the fourteen fields, in their documented types", () => {
    const [entitlement] = answer([aPurchase()]);
    expect(entitlement).toEqual({
      identifier: "premium",
      displayName: "Premium",
      productIdentifier: "monthly",
      environment: "production",
      status: "active",
      active: true,
      startsAt: isoTime(at(-10)),
      expiresAt: isoTime(at(20)),
      revokedAt: null,
      lastVerifiedAt: isoTime(NOW - 1000),
      store: "ios-store",
      productKind: "subscription",
      customerIdentifier: CUSTOMER,
      willRenew: null,
    });
    expect(z.strictObject(customerEntitlement().shape).safeParse(entitlement).error).toBeUndefined();
  });

  const lifetime = { productIdentifier: "forever", nature: "non_consumable", endsAt: null } as const;
  const refunded = isoTime(at(-1));
  test.each<[what: string, line: Partial<Line>, expected: Partial<CustomerEntitlement>]>([
    ["a lifetime has no end", lifetime, { productKind: "one_time_product", active: true, expiresAt: null }],
    [
      "a refund shows its time, and ends the access",
      { revokedAt: at(-1) },
      { status: "revoked", active: false, expiresAt: refunded, revokedAt: refunded },
    ],
    ["a refund to come is not shown", { revokedAt: at(1) }, { status: "active", revokedAt: null }],
    ["a start after the end is not shown", { startsAt: at(-1), endsAt: at(-2) }, { startsAt: null }],
  ])("%s", (_, line, expected) => {
    expect(answer([aPurchase({ lines: [aLine(line)] })])).toMatchObject([expected]);
  });

  test("shows what the renewal info says, and the identifier where there is no name", () => {
    const renewal = aRenewal({ willRenew: false, signedAt: NOW });
    const unnamed = aCatalog([aProduct()], {});
    expect(answer([aPurchase({ renewal })], unnamed)).toMatchObject([
      { displayName: "premium", willRenew: false, lastVerifiedAt: isoTime(NOW) },
    ]);
  });
});

describe("the answer", () => {
  test("has an entry for each entitlement of a product, sorted by identifier", () => {
    const catalog = aCatalog([aProduct({ grants: ["z", "a", "Z"] })]);
    expect(answer([aPurchase()], catalog).map(({ identifier }) => identifier)).toEqual(["Z", "a", "z"]);
  });

  test("has no entry before a minute ahead of the start", () => {
    const purchase = aPurchase({ lines: [aLine({ startsAt: NOW })] });
    expect(answer([purchase], CATALOG, NOW - MINUTE - 1)).toEqual([]);
    expect(answer([purchase], CATALOG, NOW - MINUTE)).toMatchObject([{ active: true }]);
  });
});

const toldAt = (moment: Instant, holdings: readonly Holding[]) =>
  entitlementsAt(moment, holdings, termsOf()).map((entry) => ({ ...entry, lastVerifiedAt: null }));

describe("the next change of the answer by time alone", () => {
  /** Expects these changes, in days from now, in this order and no other. */
  const expectChanges = (purchases: readonly Purchase[], ...expected: readonly Instant[]): void => {
    const holdings = held(...purchases);
    let before = NOW;
    for (const change of expected) {
      for (const moment of [before, change - 1])
        expect(nextChangeAt(moment, holdings, termsOf())).toBe(change);
      expect(toldAt(change, holdings)).not.toEqual(toldAt(change - 1, holdings));
      before = change;
    }
    expect(nextChangeAt(before, holdings, termsOf())).toBeNull();
  };
  const pass = (key: string, startsAt = NOW): Purchase => {
    const line = { productIdentifier: "pass", nature: "non_renewing", endsAt: null } as const;
    return aPurchase({ key, lines: [aLine({ transactionIdentifier: key, ...line, startsAt })] });
  };
  const FOREVER = aPurchase({
    key: "forever",
    lines: [aLine({ productIdentifier: "forever", nature: "non_consumable", endsAt: null })],
  });
  const another = (line: Partial<Line>, more: Partial<Purchase> = {}) =>
    aPurchase({ lines: [aLine({ transactionIdentifier: "2", ...line })], ...more, key: "2" });
  const END = at(20);
  const startingAt = (days: number) => aPurchase({ lines: [aLine({ startsAt: at(days) })] });
  const google = { store: "android-store" } as const;
  const silent = { transactionIdentifier: null, willRenew: true } as const;
  test.each<[rule: string, purchases: readonly Purchase[], changes: readonly Instant[]]>([
    ["is none without purchases", [], []],
    ["is a minute before the start, then the end", [startingAt(1)], [at(1) - MINUTE, END]],
    [
      "is the end of the leeway, and not the end before",
      [aPurchase({ renewal: aRenewal() })],
      [END + LEEWAY],
    ],
    ["is none of what another outlasts", [aPurchase(), another({ endsAt: at(1) })], [END]],
    [
      "is where the next pass begins, a minute early",
      [pass("1"), pass("2", NOW + 1)],
      [at(1) - MINUTE, at(2)],
    ],
    [
      "is none of `lastVerifiedAt` alone",
      [another({ ...silent, verifiedAt: END }, google), aPurchase({ ...google, lines: [aLine(silent)] })],
      [at(22)],
    ],
  ])("%s", (_, purchases, changes) => {
    expectChanges(purchases, ...changes);
  });

  test("beside fifty boundaries that change nothing is one of them", () => {
    const passes = (count: number) =>
      Array.from({ length: count }, (_, index) => pass(`p${index}`, NOW + index));
    // Each pass has an end, and the start of the next is a minute before it.
    expect(nextChangeAt(NOW, held(FOREVER, ...passes(25)), termsOf())).toBeNull();
    const next = nextChangeAt(NOW, held(FOREVER, ...passes(26)), termsOf());
    expect(next).toBe(at(26));
    expect(nextChangeAt(next ?? 0, held(FOREVER, ...passes(26)), termsOf())).toBeNull();
    const maps = another({ productIdentifier: "maps", endsAt: at(300) });
    expect(nextChangeAt(NOW, held(maps, FOREVER, ...passes(26)), termsOf())).toBe(at(26));
    expect(nextChangeAt(at(26), held(maps, FOREVER, ...passes(26)), termsOf())).toBe(at(300));
  });
});
