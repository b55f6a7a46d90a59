import { holdingsOf } from "../../lib/entitlements/holdings.ts";
import { joinPurchases } from "../../lib/entitlements/join.ts";
import { renewedPurchase, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { laterRenewal, sameRenewal, type Renewal } from "../../lib/entitlements/renewal.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { customerId } from "../../lib/identifiers.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  entitlementsAt,
  NOW,
} from "../../testing/support/purchases.ts";

const MINUTE = 60_000;
const END = NOW + 20 * DAY;
const CATALOG = aCatalog([aProduct(), aProduct({ productIdentifier: "yearly" })]);
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

const shownAt = (moment: number, purchases: readonly Purchase[], leeway = 0) => {
  const [shown] = entitlementsAt(
    moment,
    purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase })),
    CATALOG,
    leeway,
  );
  return shown;
};
const statusAt = (moment: number, purchase: Purchase, leeway = 0) =>
  shownAt(moment, [purchase], leeway)?.status;

const renewing = (renewal: Partial<Renewal>, ...lines: Line[]): Purchase =>
  aPurchase({ renewal: aRenewal(renewal), ...(lines.length > 0 && { lines }) });

const period = (transactionIdentifier: string, startsAt: number, endsAt: number, more: Partial<Line> = {}) =>
  aLine({ transactionIdentifier, startsAt, endsAt, verifiedAt: startsAt, ...more });

describe("a renewal info decides after the end of its period", () => {
  test.each([
    [
      "a grace period until its end",
      { graceEndsAt: END + 16 * DAY, isInBillingRetry: true },
      "grace_period",
      "billing_retry",
    ],
    [
      "a grace period that the store does not call a retry",
      { graceEndsAt: END + 16 * DAY },
      "grace_period",
      "expired",
    ],
    ["a billing retry", { isInBillingRetry: true }, "billing_retry", "billing_retry"],
    ["no renewal", { willRenew: false, expirationIntent: 1 }, "expired", "expired"],
    ["a renewal that did not come", {}, "expired", "expired"],
  ] as const)("by %s", (_, renewal, first, later) => {
    const purchase = renewing({ signedAt: END + 1, ...renewal });
    expect(statusAt(END - 1, purchase)).toBe("active");
    expect(statusAt(END, purchase)).toBe(first);
    expect(statusAt(END + 16 * DAY - 1, purchase)).toBe(first);
    expect(statusAt(END + 16 * DAY, purchase)).toBe(later);
  });

  test("by a grace period of which the store tells no end, for 28 days at most", () => {
    const purchase = renewing({ signedAt: END + 1, isInGrace: true, isInBillingRetry: true });
    expect(statusAt(END - 1, purchase)).toBe("active");
    expect(shownAt(END, [purchase])).toMatchObject({
      status: "grace_period",
      expiresAt: isoTime(END + 28 * DAY),
    });
    expect(statusAt(END + 28 * DAY - 1, purchase)).toBe("grace_period");
    expect(statusAt(END + 28 * DAY, purchase)).toBe("billing_retry");
    const dated = renewing({ signedAt: END + 1, isInGrace: true, graceEndsAt: END + 6 * DAY });
    expect(statusAt(END + 6 * DAY - 1, dated)).toBe("grace_period");
    expect(statusAt(END + 6 * DAY, dated)).toBe("expired");
  });

  test("with access until the end of the grace period, signed by whichever was signed later", () => {
    const purchase = renewing({ signedAt: END + 1, graceEndsAt: END + 6 * DAY });
    expect(shownAt(END + DAY, [purchase])).toMatchObject({
      active: true,
      expiresAt: isoTime(END + 6 * DAY),
      willRenew: true,
      lastVerifiedAt: isoTime(END + 1),
    });
  });

  test("with retries for 60 days at most", () => {
    const purchase = renewing({ signedAt: END + 1, isInBillingRetry: true });
    expect(statusAt(END + 60 * DAY - 1, purchase)).toBe("billing_retry");
    expect(statusAt(END + 60 * DAY, purchase)).toBe("expired");
  });

  test.each([
    ["with a grace period", { graceEndsAt: END }],
    ["without one", {}],
    ["in billing retry", { isInBillingRetry: true }],
  ])("but ends no subscription without an end, %s", (_, renewal) => {
    const endless = renewing({ periodEndsAt: null, ...renewal }, aLine({ endsAt: null }));
    expect(shownAt(END + 90 * DAY, [endless])).toMatchObject({
      status: "active",
      expiresAt: null,
      willRenew: true,
    });
  });

  test("unless the purchase was revoked", () => {
    const lines = [aLine({ revokedAt: NOW })];
    const purchase = renewing({ signedAt: END + 1, graceEndsAt: END + 6 * DAY }, ...lines);
    expect(statusAt(END + DAY, purchase)).toBe("revoked");
  });
});

