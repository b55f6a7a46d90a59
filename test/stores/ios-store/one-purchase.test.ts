import type { CustomerEntitlement } from "../../../lib/contract/schemas.ts";
import { entitlementsAt } from "../../../lib/entitlements/entitlements.ts";
import { holdingsOf } from "../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../support/ios-store.ts";
import { aCatalog, aProduct, DAY, NOW, period } from "../../support/purchases.ts";
import { signedInXcode } from "./as-signed.ts";

/** One purchase under several transaction ids, from verified payloads to the answer. */

const customerIdentifier = customerId("00000000-0000-4000-8000-000000000001");
const catalog = aCatalog([
  aProduct({ productIdentifier: "monthly" }),
  aProduct({ productIdentifier: "yearly" }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "maps", grants: ["maps"] }),
]);

const purchasesFrom = (transactions: readonly Transaction[]) =>
  joinAll(purchasesOf(transactions).flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]));

const fromPurchases = (purchases: ReturnType<typeof purchasesFrom>, moment: number) =>
  entitlementsAt(
    moment,
    holdingsOf(purchases, catalog).map((purchase) => ({ customerIdentifier, assertedBy: null, purchase })),
    catalog,
  );

/** The answer is the same in whatever order, and however often, the transactions come. */
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

const BOUGHT = NOW - 300 * DAY;

