import type { CustomerEntitlement } from "../../../../lib/contract/schemas.ts";
import { holdingsOf } from "../../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../../lib/entitlements/join.ts";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import { customerId } from "../../../../lib/identifiers.ts";
import { purchasesOf } from "../../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../../../testing/support/stores/ios-store.ts";
import {
  aCatalog,
  aProduct,
  DAY,
  entitlementsAt,
  NOW,
  period as duration,
} from "../../../../testing/support/stores/purchases.ts";

/** Purchases under several transaction ids, from verified payloads to the answer. */

const customerIdentifier = customerId("00000000-0000-4000-8000-000000000001");
const catalog = aCatalog([
  aProduct({ productIdentifier: "monthly" }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ productIdentifier: "pass", accessDuration: duration("P1D") }),
]);

const purchasesFrom = (transactions: readonly Transaction[]) =>
  joinAll(purchasesOf(transactions).flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]));

const fromPurchases = (purchases: ReturnType<typeof purchasesFrom>, moment: number) =>
  entitlementsAt(
    moment,
    holdingsOf(purchases, catalog).map((purchase) => ({ customerIdentifier, assertedBy: null, purchase })),
    catalog,
  );

/** The answer. Expects the same in reverse order, with duplicates, and one transaction at a time. */
const answer = (transactions: readonly Transaction[], moment = NOW): CustomerEntitlement[] => {
  const expected = fromPurchases(purchasesFrom(transactions), moment);
  for (const order of [transactions.toReversed(), [...transactions, ...transactions.slice(0, 1)]])
    expect(fromPurchases(purchasesFrom(order), moment)).toEqual(expected);
  const oneByOne = transactions.reduce(
    (known, one) => joinAll([...known, ...purchasesFrom([one])]),
    purchasesFrom([]),
  );
  expect(fromPurchases(oneByOne, moment)).toEqual(expected);
  return expected;
};
const statuses = (transactions: readonly Transaction[], moment = NOW) =>
  answer(transactions, moment).map(({ status }) => status);

