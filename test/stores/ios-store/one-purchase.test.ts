import type { CustomerEntitlement } from "../../../lib/contract/schemas.ts";
import { holdingsOf } from "../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../../testing/support/ios-store.ts";
import { aCatalog, aProduct, DAY, entitlementsAt, NOW, period } from "../../../testing/support/purchases.ts";
import { signedInXcode } from "./as-signed.ts";

/** Purchases under several transaction ids, from verified payloads to the answer. */

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

  test("have no start when only a copy restored later is known", () => {
    expect(answer([period("1", -5, -10)])).toMatchObject([
      { status: "expired", startsAt: null, expiresAt: isoTime(NOW - 10 * DAY) },
    ]);
  });
  test("that were extended outlast an older restored copy's start", () => {
    const restored = period("2", -10, 0, { ...oneWebOrder, signedAt: NOW - 10 * DAY });
    const extended = period("1", -30, 15, { ...oneWebOrder, signedAt: NOW - 5 * DAY });
    expect(answer([restored, extended], NOW + 5 * DAY)).toMatchObject([
      { status: "active", startsAt: isoTime(NOW - 30 * DAY), expiresAt: isoTime(NOW + 15 * DAY) },
    ]);
  });
  test("that were extended are refunded under the id of a restored copy", () => {
    const first = period("1", -30, 335, { ...oneWebOrder, signedAt: NOW - 25 * DAY });
    const refunded = period("2", -10, 350, { ...oneWebOrder, revokedAt: NOW - DAY });
    expect(statuses([first, refunded])).toEqual(["revoked"]);
  });
  test("that an upgrade ended stay ended when the upgrade is refunded", () => {
    const yearly = period("1", -10, 355, { productIdentifier: "yearly" });
    const upgrade = period("2", -2, 28, { revokedAt: NOW - DAY });
    expect(statuses([yearly, upgrade])).toEqual(["revoked"]);
  });
  test("of the better product outlast an upgraded one restored later", () => {
    const better = period("2", -10, 355, { productIdentifier: "yearly" });
    const restored = period("3", -1, 5, { isUpgraded: true });
    expect(answer([better, restored])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 355 * DAY) },
    ]);
  });
});

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
    ["not refunded under any id", "active", [copy("100", 9), copy("101", 8)]],
    ["refunded under one id", "revoked", [refunded("100", 10)]],
    [
      "refunded under one id, when another id is signed later without the refund",
      "revoked",
      [refunded("100", 10), copy("101", 1)],
    ],
    [
      "refunded under one id, when a smaller id is signed later without the refund",
      "revoked",
      [refunded("101", 10), copy("100", 1)],
    ],
    [
      "refunded under one id, when another was bought after the refund, and signed before it",
      "active",
      [refunded("100", 10), copy("101", 11, restored(12))],
    ],
    [
      "refunded under one id, when another was restored before that copy and signed after it",
      "revoked",
      [refunded("101", 10, restored(30)), copy("100", 1, restored(31))],
    ],
    [
      "refunded under one id, when another was restored at the same moment and signed after it",
      "revoked",
      [refunded("101", 10, restored(30)), copy("100", 1, restored(30))],
    ],
    [
      "refunded under one id, when another was restored before the refund, however late that is signed",
      "revoked",
      [refunded("100", 10), copy("101", 1, restored(25))],
    ],
    [
      "bought anew under another id, when the refund is signed at the same moment",
      "active",
      [refunded("100", 10), copy("101", 10, restored(12))],
    ],
    [
      "bought anew under another id, later and signed later",
      "active",
      [refunded("100", 10), copy("101", 1, restored(5))],
    ],
    [
      "bought anew under another id, when the refunded one is signed again later",
      "active",
      [refunded("100", 10), copy("101", 5, restored(5)), copy("101", 2, restored(5)), refunded("100", 1)],
    ],
    [
      "bought anew and refunded again",
      "revoked",
      [refunded("100", 10), copy("101", 5, restored(5)), refunded("101", 1, restored(5))],
    ],
    [
      "bought anew while it was refunded, which was reversed, and the second purchase refunded",
      "revoked",
      [
        refunded("100", 10),
        copy("100", 6),
        refunded("101", 1, { ...restored(15), revokedAt: NOW - 2 * DAY }),
      ],
    ],
    ["with its refund reversed under the refunded id", "active", [refunded("100", 10), copy("100", 1)]],
    [
      "with its refund reversed under the refunded id, when another id was never refunded",
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

  test("shows the refunded copy, not the one without the refund", () => {
    expect(answer([refunded("100", 10), copy("101", 1)])).toMatchObject([
      {
        revokedAt: isoTime(NOW - 20 * DAY),
        expiresAt: isoTime(NOW - 20 * DAY),
        lastVerifiedAt: isoTime(NOW - 10 * DAY),
      },
    ]);
  });
  test("starts at its first purchase, whatever was restored since", () => {
    expect(answer([copy("100", 9), copy("101", 1, restored(2))])).toMatchObject([
      { status: "active", startsAt: isoTime(BOUGHT), lastVerifiedAt: isoTime(NOW - DAY) },
    ]);
  });
  test("is refunded apart from another product of the same lineage", () => {
    expect(statuses([refunded("100", 10), copy("101", 20, { productIdentifier: "maps" })])).toEqual([
      "active",
      "revoked",
    ]);
  });
});