describe("a renewal info speaks of one period", () => {
  const first = period("1", NOW - 10 * DAY, END);
  const second = period("2", END, END + 30 * DAY);
  const inRetry = { isInBillingRetry: true, signedAt: END + 1 };

  test("the one that ends at its renewal date, and does not darken a later one", () => {
    const recovered = renewing(inRetry, first, second);
    expect(statusAt(END + DAY, recovered)).toBe("active");
    expect(shownAt(END + DAY, [recovered])?.willRenew).toBeNull();
    expect(statusAt(END + 30 * DAY, recovered)).toBe("expired");
  });

  test("the last one that had begun when it was signed, where no period ends at its renewal date", () => {
    const unknownDate = renewing({ ...inRetry, periodEndsAt: END + 6 * DAY }, first);
    expect(statusAt(END + DAY, unknownDate)).toBe("billing_retry");
    expect(statusAt(END + DAY, renewing({ ...inRetry, periodEndsAt: null }, first))).toBe("billing_retry");
    const early = renewing({ ...inRetry, periodEndsAt: null, signedAt: END - 1 }, first, second);
    expect(statusAt(END + 30 * DAY, early)).toBe("expired");
  });

  test("never of one that began after it was signed", () => {
    const later = renewing({ ...inRetry, periodEndsAt: null, signedAt: first.startsAt ?? 0 }, second);
    expect(statusAt(END + 30 * DAY, later)).toBe("expired");
    expect(shownAt(END + DAY, [later])).toMatchObject({ status: "active", willRenew: null });
  });

  test("not of an upgraded one, although that has its end", () => {
    const upgraded = period("1", NOW - 10 * DAY, END, { standing: "expired", verifiedAt: NOW });
    const upgrade = period("2", NOW, END + 30 * DAY, { productIdentifier: "yearly" });
    const purchase = renewing({ periodEndsAt: END + 30 * DAY, signedAt: NOW + 1 }, upgraded, upgrade);
    expect(shownAt(NOW + DAY, [purchase])).toMatchObject({ productIdentifier: "yearly", willRenew: true });
  });

  test("although it took the place of a longer one, upgraded or refunded", () => {
    const said = { graceEndsAt: END + 16 * DAY, isInBillingRetry: true, signedAt: END + 1 };
    const monthly = period("2", NOW - 10 * DAY, END);
    for (const change of [
      {},
      { standing: "expired", verifiedAt: NOW - 10 * DAY },
      // An upgraded period ends at its signing at the latest, and this copy was signed in the grace period.
      { standing: "expired", verifiedAt: END + DAY },
      { revokedAt: NOW - 11 * DAY },
    ] as const) {
      const yearly = period("1", NOW - 20 * DAY, NOW + 345 * DAY, { productIdentifier: "yearly", ...change });
      expect(statusAt(END + 2 * DAY, renewing(said, yearly, monthly))).toBe("grace_period");
    }
  });

  test("whose grace period ends where the next period begins, refunded or not", () => {
    const refunded = { ...second, revokedAt: END + 3 * DAY };
    const purchase = renewing({ graceEndsAt: END + 16 * DAY, signedAt: END + 1 }, first, refunded);
    expect(statusAt(END + 4 * DAY, purchase)).toBe("revoked");
  });

  test("whose grace period does not outlive its replacement by another lineage", () => {
    const grace = renewing({ graceEndsAt: END + 16 * DAY, signedAt: END + 1 }, first);
    const replaced = { ...grace, replacedBy: aPurchase({ key: "9" }).key, replacedAt: END + DAY };
    expect(statusAt(END + DAY - 1, replaced)).toBe("grace_period");
    expect(statusAt(END + DAY, replaced)).toBeUndefined();
  });

  test("and an end that an upgrade cut short is final", () => {
    const upgrade = period("2", NOW, NOW + 10 * DAY, { productIdentifier: "yearly", revokedAt: NOW + DAY });
    const cut = renewing({ graceEndsAt: END + 16 * DAY, signedAt: NOW + DAY - 1 }, first, upgrade);
    expect(statusAt(END + DAY, cut)).toBe("revoked");
    // The store says since the refund that the first one goes on.
    const named = renewing({ graceEndsAt: END + 16 * DAY, signedAt: NOW + DAY }, first, upgrade);
    expect(statusAt(END + DAY, named)).toBe("grace_period");
  });
});