describe("periods of one lineage", () => {
  const period = (id: string, from: number, to: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier: id,
      originalTransactionIdentifier: "1",
      productIdentifier: "monthly",
      webOrderLineItemIdentifier: `w${id}`,
      purchasedAt: NOW + from * DAY,
      expiresAt: NOW + to * DAY,
      signedAt: NOW - 1000,
      ...fields,
    });
  const oneWebOrder = { webOrderLineItemIdentifier: "one" };

  test("that share a web order and do not overlap are two, whichever is signed last", () => {
    const [first, second] = [period("1", -40, -10, oneWebOrder), period("2", -10, 20, oneWebOrder)];
    for (const [one, two] of [
      [first, { ...second, signedAt: NOW - 5000 }],
      [{ ...first, signedAt: NOW - 5000 }, second],
    ] as const)
      expect(answer([one, two])).toMatchObject([{ status: "active", startsAt: isoTime(NOW - 10 * DAY) }]);
  });
  test("a refund of the earlier of two under one web order leaves the later one", () => {
    const refunded = period("1", -40, -10, { ...oneWebOrder, revokedAt: NOW - 12 * DAY });
    expect(statuses([refunded, period("2", -10, 20, oneWebOrder)])).toEqual(["active"]);
  });
  test("a renewal charged ahead under the web order of the first period is a period of its own", () => {
    const first = period("1", -29, 1, { ...oneWebOrder, signedAt: NOW });
    const ahead = period("2", 0.2, 31, oneWebOrder);
    for (const days of [0, 1, 2, 30]) expect(statuses([first, ahead], NOW + days * DAY)).toEqual(["active"]);
  });
  test("a copy that was restored after its period had ended is no period, however late it is signed", () => {
    const restored = { ...period("3", 12, 7, oneWebOrder), signedAt: NOW + 12 * DAY };
    const periods = [period("1", 0, 7, oneWebOrder), period("2", 7, 37, oneWebOrder), restored];
    expect(answer(periods, NOW + 13 * DAY)).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 37 * DAY) },
    ]);
  });
  test("a period and its renewal under one web order stay two, though both were restored in one moment", () => {
    const both = [period("1", -30, 0, oneWebOrder), period("2", -0.5, 30, oneWebOrder)];
    const restored = [period("12", 10, 0, oneWebOrder), period("11", 10, 30, oneWebOrder)];
    expect(statuses(restored, NOW + 15 * DAY)).toEqual(["active"]);
    expect(statuses([...both, ...restored], NOW + 15 * DAY)).toEqual(["active"]);
    const refunded = period("1", -30, 0, { ...oneWebOrder, revokedAt: NOW + 11 * DAY, signedAt: NOW });
    expect(statuses([refunded, ...restored], NOW + 15 * DAY)).toEqual(["active"]);
  });
  test("a downgrade that is charged ahead of time takes nothing of the better product", () => {
    const better = period("1", -29, 1, { productIdentifier: "maps" });
    const ahead = period("2", -0.2, 31);
    expect(answer([better, ahead])).toMatchObject([
      { identifier: "maps", status: "active", expiresAt: isoTime(NOW + DAY) },
      { identifier: "premium", status: "active" },
    ]);
  });
  test("of what is known by a copy alone that was restored after the end, nobody knows the start", () => {
    expect(answer([period("1", -5, -10)])).toMatchObject([
      { status: "expired", startsAt: null, expiresAt: isoTime(NOW - 10 * DAY) },
    ]);
  });
  test("a restored copy of the period before does not end the renewal that was charged ahead of time", () => {
    const renewal = period("2", -0.8, 30);
    const restored = period("3", -0.5, 0, oneWebOrder);
    expect(statuses([restored, renewal], NOW + 5 * DAY)).toEqual(["active"]);
  });
  test("a period that was extended does not end where an older restored copy of it starts", () => {
    const restored = period("2", -10, 0, { ...oneWebOrder, signedAt: NOW - 10 * DAY });
    const extended = period("1", -30, 15, { ...oneWebOrder, signedAt: NOW - 5 * DAY });
    expect(answer([restored, extended], NOW + 5 * DAY)).toMatchObject([
      { status: "active", startsAt: isoTime(NOW - 30 * DAY), expiresAt: isoTime(NOW + 15 * DAY) },
    ]);
  });
  test("a refund of an extended period under its restored id refunds the period", () => {
    const first = period("1", -30, 335, { ...oneWebOrder, signedAt: NOW - 25 * DAY });
    const refunded = period("2", -10, 350, { ...oneWebOrder, revokedAt: NOW - DAY });
    expect(statuses([first, refunded])).toEqual(["revoked"]);
  });
  test("a refunded upgrade brings nothing back that it had ended", () => {
    const yearly = period("1", -10, 355, { productIdentifier: "yearly" });
    const upgrade = period("2", -2, 28, { revokedAt: NOW - DAY });
    expect(statuses([yearly, upgrade])).toEqual(["revoked"]);
  });
  test("one that was refunded does not end the one before it", () => {
    const again = period("2", -1, 29, { revokedAt: NOW - 1000 });
    expect(answer([period("1", -29, 1), again])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + DAY) },
    ]);
  });
  test("one that was upgraded, however late it is restored, does not end the better one", () => {
    const better = period("2", -10, 355, { productIdentifier: "yearly" });
    const restored = period("3", -1, 5, { isUpgraded: true });
    expect(answer([better, restored])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 355 * DAY) },
    ]);
  });
});