describe("previousOriginalTransactionId", () => {
  const period = (
    originalTransactionIdentifier: string,
    id: string,
    began: number,
    fields: Partial<Transaction> = {},
  ) =>
    aVerifiedTransaction({
      transactionIdentifier: id,
      originalTransactionIdentifier,
      productIdentifier: "monthly",
      webOrderLineItemIdentifier: id,
      purchasedAt: NOW - began * DAY,
      expiresAt: NOW - (began - 30) * DAY,
      signedAt: NOW - began * DAY + 1000,
      ...fields,
    });
  const from = (previousOriginalTransactionIdentifier: string) => ({ previousOriginalTransactionIdentifier });

  const older = period("A", "1", 70);
  const whole = { webOrderLineItemIdentifier: "w", expiresAt: NOW + 300 * DAY };
  const refunded = period("A", "1", 60, { ...whole, revokedAt: NOW - 50 * DAY, signedAt: NOW - 40 * DAY });
  const restored = period("A", "3", 55, whole);
  const naming = period("B", "2", 40, { ...from("A"), webOrderLineItemIdentifier: "w2" });
  const renewal = period("B", "4", 10, from("A"));
  const between = [period("B", "2", 40, from("A")), period("A", "3", 25), renewal];
  const takenBack = { ...renewal, revokedAt: NOW - DAY, signedAt: NOW - DAY };
  const mutual = (lineage: string, id: string, other: string, signed: number) =>
    period(lineage, id, 10, {
      ...from(other),
      webOrderLineItemIdentifier: "w",
      signedAt: NOW - signed * DAY,
    });

  test.each<[rule: string, expected: string, transactions: Transaction[], moment?: number]>([
    [
      "ends what the older lineage had",
      "expired",
      [period("A", "1", 10), period("B", "2", 5, { ...from("A"), expiresAt: NOW - 1 })],
    ],
    [
      "shows a refund under the new lineage",
      "revoked",
      [period("A", "1", 10), period("B", "2", 5, { ...from("A"), revokedAt: NOW - 1 })],
    ],
    ["a restored copy does not undo a refund", "revoked", [refunded, restored]],
    [
      "a move does not undo a refund",
      "expired",
      [refunded, restored, period("B", "2", 57, { ...from("A"), expiresAt: NOW - 27 * DAY })],
    ],
    ["on the renewals after a move ends nothing new", "active", [older, naming, renewal]],
    ["does not end what the older lineage pays between", "active", [...between, takenBack]],
    ["ends with the older lineage's last period", "expired", [...between, takenBack], NOW + 5 * DAY],
    [
      "on a restored copy does not end later periods",
      "active",
      [
        older,
        naming,
        period("A", "3", 10),
        { ...naming, transactionIdentifier: "9", purchasedAt: NOW - DAY, signedAt: NOW - DAY },
      ],
    ],
    [
      "ends neither of two lineages that name each other",
      "active",
      [mutual("B", "3", "A", 9), mutual("A", "7", "B", 5)],
    ],
  ])("%s: %s", (_, expected, transactions, moment = NOW) => {
    expect(statuses(transactions, moment)).toEqual([expected]);
  });
  test("lets the older lineage last until the new one begins", () => {
    const ahead = period("B", "2", -1, { ...from("A"), signedAt: NOW - 1000 });
    for (const hours of [0, 23, 24, 25])
      expect(statuses([period("A", "1", 29), ahead], NOW + hours * 3_600_000)).toEqual(["active"]);
  });
  test("gives a payer access whose lineages move back and forth", () => {
    const moves = [
      period("A", "1", 90),
      period("B", "2", 60, from("A")),
      period("A", "3", 30, from("B")),
      period("B", "4", 0, from("A")),
    ];
    for (let step = 0; step < moves.length; step += 1)
      expect(statuses(moves.slice(0, step + 1), NOW - (89 - 30 * step) * DAY)).toEqual(["active"]);
  });
});

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
  const refunded = copy("100", 10, { revokedAt: NOW - 20 * DAY });
  const restored = (ago: number) => copy("101", 1, { purchasedAt: NOW - ago * DAY });

  test.each<[rule: string, expected: string, copies: Transaction[]]>([
    ["refunded, and signed later under another id", "revoked", [refunded, copy("101", 1)]],
    ["restored before the refund", "revoked", [refunded, restored(25)]],
    ["bought anew after the refund", "active", [refunded, restored(5)]],
    ["with its refund reversed", "active", [refunded, copy("100", 1)]],
  ])("%s: %s", (_, expected, copies) => {
    expect(statuses(copies)).toEqual([expected]);
  });

  test("starts at its first purchase, whatever was restored since", () => {
    expect(answer([copy("100", 9), restored(2)])).toMatchObject([
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

describe("a subscription's period", () => {
  const month = (transactionIdentifier: string, began: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier,
      productIdentifier: "monthly",
      webOrderLineItemIdentifier: `order ${began}`,
      purchasedAt: NOW - began * DAY,
      expiresAt: NOW - (began - 30) * DAY,
      signedAt: NOW - DAY,
      ...fields,
    });
  const refund = { revokedAt: NOW - 5 * DAY, signedAt: NOW - 4 * DAY };

  test.each([
    ["the larger id", "201", "200"],
    ["the smaller id", "200", "201"],
  ])("is revoked under both of its ids when %s carries the refund", (_, carrying, other) => {
    expect(statuses([month(carrying, 10, refund), month(other, 10)])).toEqual(["revoked"]);
  });
  test("ends as signed last when it is extended, under whichever id", () => {
    const extended = (id: string) => month(id, 10, { expiresAt: NOW + 25 * DAY, signedAt: NOW });
    for (const id of ["200", "201"])
      expect(answer([month("200", 10), extended(id)])).toMatchObject([
        { expiresAt: isoTime(NOW + 25 * DAY) },
      ]);
  });
  test("is a period of its own when bought again", () => {
    expect(statuses([month("200", 10, refund), month("201", 2)])).toEqual(["active"]);
  });
});