describe("a renewal that is charged a day ahead", () => {
  const CHARGED = END - DAY + 3_600_000;
  const said = { periodEndsAt: END + 30 * DAY, signedAt: CHARGED };
  const first = period("1", NOW - 10 * DAY, END);
  const ahead = (more: Partial<Line> = {}): Line =>
    period("2", END, END + 30 * DAY, { verifiedAt: CHARGED, ...more });
  const shown = (renewal: Partial<Renewal>, ...lines: readonly Line[]) =>
    shownAt(CHARGED + 1, [renewing({ ...said, ...renewal }, first, ...lines)]);

  test("leaves no doubt that the running period renews, and is the store's last word", () => {
    const running = { status: "active", expiresAt: isoTime(END), willRenew: true };
    expect(shown({}, ahead())).toMatchObject({ ...running, lastVerifiedAt: isoTime(CHARGED) });
    expect(shown({ willRenew: false }, ahead())).toMatchObject(running);
  });
  test("leaves no doubt of it either where a change of product was due", () => {
    const purchase = renewing(said, first, ahead({ productIdentifier: "yearly" }));
    expect(shownAt(CHARGED + 1, [purchase])).toMatchObject({ expiresAt: isoTime(END), willRenew: true });
  });
  test.each([true, false])(
    "leaves the store's word where it was refunded before it began: %s",
    (willRenew) => {
      const refunded = ahead({ revokedAt: CHARGED + 1, revokedSince: CHARGED + 1, verifiedAt: CHARGED + 1 });
      const purchase = renewing({ periodEndsAt: END, signedAt: CHARGED + 2, willRenew }, first, refunded);
      expect(shownAt(CHARGED + 2, [purchase])).toMatchObject({ status: "active", willRenew });
    },
  );
  test("is followed by its own word", () => {
    const purchase = renewing({ ...said, willRenew: false }, first, ahead());
    expect(shownAt(END, [purchase])).toMatchObject({
      status: "active",
      expiresAt: isoTime(END + 30 * DAY),
      willRenew: false,
    });
  });
  test.each<[what: string, next: Line]>([
    ["was refunded", ahead({ revokedAt: CHARGED, revokedSince: CHARGED })],
    ["was upgraded", ahead({ standing: "expired" })],
    ["begins later", ahead({ startsAt: END + 1 })],
    ["was restored after its end", ahead({ endsAt: END })],
    ["is a pass", ahead({ nature: "non_renewing", endsAt: null })],
  ])("does not speak of the running period where it %s", (_, next) => {
    expect(shownAt(CHARGED + 1, [aPurchase({ lines: [first, next] })])).toMatchObject({
      productIdentifier: first.productIdentifier,
      willRenew: null,
    });
  });
  test("does not outdate the running period's own signing", () => {
    const signedAgain = { ...first, verifiedAt: CHARGED + 1 };
    const purchase = renewing(said, signedAgain, ahead());
    expect(shownAt(CHARGED + 2, [purchase])?.lastVerifiedAt).toBe(isoTime(CHARGED + 1));
  });
  test("says nothing of a period that ended early, nor of a pass", () => {
    const upgrade = period("3", END - 10 * DAY, END + 355 * DAY, { productIdentifier: "yearly" });
    const cut = renewing({}, first, upgrade, ahead({ verifiedAt: END }));
    const [left] = entitlementsAt(
      END - DAY,
      [{ customerIdentifier: SOMEBODY, assertedBy: null, purchase: cut }],
      aCatalog([aProduct()]),
    );
    expect(left).toMatchObject({ expiresAt: isoTime(END - 10 * DAY), willRenew: null });
  });
});

