import { nextChangeAt } from "../../lib/entitlements/next-change.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
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

const HOUR = 3_600_000;
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");
const CATALOG = aCatalog([
  aProduct({ productIdentifier: "basic", grants: ["premium"] }),
  aProduct({ productIdentifier: "plus", grants: ["premium"] }),
]);

/** Start of a renewal that is charged 20 hours ahead of it. */
const START = NOW;
const CHARGED = START - 20 * HOUR;
const renewal = aLine({
  transactionIdentifier: "12",
  event: "w12",
  productIdentifier: "basic",
  startsAt: START,
  purchasedAt: START,
  endsAt: START + 30 * DAY,
  verifiedAt: CHARGED,
});
const before = (more: Partial<Line> = {}): Line => ({
  ...renewal,
  transactionIdentifier: "11",
  event: "w11",
  startsAt: START - 30 * DAY,
  purchasedAt: START - 30 * DAY,
  endsAt: START,
  verifiedAt: START - 30 * DAY,
  ...more,
});
const lineage = (lines: readonly Line[], more: Partial<Purchase> = {}): Purchase =>
  aPurchase({ key: purchaseKey("1"), lines, ...more });
const holdingOf = (purchase: Purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase });
const at = (moment: number, purchase: Purchase) => entitlementsAt(moment, [holdingOf(purchase)], CATALOG);

describe("a renewal that was charged ahead of time, while the running period is not known,", () => {
  test.each<[what: string, lines: readonly Line[]]>([
    ["where it is all that is known", [renewal]],
    [
      "where periods in between are missing",
      [before({ startsAt: START - 90 * DAY, endsAt: START - 60 * DAY }), renewal],
    ],
    ["where it is of another product", [{ ...renewal, productIdentifier: "plus" }]],
    [
      "where the person left a longer plan months ago",
      [
        before({ productIdentifier: "plus", startsAt: START - 100 * DAY, endsAt: START + 265 * DAY }),
        before({ transactionIdentifier: "10", startsAt: START - 90 * DAY, endsAt: START - 60 * DAY }),
        renewal,
      ],
    ],
    [
      "where a longer plan was refunded months ago",
      [
        before({
          productIdentifier: "plus",
          startsAt: START - 100 * DAY,
          endsAt: START + 265 * DAY,
          verifiedAt: START - 80 * DAY,
          revokedAt: START - 80 * DAY,
          revokedSince: START - 80 * DAY,
        }),
        renewal,
      ],
    ],
  ])("gives access from the charge on: %s", (_, lines) => {
    const active = { status: "active", active: true, startsAt: null, expiresAt: isoTime(START + 30 * DAY) };
    for (const moment of [CHARGED, START - 1]) expect(at(moment, lineage(lines))).toMatchObject([active]);
    expect(at(START, lineage(lines))).toMatchObject([{ ...active, startsAt: isoTime(START) }]);
    expect(at(START + 30 * DAY, lineage(lines))).toMatchObject([{ status: "expired" }]);
  });
  test("gives none long before the charge", () => {
    expect(at(CHARGED - 60_001, lineage([renewal]))).toEqual([]);
  });
  test("changes the answer again at its start, which is then shown", () => {
    const terms = { catalog: CATALOG, renewalLeeway: 0 };
    expect(nextChangeAt(CHARGED, [holdingOf(lineage([renewal]))], terms)).toBe(START);
  });
  test("gives access where another lineage replaced this one once, and the person came back since", () => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: CHARGED - 49 * HOUR };
    expect(at(CHARGED, lineage([renewal], replaced))).toMatchObject([{ status: "active" }]);
    const just = { ...replaced, replacedAt: CHARGED - 48 * HOUR };
    expect(at(CHARGED, lineage([renewal], just))).toEqual([]);
  });
  test("goes on in the period itself once that is known", () => {
    expect(at(START - HOUR, lineage([before(), renewal]))).toMatchObject([
      { status: "active", startsAt: isoTime(START - 30 * DAY), expiresAt: isoTime(START), willRenew: true },
    ]);
  });
  test("speaks for itself in its renewal info", () => {
    const said = aRenewal({ periodEndsAt: START + 30 * DAY, signedAt: CHARGED });
    expect(at(START - 1, lineage([renewal], { renewal: said }))).toMatchObject([
      { status: "active", startsAt: null, willRenew: true },
    ]);
  });

  test.each<[what: string, lines: readonly Line[]]>([
    [
      "the running period is known, and refunded",
      [before({ revokedAt: START - DAY, standing: "revoked", revokedSince: START - DAY }), renewal],
    ],
    [
      "the running period is known, and was refunded long before the charge",
      [before({ revokedAt: START - 6 * DAY, standing: "revoked", revokedSince: START - 6 * DAY }), renewal],
    ],
    [
      "it was refunded itself",
      [{ ...renewal, revokedAt: CHARGED, standing: "revoked", revokedSince: CHARGED }],
    ],
    ["it was upgraded", [{ ...renewal, standing: "expired" }]],
    ["it is the first transaction of its lineage", [{ ...renewal, transactionIdentifier: "1" }]],
    ["it was signed at its start", [{ ...renewal, verifiedAt: START }]],
  ])("gives no access before its start where %s", (_, lines) => {
    expect(at(START - 60_001, lineage(lines)).filter(({ active }) => active)).toEqual([]);
  });
  test("gives none in Xcode, where ids tell nothing", () => {
    expect(at(START - 60_001, lineage([renewal], { environment: "xcode" }))).toEqual([]);
  });
});
