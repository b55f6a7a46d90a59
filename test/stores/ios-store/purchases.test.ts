import type { Line } from "../../../lib/entitlements/purchase.ts";
import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/payloads.ts";
import { ACCOUNT, aVerifiedTransaction } from "../../../testing/support/stores/ios-store.ts";
import { aLine, aPurchase, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { signedInXcode } from "./as-signed.ts";

const provenOf = (fields: Partial<Transaction> = {}) => purchasesOf([aVerifiedTransaction(fields)])[0];
const inXcode = { environment: "xcode", xcodeCertificate: "ab" } as const;

test("the purchase of a transaction is its lineage with one line", () => {
  const line = aLine({
    transactionIdentifier: "700000000000002",
    event: `until ${NOW + 20 * DAY}`,
    productIdentifier: "com.example.trails.premium.monthly",
    purchasedAt: NOW - 10 * DAY,
  });
  expect(purchasesOf([aVerifiedTransaction()])).toEqual([
    {
      purchase: aPurchase({ key: "700000000000001", lines: [line] }),
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

describe("the Apple Account of a purchase", () => {
  test("is that of any of its transactions", () => {
    const lineage = [null, ACCOUNT].map((appTransactionId) => aVerifiedTransaction({ appTransactionId }));
    expect(purchasesOf(lineage)[0]?.identity?.value).toBe(ACCOUNT);
  });
  test.each([{ appTransactionId: null }, inXcode])("is not known: %j", (fields) => {
    expect(provenOf(fields)?.identity).toBeNull();
  });
});

describe("previousOriginalTransactionId", () => {
  const PREVIOUS = { previousOriginalTransactionId: "600" };
  test.each([
    ["the start of its period", {}, NOW - 10 * DAY],
    ["its end, where a copy was restored later", { purchaseDate: NOW + 30 * DAY }, NOW + 20 * DAY],
    ["its purchase, where it has no end", { expiresDate: null }, NOW - 10 * DAY],
  ])("replaces the lineage before from %s on", (_, fields, replacedAt) => {
    const replaced = { key: "600", lines: [], replacedBy: "700000000000001", replacedAt };
    expect(provenOf({ ...PREVIOUS, ...fields })?.mentioned).toMatchObject([replaced]);
  });
  test("replaces it from the earliest of several starts on", () => {
    const moved = (transactionId: string, purchaseDate: number) =>
      aVerifiedTransaction({ transactionId, purchaseDate, expiresDate: NOW + 60 * DAY, ...PREVIOUS });
    const [lineage] = purchasesOf([moved("2", NOW), moved("1", NOW - 30 * DAY)]);
    expect(lineage?.mentioned).toMatchObject([{ key: "600", replacedAt: NOW - 30 * DAY }]);
  });
  test.each([
    ["its own lineage", { previousOriginalTransactionId: "700000000000001" }],
    ["one in Xcode, where ids are not unique", inXcode],
  ])("does not replace %s", (_, fields) => {
    expect(provenOf({ ...PREVIOUS, ...fields })?.mentioned).toEqual([]);
  });
});

const FIRST = { originalPurchaseDate: NOW - 90 * DAY };
const EVENT = { webOrderLineItemId: "9" };
const [UNTIL, FROM, ID] = [`until ${NOW + 20 * DAY}`, `from ${NOW - 10 * DAY}`, "700000000000002"];
const refunded = (quantity: number | null, revocationPercentage: number | null) => ({
  quantity,
  revocationDate: NOW - DAY,
  revocationPercentage,
});
const WHOLE = { revokedAt: NOW - DAY, refundedQuantity: 0 };
const part = (refundedQuantity: number) => ({ revokedAt: null, refundedQuantity });

const [PASS, FOREVER, CONSUMABLE] = ["Non-Renewing Subscription", "Non-Consumable", "Consumable"] as const;
const RENEWED = "Auto-Renewable Subscription";

test.each<[rule: string, Transaction["type"], fields: Partial<Transaction>, line: Partial<Line>]>([
  ["starts with its purchase", RENEWED, FIRST, { nature: "auto_renewable", startsAt: NOW - 10 * DAY }],
  ["starts with its purchase", CONSUMABLE, FIRST, { nature: "consumable", startsAt: NOW - 10 * DAY }],
  ["starts with the original", PASS, FIRST, { nature: "non_renewing", startsAt: NOW - 90 * DAY }],
  ["starts with the original", FOREVER, FIRST, { nature: "non_consumable", startsAt: NOW - 90 * DAY }],
  ["keeps the date of its copy", FOREVER, FIRST, { purchasedAt: NOW - 10 * DAY }],
  ["starts with its purchase without one", PASS, {}, { startsAt: NOW - 10 * DAY }],
  ["starts with its purchase without one", FOREVER, {}, { startsAt: NOW - 10 * DAY }],
  ["names its event by the order's line", RENEWED, EVENT, { event: "9" }],
  ["names it by its end", RENEWED, {}, { event: UNTIL }],
  ["names it by its end in Xcode", RENEWED, { ...EVENT, environment: "xcode" }, { event: UNTIL }],
  ["has one event", PASS, EVENT, { event: "" }],
  ["has one event", FOREVER, {}, { event: "" }],
  ["names it by its start in Xcode", FOREVER, { environment: "xcode" }, { event: FROM }],
  ["names it by its id", CONSUMABLE, {}, { event: ID }],
  ["names it by its start in Xcode", CONSUMABLE, { environment: "xcode" }, { event: FROM }],
  ["has a third refunded", PASS, refunded(3, 33_333), part(1)],
  ["has two thirds refunded", CONSUMABLE, refunded(3, 66_667), part(2)],
  ["has less than half of one refunded", PASS, refunded(3, 16_666), part(0)],
  ["is refunded wholly", CONSUMABLE, refunded(3, 100_000), WHOLE],
  ["is refunded wholly without a share", PASS, refunded(3, null), WHOLE],
  ["is refunded wholly, being one", CONSUMABLE, refunded(1, 1), WHOLE],
  ["is refunded wholly, being one", CONSUMABLE, refunded(null, 1), { ...WHOLE, quantity: 1 }],
  ["is refunded wholly", RENEWED, refunded(3, 33_333), WHOLE],
  ["is refunded wholly", FOREVER, refunded(3, 33_333), WHOLE],
  ["upgraded keeps its end", RENEWED, { isUpgraded: true }, { standing: "expired", endsAt: NOW + 20 * DAY }],
  ["upgraded has no end", FOREVER, { isUpgraded: true }, { standing: "expired", endsAt: null }],
])("it %s: %s %#", (_, type, fields, line) => {
  expect(provenOf({ type, ...fields })?.purchase.lines[0]).toMatchObject(line);
});

test("in Xcode purchases are one for each certificate, original id and product", () => {
  const forever = { type: FOREVER };
  const keys = purchasesOf([
    signedInXcode("monthly", { subscriptionGroupIdentifier: "premium" }),
    signedInXcode("yearly", { subscriptionGroupIdentifier: "premium", expiresDate: NOW + 300 * DAY }),
    signedInXcode("maps", forever),
    signedInXcode("maps", { ...forever, xcodeCertificate: "cd" }),
    signedInXcode("maps", { ...forever, originalTransactionId: "1" }),
  ]).map(({ purchase: { key, lines } }) => [key, lines.length]);
  expect(keys).toEqual([
    ["ab:0:premium", 2],
    ["ab:0:maps", 1],
    ["cd:0:maps", 1],
    ["ab:1:maps", 1],
  ]);
});