describe("a subscription's period", () => {
  /** A period of a month that began `began` days ago. */
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
    ["the larger id", "201", "200"],
    ["the smaller id", "200", "201"],
  ])("is revoked under both of its ids when %s carries the refund", (_, carrying, other) => {
    expect(statuses([month(carrying, 10, { ...refund, ...at(4) }), month(other, 10, at(1))])).toEqual([
      "revoked",
    ]);
  });
  test("is shown when refunded, and not the ended period before", () => {
    expect(
      answer([month("200", 40), month("201", 10, { ...refund, ...at(4) }), month("202", 10, at(1))]),
    ).toMatchObject([{ status: "revoked", revokedAt: isoTime(NOW - 5 * DAY) }]);
  });
  test("ends as signed last when it is extended, under whichever id", () => {
    const extended = { expiresAt: NOW + 25 * DAY, ...at(1) };
    expect(answer([month("200", 10), month("201", 10, extended)])).toMatchObject([
      { expiresAt: isoTime(NOW + 25 * DAY) },
    ]);
    expect(answer([month("200", 10, extended), month("200", 10)])).toMatchObject([
      { expiresAt: isoTime(NOW + 25 * DAY) },
    ]);
  });
  test("is a period of its own when bought again", () => {
    expect(statuses([month("200", 10, { ...refund, ...at(4) }), month("201", 2)])).toEqual(["active"]);
  });
  test("without an order line item is named by its product and end", () => {
    const none = { webOrderLineItemIdentifier: null };
    const copies = [
      month("200", 10, { ...none, ...refund, ...at(4) }),
      month("201", 10, { ...none, ...at(1) }),
    ];
    expect(statuses(copies)).toEqual(["revoked"]);
    const other = month("201", 10, { ...none, ...at(1), expiresAt: NOW + 21 * DAY });
    expect(statuses([month("200", 10, { ...none, ...refund, ...at(4) }), other])).toEqual(["active"]);
  });
  test("stays current beside a renewal ahead of time under two ids", () => {
    const ahead = ["201", "202"].map((id) => month(id, -20, at(0)));
    expect(answer([month("200", 10), ...ahead])).toMatchObject([
      { status: "active", startsAt: isoTime(NOW - 10 * DAY), expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
    expect(answer([month("200", 10), ...ahead], NOW + 20 * DAY)).toMatchObject([
      { status: "active", startsAt: isoTime(NOW + 20 * DAY), expiresAt: isoTime(NOW + 50 * DAY) },
    ]);
  });
  test("lasts to its end when a renewal ahead of time is refunded", () => {
    const ahead = month("201", -20, { revokedAt: NOW - DAY, ...at(0) });
    expect(answer([month("200", 10), ahead])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
    // The current period gave access for longer than the refunded one, so it is shown.
    expect(statuses([month("200", 10), ahead], NOW + 20 * DAY)).toEqual(["expired"]);
  });
  test("stays current beside ten renewals ahead of time, each under two ids", () => {
    const ahead = Array.from({ length: 10 }, (_, index) =>
      ["a", "b"].map((id) => month(`${201 + index}${id}`, -20 - 30 * index, at(0))),
    ).flat();
    expect(answer([month("200", 10), ...ahead])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
  });
  test("stays current beside two hundred ended products of its group", () => {
    const over = Array.from({ length: 200 }, (_, index) =>
      month(`${300 + index}`, 40 + index, { productIdentifier: `product ${index}`, ...at(5) }),
    );
    expect(answer([...over, month("200", 10, at(8))])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
  });
  test.each([
    ["signed before its end, at the signing", 3, NOW - 3 * DAY],
    ["signed after its end, at its end", -25, NOW + 20 * DAY],
  ])("is ended by an upgrade that was %s", (_, signed, end) => {
    expect(answer([month("200", 10, { isUpgraded: true, ...at(signed) })], NOW + 26 * DAY)).toMatchObject([
      { status: "expired", expiresAt: isoTime(end) },
    ]);
  });
  test("is ended by an upgrade at the start of the better product", () => {
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
  test("refunded under one id is revoked; a restored id is no purchase", () => {
    const copies = [
      pass("400", BOUGHT, { revokedAt: NOW - 9, signedAt: NOW - 8 }),
      pass("401", NOW - 2, { signedAt: NOW - 1 }),
    ];
    expect(answer(copies)).toMatchObject([{ status: "revoked", revokedAt: isoTime(NOW - 9) }]);
  });
  test("with one of three refunded has two left under either id", () => {
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
  ])("three with %i thousandths of a per cent refunded last %i days", (revokedMilliPercent, left) => {
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
  });
  test("with all of three refunded is revoked", () => {
    const three = pass("400", NOW - 9, { quantity: 3, revokedAt: NOW - 5, revokedMilliPercent: 100_000 });
    expect(statuses([three])).toEqual(["revoked"]);
  });
});

describe("in Xcode, where every id is 0", () => {
  const forever = (productIdentifier: string, fields: Partial<Transaction> = {}) =>
    signedInXcode(productIdentifier, { nature: "non_consumable", expiresAt: null, ...fields });

  test("unrelated purchases stay apart: one's refund does not revoke the other", () => {
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
  test("the periods of a subscription are told apart by their ends", () => {
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

  test("ends what the older lineage had", () => {
    const moved = period("B", "2", 5, { ...from("A"), expiresAt: NOW - 1 });
    expect(statuses([period("A", "1", 10)])).toEqual(["active"]);
    expect(answer([period("A", "1", 10), moved])).toMatchObject([
      { status: "expired", startsAt: isoTime(NOW - 5 * DAY) },
    ]);
  });
  test("lets the older lineage last until the new one begins", () => {
    const older = period("A", "1", 29);
    const ahead = period("B", "2", -1, { ...from("A"), signedAt: NOW - 1000 });
    for (const hours of [0, 23, 24, 25])
      expect(statuses([older, ahead], NOW + hours * 3_600_000)).toEqual(["active"]);
  });
  test("does not undo the older lineage's refund by a restored copy", () => {
    const whole = { webOrderLineItemIdentifier: "w", expiresAt: NOW + 300 * DAY };
    const refunded = period("A", "1", 60, { ...whole, revokedAt: NOW - 50 * DAY, signedAt: NOW - 40 * DAY });
    const restored = period("A", "3", 55, whole);
    const moved = period("B", "2", 57, { ...from("A"), expiresAt: NOW - 27 * DAY });
    expect(statuses([refunded, restored])).toEqual(["revoked"]);
    expect(statuses([refunded, restored, moved])).toEqual(["expired"]);
  });
  test("shows a refund under the new lineage", () => {
    const moved = period("B", "2", 5, { ...from("A"), revokedAt: NOW - 1 });
    expect(statuses([period("A", "1", 10), moved])).toEqual(["revoked"]);
  });
  test("does not end what the older lineage gets later", () => {
    const moved = period("B", "2", 40, from("A"));
    expect(statuses([period("A", "1", 70), moved, period("A", "3", 5)])).toEqual(["active"]);
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
  test("on the renewals after a move ends nothing new", () => {
    const moves = [period("A", "1", 70), period("B", "2", 40, from("A")), period("B", "3", 10, from("A"))];
    expect(statuses(moves)).toEqual(["active"]);
  });
  test("does not end what the older lineage paid between two renewals", () => {
    const moves = [period("B", "2", 40, from("A")), period("A", "3", 25), period("B", "4", 10, from("A"))];
    const refunded = { ...period("B", "4", 10, from("A")), revokedAt: NOW - DAY, signedAt: NOW - DAY };
    expect(statuses([...moves, refunded])).toEqual(["active"]);
    expect(statuses([...moves, refunded], NOW + 5 * DAY)).toEqual(["expired"]);
  });
  test("on a restored copy does not end the older lineage's later periods", () => {
    const naming = period("B", "2", 40, { ...from("A"), webOrderLineItemIdentifier: "w2" });
    const restored = { ...naming, transactionIdentifier: "9", purchasedAt: NOW - DAY, signedAt: NOW - DAY };
    expect(statuses([period("A", "1", 70), naming, period("A", "3", 10), restored])).toEqual(["active"]);
  });
  test("on a later restored copy replaces only up to its own end", () => {
    const naming = period("B", "22", -5, { ...from("A"), expiresAt: NOW - 10 * DAY, signedAt: NOW });
    const back = period("A", "3", 10, from("B"));
    expect(statuses([period("A", "1", 70), naming, back])).toEqual(["active"]);
  });
  describe("on one period under two transaction ids in two lineages", () => {
    const signed = (daysAgo: number) => ({ webOrderLineItemIdentifier: "w", signedAt: NOW - daysAgo * DAY });
    test("ends neither lineage when they name each other", () => {
      const moves = [
        period("B", "3", 10, { ...from("A"), ...signed(9) }),
        period("A", "7", 10, { ...from("B"), ...signed(5) }),
      ];
      expect(statuses(moves)).toEqual(["active"]);
    });
    test("ends neither lineage when they name each other under two web orders", () => {
      const moves = [
        period("B", "9", 10, { ...from("A"), webOrderLineItemIdentifier: "w9" }),
        period("A", "7", 10, { ...from("B"), webOrderLineItemIdentifier: "w7" }),
      ];
      expect(statuses(moves)).toEqual(["active"]);
    });
    test("counts the period once, whichever id was signed last in which lineage", () => {
      const moves = [
        period("A", "7", 10, signed(9)),
        period("B", "8", 10, signed(6)),
        period("B", "7", 10, signed(5)),
        period("A", "8", 10, signed(1)),
      ];
      for (let step = 1; step <= moves.length; step += 1)
        expect(statuses(moves.slice(0, step))).toEqual(["active"]);
    });
  });
  test("ends neither of two lineages that name each other in one period", () => {
    const signed = (began: number) => ({ signedAt: NOW - began * DAY });
    const moves = [
      period("B", "2", 10, { ...from("A"), ...signed(9) }),
      period("A", "2", 10, { ...from("B"), ...signed(5) }),
    ];
    expect(statuses(moves)).toEqual(["active"]);
  });
});