describe("a lifetime", () => {
  /** One id's copy of it: signed so many days ago, restored so many days ago. */
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
    ["never refunded under any id is there", "active", [copy("100", 9), copy("101", 8)]],
    ["refunded under one id is revoked", "revoked", [refunded("100", 10)]],
    ["though another id is signed later without it", "revoked", [refunded("100", 10), copy("101", 1)]],
    ["and though that id is smaller", "revoked", [refunded("101", 10), copy("100", 1)]],
    [
      "or was restored after the refund, and signed before it",
      "revoked",
      [refunded("100", 10), copy("101", 11, restored(12))],
    ],
    [
      "or restored before the refunded copy, and signed after",
      "revoked",
      [refunded("101", 10, restored(30)), copy("100", 1, restored(31))],
    ],
    [
      "or restored together with it",
      "revoked",
      [refunded("101", 10, restored(30)), copy("100", 1, restored(30))],
    ],
    [
      "or restored before the refund, however late it is signed again",
      "revoked",
      [refunded("100", 10), copy("101", 1, restored(25))],
    ],
    ["or signed together with it", "revoked", [refunded("100", 10), copy("101", 10, restored(5))]],
    [
      "bought anew, later and signed later, under another id is there",
      "active",
      [refunded("100", 10), copy("101", 1, restored(5))],
    ],
    [
      "and stays so, however late the refunded one is signed again",
      "active",
      [refunded("100", 10), copy("101", 5, restored(5)), copy("101", 2, restored(5)), refunded("100", 1)],
    ],
    [
      "and refunded again is revoked",
      "revoked",
      [refunded("100", 10), copy("101", 5, restored(5)), refunded("101", 1, restored(5))],
    ],
    [
      "though the first refund is reversed under its own id before",
      "revoked",
      [refunded("100", 10), copy("100", 6), refunded("101", 1, restored(5))],
    ],
    ["whose refund is reversed under its id is there again", "active", [refunded("100", 10), copy("100", 1)]],
    [
      "and other ids that never were refunded change nothing",
      "active",
      [refunded("100", 10), copy("100", 1), copy("101", 5)],
    ],
    [
      "refunded under two ids is as the last signed of them says: reversed",
      "active",
      [refunded("100", 10), refunded("101", 9), copy("101", 1)],
    ],
    ["or still refunded", "revoked", [refunded("100", 10), copy("100", 5), refunded("101", 1)]],
  ])("%s: %s", (_, expected, copies) => {
    expect(statuses(copies)).toEqual([expected]);
  });

  test("shows its refund, not the copy without it", () => {
    expect(answer([refunded("100", 10), copy("101", 1)])).toMatchObject([
      {
        revokedAt: isoTime(NOW - 20 * DAY),
        expiresAt: isoTime(NOW - 20 * DAY),
        lastVerifiedAt: isoTime(NOW - 10 * DAY),
      },
    ]);
  });
  test("starts where it was bought first, whatever was restored since", () => {
    expect(answer([copy("100", 9), copy("101", 1, restored(2))])).toMatchObject([
      { status: "active", startsAt: isoTime(BOUGHT), lastVerifiedAt: isoTime(NOW - DAY) },
    ]);
  });
  test("of one lineage is another purchase than another product's", () => {
    expect(statuses([refunded("100", 10), copy("101", 20, { productIdentifier: "maps" })])).toEqual([
      "active",
      "revoked",
    ]);
  });
});

