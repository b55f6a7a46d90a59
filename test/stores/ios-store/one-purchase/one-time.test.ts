import { isoTime } from "../../../../lib/entitlements/time.ts";
import type { Transaction } from "../../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { answer, statuses } from "./answer.ts";

const BOUGHT = NOW - 300 * DAY;

describe("a lifetime", () => {
  /** One id's copy, signed this many days ago. */
  const copy = (transactionIdentifier: string, signed: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier,
      originalTransactionIdentifier: "100",
      productIdentifier: "forever",
      nature: "non_consumable",
      purchasedAt: BOUGHT,
      originalPurchasedAt: BOUGHT,
      expiresAt: null,
      signedAt: NOW - signed * DAY,
      ...fields,
    });
  const refunded = (transactionIdentifier: string, signed: number, fields: Partial<Transaction> = {}) =>
    copy(transactionIdentifier, signed, { revokedAt: NOW - 20 * DAY, ...fields });
  const restored = (ago: number) => ({ purchasedAt: NOW - ago * DAY });

  test.each<[rule: string, expected: string, copies: Transaction[]]>([
    ["refunded under one id", "revoked", [refunded("100", 10)]],
    ["refunded, and signed later under a larger id", "revoked", [refunded("100", 10), copy("101", 1)]],
    [
      "refunded, and bought anew before it was signed",
      "active",
      [refunded("100", 10), copy("101", 11, restored(12))],
    ],
    [
      "refunded under a restored id",
      "revoked",
      [refunded("101", 10, restored(30)), copy("100", 1, restored(31))],
    ],
    ["restored before the refund", "revoked", [refunded("100", 10), copy("101", 1, restored(25))]],
    ["bought anew, later and signed later", "active", [refunded("100", 10), copy("101", 1, restored(5))]],
    [
      "bought anew and refunded again",
      "revoked",
      [refunded("100", 10), copy("101", 5, restored(5)), refunded("101", 1, restored(5))],
    ],
    ["with its refund reversed", "active", [refunded("100", 10), copy("100", 1)]],
    [
      "with its refund reversed beside another id",
      "active",
      [refunded("100", 10), copy("100", 1), copy("101", 5)],
    ],
    [
      "refunded under two ids, of which the last signed is reversed",
      "active",
      [refunded("100", 10), refunded("101", 9), copy("101", 1)],
    ],
    [
      "refunded under two ids, of which the last signed is still refunded",
      "revoked",
      [refunded("100", 10), copy("100", 5), refunded("101", 1)],
    ],
  ])("%s: %s", (_, expected, copies) => {
    expect(statuses(copies)).toEqual([expected]);
  });

  test("starts at its first purchase, whatever was restored since", () => {
    expect(answer([copy("100", 9), copy("101", 1, restored(2))])).toMatchObject([
      { status: "active", startsAt: isoTime(BOUGHT), lastVerifiedAt: isoTime(NOW - DAY) },
    ]);
  });
});

describe("a non-renewing subscription", () => {
  const pass = (transactionIdentifier: string, bought: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier,
      originalTransactionIdentifier: "400",
      productIdentifier: "pass",
      nature: "non_renewing",
      purchasedAt: bought,
      originalPurchasedAt: BOUGHT,
      expiresAt: null,
      signedAt: bought + 1,
      ...fields,
    });
  test("does not start again with a restored copy", () => {
    expect(answer([pass("400", BOUGHT), pass("401", NOW - 1000)])).toMatchObject([
      { status: "expired", startsAt: isoTime(BOUGHT), expiresAt: isoTime(BOUGHT + DAY) },
    ]);
    expect(statuses([pass("401", NOW - 1000)])).toEqual(["expired"]);
  });
  test("counts once under several ids", () => {
    const first = { originalPurchasedAt: NOW - DAY / 2 };
    const copies = [
      pass("400", NOW - DAY / 2, first),
      pass("401", NOW - 10, first),
      pass("402", NOW - 5, first),
    ];
    expect(answer(copies)).toMatchObject([{ status: "active", expiresAt: isoTime(NOW + DAY / 2) }]);
    expect(statuses(copies, NOW + DAY / 2)).toEqual(["expired"]);
  });
  test("bought anew has a lineage of its own and adds up", () => {
    const one = (id: string) =>
      pass(id, NOW, { originalTransactionIdentifier: id, originalPurchasedAt: NOW });
    expect(statuses([one("400"), one("500")], NOW + 2 * DAY - 1)).toEqual(["active"]);
    expect(statuses([one("400"), one("500")], NOW + 2 * DAY)).toEqual(["expired"]);
  });
});
