import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/transaction.ts";
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

  const WHOLE = { revokedAt: NOW - DAY, refundedQuantity: 0 };
  const part = (refundedQuantity: number) => ({ revokedAt: null, refundedQuantity });
  test.each([
    ["non_renewing", 3, 33_333, part(1)],
    ["consumable", 3, 66_667, part(2)],
    ["non_renewing", 3, 16_666, part(0)],
    ["consumable", 3, 100_000, WHOLE],
    ["non_renewing", 3, null, WHOLE],
    ["consumable", 1, 1, WHOLE],
    ["auto_renewable", 3, 33_333, WHOLE],
    ["non_consumable", 3, 33_333, WHOLE],
  ] as const)(
    "%s: of %i, %p thousandths of a per cent refunded",
    (nature, quantity, milliPercent, refund) => {
      const refunded = { revokedAt: NOW - DAY, revokedMilliPercent: milliPercent };
      expect(lineOf({ nature, quantity, ...refunded })).toMatchObject(refund);
    },
  );

  test.each([
    ["its own lineage", { previousOriginalTransactionIdentifier: "700000000000001" }],
    ["one in Xcode, where ids are not unique", { environment: "xcode", xcodeCertificate: "ab" }],
  ] as const)("does not replace %s", (_, fields) => {
    expect(provenOf({ previousOriginalTransactionIdentifier: "600", ...fields })?.mentioned).toEqual([]);
  });
  test("replaces from the earliest start of several transactions in its lineage", () => {
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

test("in Xcode purchases are one for each certificate, original id and product", () => {
  const forever = { nature: "non_consumable" } as const;
  const keys = purchasesOf([
    signedInXcode("monthly", { subscriptionGroupIdentifier: "premium" }),
    signedInXcode("yearly", { subscriptionGroupIdentifier: "premium", expiresAt: NOW + 300 * DAY }),
    signedInXcode("maps", forever),
    signedInXcode("maps", { ...forever, xcodeCertificate: "cd" }),
    signedInXcode("maps", { ...forever, originalTransactionIdentifier: "1" }),
  ]).map(({ purchase: { key, lines } }) => [key, lines.length]);
  expect(keys).toEqual([
    ["ab:0:premium", 2],
    ["ab:0:maps", 1],
    ["cd:0:maps", 1],
    ["ab:1:maps", 1],
  ]);
});
