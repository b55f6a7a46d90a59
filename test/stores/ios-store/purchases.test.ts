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
    const lineage = [null, ACCOUNT].map((appTransactionIdentifier) =>
      aVerifiedTransaction({ appTransactionIdentifier }),
    );
    expect(purchasesOf(lineage)[0]?.identity?.value).toBe(ACCOUNT);
  });
  test.each([{ appTransactionIdentifier: null }, inXcode])("is not known: %j", (fields) => {
    expect(provenOf(fields)?.identity).toBeNull();
  });
});

describe("previousOriginalTransactionId", () => {
  const PREVIOUS = { previousOriginalTransactionIdentifier: "600" };
  test.each([
    ["the start of its period", {}, NOW - 10 * DAY],
    ["its end, where a copy was restored later", { purchasedAt: NOW + 30 * DAY }, NOW + 20 * DAY],
    ["its purchase, where it has no end", { expiresAt: null }, NOW - 10 * DAY],
  ])("replaces the lineage before from %s on", (_, fields, replacedAt) => {
    const replaced = { key: "600", lines: [], replacedBy: "700000000000001", replacedAt };
    expect(provenOf({ ...PREVIOUS, ...fields })?.mentioned).toMatchObject([replaced]);
  });
  test("replaces it from the earliest of several starts on", () => {
    const moved = (transactionIdentifier: string, purchasedAt: number) =>
      aVerifiedTransaction({ transactionIdentifier, purchasedAt, expiresAt: NOW + 60 * DAY, ...PREVIOUS });
    const [lineage] = purchasesOf([moved("2", NOW), moved("1", NOW - 30 * DAY)]);
    expect(lineage?.mentioned).toMatchObject([{ key: "600", replacedAt: NOW - 30 * DAY }]);
  });
  test.each([
    ["its own lineage", { previousOriginalTransactionIdentifier: "700000000000001" }],
    ["one in Xcode, where ids are not unique", inXcode],
  ])("does not replace %s", (_, fields) => {
    expect(provenOf({ ...PREVIOUS, ...fields })?.mentioned).toEqual([]);
  });
});

const FIRST = { originalPurchasedAt: NOW - 90 * DAY };
const EVENT = { webOrderLineItemIdentifier: "9" };
const [UNTIL, FROM, ID] = [`until ${NOW + 20 * DAY}`, `from ${NOW - 10 * DAY}`, "700000000000002"];
const refunded = (quantity: number, revokedMilliPercent: number | null) => ({
  quantity,
  revokedAt: NOW - DAY,
  revokedMilliPercent,
});
const WHOLE = { revokedAt: NOW - DAY, refundedQuantity: 0 };
const part = (refundedQuantity: number) => ({ revokedAt: null, refundedQuantity });

test.each<[rule: string, Transaction["nature"], fields: Partial<Transaction>, line: Partial<Line>]>([
  ["starts with its purchase", "auto_renewable", FIRST, { startsAt: NOW - 10 * DAY }],
  ["starts with its purchase", "consumable", FIRST, { startsAt: NOW - 10 * DAY }],
  ["starts with the original", "non_renewing", FIRST, { startsAt: NOW - 90 * DAY }],
  ["starts with the original", "non_consumable", FIRST, { startsAt: NOW - 90 * DAY }],
  ["keeps the date of its copy", "non_consumable", FIRST, { purchasedAt: NOW - 10 * DAY }],
  ["starts with its purchase without one", "non_renewing", {}, { startsAt: NOW - 10 * DAY }],
  ["starts with its purchase without one", "non_consumable", {}, { startsAt: NOW - 10 * DAY }],
  ["names its event by the order's line", "auto_renewable", EVENT, { event: "9" }],
  ["names it by its end", "auto_renewable", {}, { event: UNTIL }],
  ["names it by its end in Xcode", "auto_renewable", { ...EVENT, environment: "xcode" }, { event: UNTIL }],
  ["has one event", "non_renewing", EVENT, { event: "" }],
  ["has one event", "non_consumable", {}, { event: "" }],
  ["names it by its start in Xcode", "non_consumable", { environment: "xcode" }, { event: FROM }],
  ["names it by its id", "consumable", {}, { event: ID }],
  ["names it by its start in Xcode", "consumable", { environment: "xcode" }, { event: FROM }],
  ["has a third refunded", "non_renewing", refunded(3, 33_333), part(1)],
  ["has two thirds refunded", "consumable", refunded(3, 66_667), part(2)],
  ["has less than half of one refunded", "non_renewing", refunded(3, 16_666), part(0)],
  ["is refunded wholly", "consumable", refunded(3, 100_000), WHOLE],
  ["is refunded wholly without a share", "non_renewing", refunded(3, null), WHOLE],
  ["is refunded wholly, being one", "consumable", refunded(1, 1), WHOLE],
  ["is refunded wholly", "auto_renewable", refunded(3, 33_333), WHOLE],
  ["is refunded wholly", "non_consumable", refunded(3, 33_333), WHOLE],
  [
    "upgraded keeps its end",
    "auto_renewable",
    { isUpgraded: true },
    { standing: "expired", endsAt: NOW + 20 * DAY },
  ],
  ["upgraded has no end", "non_consumable", { isUpgraded: true }, { standing: "expired", endsAt: null }],
])("it %s: %s %#", (_, nature, fields, line) => {
  expect(provenOf({ nature, ...fields })?.purchase.lines[0]).toMatchObject(line);
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