describe("a subscription's period", () => {
  /** A period of a month that began so many days ago. */
  const month = (transactionIdentifier: string, began: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier,
      originalTransactionIdentifier: "200",
      productIdentifier: "monthly",
      webOrderLineItemIdentifier: `order ${began}`,
      purchasedAt: NOW - began * DAY,
      expiresAt: NOW - (began - 30) * DAY,
      signedAt: NOW - Math.max(0, began) * DAY,
      ...fields,
    });
  const at = (signed: number) => ({ signedAt: NOW - signed * DAY });
  const refund = { revokedAt: NOW - 5 * DAY };

  test.each([
    ["the larger", "201", "200"],
    ["the smaller", "200", "201"],
  ])("refunded is revoked under both its ids: %s carries it", (_, carrying, other) => {
    expect(statuses([month(carrying, 10, { ...refund, ...at(4) }), month(other, 10, at(1))])).toEqual([
      "revoked",
    ]);
  });
  test("refunded shows nothing of the period before it, which is over", () => {
    expect(
      answer([month("200", 40), month("201", 10, { ...refund, ...at(4) }), month("202", 10, at(1))]),
    ).toMatchObject([{ status: "revoked", revokedAt: isoTime(NOW - 5 * DAY) }]);
  });
  test("extended ends where the store said last, under whichever id", () => {
    const extended = { expiresAt: NOW + 25 * DAY, ...at(1) };
    expect(answer([month("200", 10), month("201", 10, extended)])).toMatchObject([
      { expiresAt: isoTime(NOW + 25 * DAY) },
    ]);
    expect(answer([month("200", 10, extended), month("200", 10)])).toMatchObject([
      { expiresAt: isoTime(NOW + 25 * DAY) },
    ]);
  });
  test("bought again after a refund of the period before is a period of its own", () => {
    expect(statuses([month("200", 10, { ...refund, ...at(4) }), month("201", 2)])).toEqual(["active"]);
  });
  test("without an order line item is named by its product and its end", () => {
    const none = { webOrderLineItemIdentifier: null };
    const copies = [
      month("200", 10, { ...none, ...refund, ...at(4) }),
      month("201", 10, { ...none, ...at(1) }),
    ];
    expect(statuses(copies)).toEqual(["revoked"]);
    const other = month("201", 10, { ...none, ...at(1), expiresAt: NOW + 21 * DAY });
    expect(statuses([month("200", 10, { ...none, ...refund, ...at(4) }), other])).toEqual(["active"]);
  });
  test("a renewal ahead of time, under two ids, keeps the current one", () => {
    const ahead = ["201", "202"].map((id) => month(id, -20, at(0)));
    expect(answer([month("200", 10), ...ahead])).toMatchObject([
      { status: "active", startsAt: isoTime(NOW - 10 * DAY), expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
    expect(answer([month("200", 10), ...ahead], NOW + 20 * DAY)).toMatchObject([
      { status: "active", startsAt: isoTime(NOW + 20 * DAY), expiresAt: isoTime(NOW + 50 * DAY) },
    ]);
  });
  test("a refunded renewal ahead of time leaves the current one to its end", () => {
    const ahead = month("201", -20, { revokedAt: NOW - DAY, ...at(0) });
    expect(answer([month("200", 10), ahead])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
    // The current one gave access for longer.
    expect(statuses([month("200", 10), ahead], NOW + 20 * DAY)).toEqual(["expired"]);
  });
  test("the current one survives ten renewals ahead of time, each under two ids", () => {
    const ahead = Array.from({ length: 10 }, (_, index) =>
      ["a", "b"].map((id) => month(`${201 + index}${id}`, -20 - 30 * index, at(0))),
    ).flat();
    expect(answer([month("200", 10), ...ahead])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
  });
  test("the current one survives two hundred products of its group that are over", () => {
    const over = Array.from({ length: 200 }, (_, index) =>
      month(`${300 + index}`, 40 + index, { productIdentifier: `product ${index}`, ...at(5) }),
    );
    expect(answer([...over, month("200", 10, at(8))])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
  });
  test.each([
    ["signed before its end: the upgrade was by then", 3, NOW - 3 * DAY],
    ["signed after its end: at its end", -25, NOW + 20 * DAY],
  ])("is ended by an upgrade that was %s", (_, signed, end) => {
    expect(answer([month("200", 10, { isUpgraded: true, ...at(signed) })], NOW + 26 * DAY)).toMatchObject([
      { status: "expired", expiresAt: isoTime(end) },
    ]);
  });
  test("is ended by an upgrade where the better one begins", () => {
    const maps = { productIdentifier: "maps" };
    expect(
      answer([
        month("200", 10, { ...maps, isUpgraded: true, ...at(1) }),
        month("201", 4, { productIdentifier: "yearly", expiresAt: NOW + 361 * DAY }),
      ]).map(({ identifier, status, expiresAt }) => [identifier, status, expiresAt]),
    ).toEqual([
      ["maps", "expired", isoTime(NOW - 4 * DAY)],
      ["premium", "active", isoTime(NOW + 361 * DAY)],
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
  test("a restored copy of an old one does not start anew", () => {
    expect(answer([pass("400", BOUGHT), pass("401", NOW - 1000)])).toMatchObject([
      { status: "expired", startsAt: isoTime(BOUGHT), expiresAt: isoTime(BOUGHT + DAY) },
    ]);
    expect(statuses([pass("401", NOW - 1000)])).toEqual(["expired"]);
  });
  test("under several ids is one, and adds up to nothing", () => {
    const first = { originalPurchasedAt: NOW - DAY / 2 };
    const copies = [
      pass("400", NOW - DAY / 2, first),
      pass("401", NOW - 10, first),
      pass("402", NOW - 5, first),
    ];
    expect(answer(copies)).toMatchObject([{ status: "active", expiresAt: isoTime(NOW + DAY / 2) }]);
    expect(statuses(copies, NOW + DAY / 2)).toEqual(["expired"]);
  });
  test("bought anew has a lineage of its own, and adds up", () => {
    const one = (id: string) =>
      pass(id, NOW, { originalTransactionIdentifier: id, originalPurchasedAt: NOW });
    expect(statuses([one("400"), one("500")], NOW + 2 * DAY - 1)).toEqual(["active"]);
    expect(statuses([one("400"), one("500")], NOW + 2 * DAY)).toEqual(["expired"]);
  });
  test("refunded under one id is revoked, and nothing under another is bought anew", () => {
    const copies = [
      pass("400", BOUGHT, { revokedAt: NOW - 9, signedAt: NOW - 8 }),
      pass("401", NOW - 2, { signedAt: NOW - 1 }),
    ];
    expect(answer(copies)).toMatchObject([{ status: "revoked", revokedAt: isoTime(NOW - 9) }]);
  });
  test("of three, one refunded under one id, has two under the other too", () => {
    const three = (id: string, signedAt: number, fields: Partial<Transaction> = {}) =>
      pass(id, NOW, { originalPurchasedAt: NOW, quantity: 3, signedAt, ...fields });
    const share = { revokedAt: NOW + 1, revokedMilliPercent: 33_333 };
    expect(answer([three("400", NOW + 1, share), three("401", NOW + 2)])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 2 * DAY) },
    ]);
  });
  test.each([
    [33_333, 2],
    [50_000, 1],
    [66_667, 1],
  ])(
    "of three, %i thousandths of a per cent refunded: so many days remain: %i",
    (revokedMilliPercent, left) => {
      const three = pass("400", NOW, {
        originalPurchasedAt: NOW,
        quantity: 3,
        revokedAt: NOW + 1,
        revokedMilliPercent,
      });
      expect(answer([three])).toMatchObject([
        { status: "active", expiresAt: isoTime(NOW + left * DAY), revokedAt: null },
      ]);
      expect(statuses([three], NOW + left * DAY)).toEqual(["expired"]);
    },
  );
  test("of three, all refunded, is revoked", () => {
    const three = pass("400", NOW - 9, { quantity: 3, revokedAt: NOW - 5, revokedMilliPercent: 100_000 });
    expect(statuses([three])).toEqual(["revoked"]);
  });
});

describe("in Xcode, where every id is 0", () => {
  const forever = (productIdentifier: string, fields: Partial<Transaction> = {}) =>
    signedInXcode(productIdentifier, { nature: "non_consumable", expiresAt: null, ...fields });

  test("unrelated purchases stay apart: a refund of one is none of the other", () => {
    const entitlements = answer([
      forever("forever", { revokedAt: NOW - 5, signedAt: NOW - 1 }),
      forever("maps"),
      signedInXcode("monthly", { subscriptionGroupIdentifier: "group", signedAt: NOW - 2 }),
    ]);
    expect(
      entitlements.map(({ identifier, productIdentifier, status }) => [
        identifier,
        productIdentifier,
        status,
      ]),
    ).toEqual([
      ["maps", "maps", "active"],
      ["premium", "monthly", "active"],
    ]);
  });
  test("the periods of a subscription stay apart by their ends", () => {
    const group = { subscriptionGroupIdentifier: "group" };
    const period = (month: number, fields: Partial<Transaction> = {}) =>
      signedInXcode("monthly", {
        ...group,
        purchasedAt: NOW + month * 30 * DAY - DAY,
        expiresAt: NOW + (month + 1) * 30 * DAY - DAY,
        signedAt: NOW + month - 60,
        ...fields,
      });
    expect(answer([period(-1), period(0)])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 29 * DAY) },
    ]);
    expect(statuses([period(-1), period(0, { revokedAt: NOW - 1 })])).toEqual(["revoked"]);
    expect(statuses([period(-1, { revokedAt: NOW - 1 }), period(0)])).toEqual(["active"]);
  });
  test("a lifetime bought anew is an event of its own", () => {
    const first = forever("forever", {
      purchasedAt: NOW - 9,
      originalPurchasedAt: NOW - 9,
      revokedAt: NOW - 8,
    });
    const anew = forever("forever", { purchasedAt: NOW - 5, originalPurchasedAt: NOW - 5 });
    expect(statuses([first, anew])).toEqual(["active"]);
  });
});

describe("a transaction id that is seen in two lineages", () => {
  const seen = (originalTransactionIdentifier: string, signedAt: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier: "7",
      originalTransactionIdentifier,
      productIdentifier: "monthly",
      webOrderLineItemIdentifier: "7",
      signedAt,
      ...fields,
    });
  test.each([
    ["from the first to the second", "1", "2"],
    ["from the second to the first", "2", "1"],
  ])("counts where it was signed later: a refund shows, %s", (_, from, to) => {
    expect(statuses([seen(from, 1), seen(to, 2, { revokedAt: NOW - 5 })])).toEqual(["revoked"]);
    expect(statuses([seen(from, 1, { revokedAt: NOW - 5 }), seen(to, 2)])).toEqual(["active"]);
  });
});

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

  test("what the older lineage had grants nothing", () => {
    const moved = period("B", "2", 5, { ...from("A"), expiresAt: NOW - 1 });
    expect(statuses([period("A", "1", 10)])).toEqual(["active"]);
    expect(answer([period("A", "1", 10), moved])).toMatchObject([
      { status: "expired", startsAt: isoTime(NOW - 5 * DAY) },
    ]);
  });
  test("what the older lineage had lasts until the new one begins, which is charged ahead of time", () => {
    const older = period("A", "1", 29);
    const ahead = period("B", "2", -1, { ...from("A"), signedAt: NOW - 1000 });
    for (const hours of [0, 23, 24, 25])
      expect(statuses([older, ahead], NOW + hours * 3_600_000)).toEqual(["active"]);
  });
  test("a refund of the older lineage is not undone by a copy that was restored before the new one", () => {
    const whole = { webOrderLineItemIdentifier: "w", expiresAt: NOW + 300 * DAY };
    const refunded = period("A", "1", 60, { ...whole, revokedAt: NOW - 50 * DAY, signedAt: NOW - 40 * DAY });
    const restored = period("A", "3", 55, whole);
    const moved = period("B", "2", 57, { ...from("A"), expiresAt: NOW - 27 * DAY });
    expect(statuses([refunded, restored])).toEqual(["revoked"]);
    expect(statuses([refunded, restored, moved])).toEqual(["expired"]);
  });
  test("a refund under the new lineage shows", () => {
    const moved = period("B", "2", 5, { ...from("A"), revokedAt: NOW - 1 });
    expect(statuses([period("A", "1", 10), moved])).toEqual(["revoked"]);
  });
  test("what the older lineage gets later counts", () => {
    const moved = period("B", "2", 40, from("A"));
    expect(statuses([period("A", "1", 70), moved, period("A", "3", 5)])).toEqual(["active"]);
  });
  test("moving back and forth does not darken who pays, at any moment", () => {
    const moves = [
      period("A", "1", 90),
      period("B", "2", 60, from("A")),
      period("A", "3", 30, from("B")),
      period("B", "4", 0, from("A")),
    ];
    for (let step = 0; step < moves.length; step += 1)
      expect(statuses(moves.slice(0, step + 1), NOW - (89 - 30 * step) * DAY)).toEqual(["active"]);
  });
  test("the renewals after a move, which name the older lineage too, silence nothing new", () => {
    const moves = [period("A", "1", 70), period("B", "2", 40, from("A")), period("B", "3", 10, from("A"))];
    expect(statuses(moves)).toEqual(["active"]);
  });
  test("what the older lineage got between two renewals that name it counts: it was paid", () => {
    const moves = [period("B", "2", 40, from("A")), period("A", "3", 25), period("B", "4", 10, from("A"))];
    const refunded = { ...period("B", "4", 10, from("A")), revokedAt: NOW - DAY, signedAt: NOW - DAY };
    expect(statuses([...moves, refunded])).toEqual(["active"]);
    expect(statuses([...moves, refunded], NOW + 5 * DAY)).toEqual(["expired"]);
  });
  test("a restored copy of the transaction that names it takes nothing from what it got since", () => {
    const naming = period("B", "2", 40, { ...from("A"), webOrderLineItemIdentifier: "w2" });
    const restored = { ...naming, transactionIdentifier: "9", purchasedAt: NOW - DAY, signedAt: NOW - DAY };
    expect(statuses([period("A", "1", 70), naming, period("A", "3", 10), restored])).toEqual(["active"]);
  });
  test("a copy that was restored after its end replaces until that end, and not what came back since", () => {
    const naming = period("B", "22", -5, { ...from("A"), expiresAt: NOW - 10 * DAY, signedAt: NOW });
    const back = period("A", "3", 10, from("B"));
    expect(statuses([period("A", "1", 70), naming, back])).toEqual(["active"]);
  });
  describe("one period under two transaction ids, in two lineages", () => {
    const signed = (daysAgo: number) => ({ webOrderLineItemIdentifier: "w", signedAt: NOW - daysAgo * DAY });
    const refund = { revokedAt: NOW - 3 * DAY };
    test("that name each other, is silenced in neither", () => {
      const moves = [
        period("B", "3", 10, { ...from("A"), ...signed(9) }),
        period("A", "7", 10, { ...from("B"), ...signed(5) }),
      ];
      expect(statuses(moves)).toEqual(["active"]);
    });
    test("and two web orders, that name each other, is silenced in neither", () => {
      const moves = [
        period("B", "9", 10, { ...from("A"), webOrderLineItemIdentifier: "w9" }),
        period("A", "7", 10, { ...from("B"), webOrderLineItemIdentifier: "w7" }),
      ];
      expect(statuses(moves)).toEqual(["active"]);
    });
    test("counts once, whichever id was signed last in which", () => {
      const moves = [
        period("A", "7", 10, signed(9)),
        period("B", "8", 10, signed(6)),
        period("B", "7", 10, signed(5)),
        period("A", "8", 10, signed(1)),
      ];
      for (let step = 1; step <= moves.length; step += 1)
        expect(statuses(moves.slice(0, step))).toEqual(["active"]);
    });
    test("is refunded under either of them", () => {
      const moved = [period("A", "7", 10, signed(9)), period("A", "8", 10, { ...signed(2), ...refund })];
      expect(statuses([...moved, period("B", "7", 10, signed(1))])).toEqual(["revoked"]);
      const reissued = period("B", "4", 10, { ...signed(1), ...refund });
      expect(statuses([period("A", "2", 10, signed(5)), reissued])).toEqual(["revoked"]);
    });
  });
  test("a transaction that moved back is refunded where it was signed last", () => {
    const signed = (daysAgo: number) => ({ signedAt: NOW - daysAgo * DAY });
    const moves = [
      period("A", "2", 10, signed(9)),
      period("B", "2", 10, { ...from("A"), ...signed(8) }),
      period("A", "2", 10, { ...signed(1), revokedAt: NOW - 2 * DAY }),
    ];
    expect(statuses(moves)).toEqual(["revoked"]);
  });
  test("two lineages that name each other in one period do not silence each other", () => {
    const signed = (began: number) => ({ signedAt: NOW - began * DAY });
    const moves = [
      period("B", "2", 10, { ...from("A"), ...signed(9) }),
      period("A", "2", 10, { ...from("B"), ...signed(5) }),
    ];
    expect(statuses(moves)).toEqual(["active"]);
  });
});