describe("the renewal leeway", () => {
  const LEEWAY = 15 * MINUTE;

  test("keeps a subscription that was to be renewed active while the store is silent", () => {
    const purchase = renewing({});
    expect(shownAt(END + LEEWAY - 1, [purchase], LEEWAY)).toMatchObject({
      status: "active",
      expiresAt: isoTime(END),
    });
    expect(statusAt(END + LEEWAY, purchase, LEEWAY)).toBe("expired");
    expect(statusAt(END, purchase)).toBe("expired");
  });

  test.each([
    ["that it does not renew", { willRenew: false }, "expired"],
    ["after the end that it is over", { signedAt: END, willRenew: false }, "expired"],
    ["after the end why it is over", { signedAt: END, expirationIntent: 2 }, "expired"],
    ["after the end that the grace period is over", { signedAt: END, graceEndsAt: END + 1 }, "expired"],
    ["after the end that a payment is retried", { signedAt: END, isInBillingRetry: true }, "billing_retry"],
    ["that a grace period runs", { graceEndsAt: END + DAY }, "grace_period"],
  ] as const)("is for its silence: not where it said %s", (_, renewal, status) => {
    expect(statusAt(END + 1, renewing(renewal), LEEWAY)).toBe(status);
  });

  test("is for the word after the end that it will renew, and nothing else: the renewal is not made yet", () => {
    const purchase = renewing({ signedAt: END + 1 });
    expect(statusAt(END + LEEWAY - 1, purchase, LEEWAY)).toBe("active");
    expect(statusAt(END + LEEWAY, purchase, LEEWAY)).toBe("expired");
  });

  test("is not for a subscription of which it never said that it renews", () => {
    expect(statusAt(END, aPurchase(), LEEWAY)).toBe("expired");
  });

  test("is for a transaction that is signed again after the end: that says nothing of the renewal", () => {
    expect(statusAt(END + 1, renewing({}, aLine({ verifiedAt: END + 1 })), LEEWAY)).toBe("active");
    const retried = renewing({ isInBillingRetry: true }, aLine({ verifiedAt: END + 1 }));
    expect(statusAt(END + 1, retried, LEEWAY)).toBe("active");
  });

  test("is not ended by the word of a later end, before that period's transaction is known", () => {
    const renewed = { periodEndsAt: END + 30 * DAY, signedAt: END + 1 };
    expect(statusAt(END + LEEWAY - 1, renewing(renewed), LEEWAY)).toBe("active");
    expect(statusAt(END + LEEWAY, renewing(renewed), LEEWAY)).toBe("expired");
    expect(statusAt(END + 1, renewing({ ...renewed, willRenew: false }), LEEWAY)).toBe("active");
    expect(statusAt(END + 1, renewing({ ...renewed, isInBillingRetry: true }), LEEWAY)).toBe("billing_retry");
  });

  test("does not keep what was renewed and refunded", () => {
    const refunded = period("2", END, END + 30 * DAY, { revokedAt: END + 1 });
    expect(statusAt(END + 2, renewing({}, aLine(), refunded), LEEWAY)).toBe("revoked");
  });

  const ofGoogle = (line: Partial<Line>) =>
    aPurchase({
      store: "android-store",
      lines: [
        aLine({
          transactionIdentifier: null,
          willRenew: true,
          verifiedAt: NOW,
          productIdentifier: "premium",
          ...line,
        }),
      ],
    });
  const GOOGLE = aCatalog([aProduct({ store: "android-store", productIdentifier: "premium" })]);
  const ofGoogleAt = (moment: number, line: Partial<Line>) =>
    entitlementsAt(
      moment,
      [{ customerIdentifier: SOMEBODY, assertedBy: null, purchase: ofGoogle(line) }],
      GOOGLE,
      LEEWAY,
    )[0]?.status;

  test.each([
    ["entitled", "active"],
    ["grace_period", "grace_period"],
  ] as const)("is for Google's silence too: %s", (standing, status) => {
    expect(ofGoogleAt(END + LEEWAY - 1, { standing })).toBe(status);
    expect(ofGoogleAt(END + LEEWAY, { standing })).toBe("expired");
    expect(ofGoogleAt(END, { standing, willRenew: false })).toBe("expired");
  });

  test("gives way to Google's silent day: what Google says after the end decides", () => {
    expect(ofGoogleAt(END + 2 * DAY - 1, { verifiedAt: END })).toBe("active");
    expect(ofGoogleAt(END + 2 * DAY, { verifiedAt: END })).toBe("expired");
  });
});

