import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/transaction.ts";
import type { Nature } from "../../../lib/entitlements/purchase.ts";
import { ACCOUNT, aVerifiedTransaction } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { signedInXcode } from "./as-signed.ts";

const provenOf = (fields: Partial<Transaction> = {}) => purchasesOf([aVerifiedTransaction(fields)])[0];
const lineOf = (fields: Partial<Transaction> = {}) => provenOf(fields)?.purchase.lines[0];

describe("the purchase of a transaction", () => {
  test("is its lineage with one line", () => {
    expect(purchasesOf([aVerifiedTransaction()])).toEqual([
      {
        purchase: {
          store: "ios-store",
          environment: "production",
          key: "700000000000001",
          lines: [
            {
              transactionIdentifier: "700000000000002",
              event: `until ${NOW + 20 * DAY}`,
              productIdentifier: "com.example.trails.premium.monthly",
              basePlanIdentifier: null,
              purchaseOptionIdentifier: null,
              nature: "auto_renewable",
              standing: "entitled",
              startsAt: NOW - 10 * DAY,
              purchasedAt: NOW - 10 * DAY,
              endsAt: NOW + 20 * DAY,
              revokedAt: null,
              revokedSince: null,
              quantity: 1,
              refundedQuantity: 0,
              rented: false,
              willRenew: null,
              verifiedAt: NOW - 1000,
            },
          ],
          selectedProducts: null,
          replacedBy: null,
          replacedAt: null,
          renewal: null,
          verifiedAt: NOW - 1000,
        },
        mentioned: [],
        identity: {
          store: "ios-store",
          kind: "app-transaction",
          environment: "production",
          value: ACCOUNT,
        },
      },
    ]);
  });
  test("names the Apple Account that any of its transactions names", () => {
    const lineage = [null, ACCOUNT].map((appTransactionIdentifier) =>
      aVerifiedTransaction({ appTransactionIdentifier }),
    );
    expect(purchasesOf(lineage)[0]?.identity?.value).toBe(ACCOUNT);
  });
  test.each([
    ["the start of its period", {}, NOW - 10 * DAY],
    ["its end, where a copy was restored later", { purchasedAt: NOW + 30 * DAY }, NOW + 20 * DAY],
    ["its purchase, where it has no end", { expiresAt: null }, NOW - 10 * DAY],
  ])("replaces the lineage before from %s on", (_, fields, replacedAt) => {
    const previousOriginalTransactionIdentifier = "700000000000009";
    expect(provenOf({ previousOriginalTransactionIdentifier, ...fields })?.mentioned).toMatchObject([
      { key: previousOriginalTransactionIdentifier, lines: [], replacedBy: "700000000000001", replacedAt },
    ]);
  });
  test("names no identity but its lineage without an app transaction", () => {
    expect(provenOf({ appTransactionIdentifier: null })?.identity).toBeNull();
    expect(provenOf({ environment: "xcode", xcodeCertificate: "ab" })?.identity).toBeNull();
  });
  test.each([
    ["auto_renewable", NOW - 10 * DAY],
    ["consumable", NOW - 10 * DAY],
    ["non_renewing", NOW - 90 * DAY],
    ["non_consumable", NOW - 90 * DAY],
  ] as const)("starts at the original purchase for one-time and non-renewing: %s", (nature, startsAt) => {
    expect(lineOf({ nature, originalPurchasedAt: NOW - 90 * DAY })).toMatchObject({
      startsAt,
      purchasedAt: NOW - 10 * DAY,
    });
    expect(lineOf({ nature })).toMatchObject({ startsAt: NOW - 10 * DAY });
  });
  test.each([
    ["auto_renewable", { webOrderLineItemIdentifier: "9" }, "9"],
    ["auto_renewable", {}, `until ${NOW + 20 * DAY}`],
    ["auto_renewable", { webOrderLineItemIdentifier: "9", environment: "xcode" }, `until ${NOW + 20 * DAY}`],
    ["non_renewing", { webOrderLineItemIdentifier: "9" }, ""],
    ["non_consumable", {}, ""],
    ["non_consumable", { environment: "xcode" }, `from ${NOW - 10 * DAY}`],
    ["consumable", {}, "700000000000002"],
    ["consumable", { environment: "xcode" }, `from ${NOW - 10 * DAY}`],
  ] as const)("names its event: %s with %j → %s", (nature, fields, event) => {
    expect(lineOf({ nature, ...fields })?.event).toBe(event);
  });

  describe("with a partial refund", () => {
    const partly = (
      quantity: number,
      revokedMilliPercent: number | null,
      nature: Nature = "non_renewing",
    ) => {
      const line = lineOf({ nature, quantity, revokedMilliPercent, revokedAt: NOW - DAY });
      return line === undefined ? null : [line.revokedAt, line.refundedQuantity];
    };
    const WHOLE = [NOW - DAY, 0];
    test.each([
      [3, 33_333, [null, 1]],
      [3, 66_667, [null, 2]],
      [3, 100_000, WHOLE],
      [3, null, WHOLE],
      [3, 16_666, [null, 0]],
      [1, 1, WHOLE],
    ])("%i units by %p thousandths of a per cent refunded: %j", (...row) => {
      const [quantity, milliPercent, expected] = row;
      expect(partly(quantity, milliPercent)).toEqual(expected);
      expect(partly(quantity, milliPercent, "consumable")).toEqual(expected);
    });
    test.each(["auto_renewable", "non_consumable"] as const)(
      "is refunded as a whole when it is %s",
      (nature) => {
        expect(partly(3, 33_333, nature)).toEqual(WHOLE);
      },
    );
  });

  describe("that replaced another lineage", () => {
    const mentioned = (fields: Partial<Transaction>) =>
      provenOf({ previousOriginalTransactionIdentifier: "600", ...fields })?.mentioned;
    test.each([
      ["nothing when it names its own lineage", { previousOriginalTransactionIdentifier: "700000000000001" }],
      ["nothing in Xcode, where ids are not unique", { environment: "xcode", xcodeCertificate: "ab" }],
    ] as const)("names %s", (_, fields) => {
      expect(mentioned(fields)).toEqual([]);
    });
    test("replaces from the earliest start of several such transactions in its lineage", () => {
      const moved = (transactionIdentifier: string, purchasedAt: number) =>
        aVerifiedTransaction({
          transactionIdentifier,
          purchasedAt,
          expiresAt: purchasedAt + 30 * DAY,
          previousOriginalTransactionIdentifier: "600",
        });
      const [lineage] = purchasesOf([moved("2", NOW), moved("1", NOW - 30 * DAY)]);
      expect(lineage?.mentioned).toMatchObject([{ key: "600", replacedAt: NOW - 30 * DAY }]);
    });
  });
  test.each(["auto_renewable", "non_consumable"] as const)(
    "that was upgraded is expired and keeps the store's end: %s",
    (nature) => {
      expect(lineOf({ isUpgraded: true, nature })).toMatchObject({
        standing: "expired",
        endsAt: nature === "auto_renewable" ? NOW + 20 * DAY : null,
      });
    },
  );
});

describe("the purchases of transactions", () => {
  test("in Xcode are one for each certificate, original id and product", () => {
    const keys = purchasesOf([
      signedInXcode("monthly", { subscriptionGroupIdentifier: "premium" }),
      signedInXcode("yearly", { subscriptionGroupIdentifier: "premium", expiresAt: NOW + 300 * DAY }),
      signedInXcode("forever", { nature: "non_consumable" }),
      signedInXcode("maps", { nature: "non_consumable" }),
      signedInXcode("maps", { nature: "non_consumable", xcodeCertificate: "cd" }),
      signedInXcode("maps", { nature: "non_consumable", originalTransactionIdentifier: "1" }),
    ]).map(({ purchase: { key, lines } }) => [key, lines.length]);
    expect(keys).toEqual([
      ["ab:0:premium", 2],
      ["ab:0:forever", 1],
      ["ab:0:maps", 1],
      ["cd:0:maps", 1],
      ["ab:1:maps", 1],
    ]);
  });
});