describe("renewal infos are joined", () => {
  const earlier = aRenewal({ signedAt: NOW - 2 });
  const later = aRenewal({ signedAt: NOW - 1, willRenew: false });

  test("so that the later signed one counts, in any order", () => {
    expect(laterRenewal(earlier, later)).toBe(later);
    expect(laterRenewal(later, earlier)).toBe(later);
    expect(laterRenewal(null, earlier)).toBe(earlier);
    expect(laterRenewal(earlier, null)).toBe(earlier);
    expect(laterRenewal(null, null)).toBeNull();
  });

  test.each([
    ["periodEndsAt", END + 1],
    ["willRenew", false],
    ["renewsInto", "yearly"],
    ["graceEndsAt", END + 1],
    ["isInBillingRetry", true],
    ["expirationIntent", 2],
  ] as const)("deterministically where two of one moment differ in %s", (field, value) => {
    const other = { ...earlier, [field]: value };
    expect(sameRenewal(earlier, other)).toBe(false);
    expect(laterRenewal(earlier, other)).toBe(laterRenewal(other, earlier));
  });

  test("of one moment with the word of a grace period, which an app does not have", () => {
    const bare = aRenewal({ isInBillingRetry: true });
    const said = { ...bare, isInGrace: true };
    expect([laterRenewal(bare, said), laterRenewal(said, bare)]).toEqual([said, said]);
    const after = { ...bare, signedAt: bare.signedAt + 1 };
    expect([laterRenewal(after, said), laterRenewal(said, after)]).toEqual([after, after]);
  });

  test("of one moment by the greater text", () => {
    const early = aRenewal({ periodEndsAt: END });
    const late = aRenewal({ periodEndsAt: END + 1 });
    expect([laterRenewal(early, late), laterRenewal(late, early)]).toEqual([late, late]);
  });

  test("with their lineage, of whose products they select none", () => {
    const purchase = aPurchase({ selectedProducts: null });
    const said = renewedPurchase(purchase, later);
    expect(joinPurchases(purchase, said)).toEqual({ ...purchase, renewal: later });
    expect(joinPurchases(said, purchase)).toEqual({ ...purchase, renewal: later });
  });

  test("and held with their lineage", () => {
    const purchase = renewing({});
    expect(holdingsOf([purchase], CATALOG)).toEqual([purchase]);
    expect(sameRenewal(purchase.renewal, aRenewal())).toBe(true);
    expect(sameRenewal(purchase.renewal, null)).toBe(false);
    expect(sameRenewal(null, purchase.renewal)).toBe(false);
  });
});
