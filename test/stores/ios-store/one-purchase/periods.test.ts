import { isoTime } from "../../../../lib/entitlements/time.ts";
import type { Transaction } from "../../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { answer, statuses } from "./answer.ts";

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

  test("that were extended outlast an older restored copy's start", () => {
    const restored = period("2", -10, 0, { ...oneWebOrder, signedAt: NOW - 10 * DAY });
    const extended = period("1", -30, 15, { ...oneWebOrder, signedAt: NOW - 5 * DAY });
    expect(answer([restored, extended], NOW + 5 * DAY)).toMatchObject([
      { status: "active", startsAt: isoTime(NOW - 30 * DAY), expiresAt: isoTime(NOW + 15 * DAY) },
    ]);
  });

  test("that an upgrade ended stay ended when the upgrade is refunded", () => {
    const yearly = period("1", -10, 355, { productIdentifier: "yearly" });
    const upgrade = period("2", -2, 28, { revokedAt: NOW - DAY });
    expect(statuses([yearly, upgrade])).toEqual(["revoked"]);
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

  test("lasts to its end when a renewal ahead of time is refunded", () => {
    const ahead = month("201", -20, { revokedAt: NOW - DAY, ...at(0) });
    expect(answer([month("200", 10), ahead])).toMatchObject([
      { status: "active", expiresAt: isoTime(NOW + 20 * DAY) },
    ]);
    // The current period gave access for longer than the refunded one, so it is shown.
    expect(statuses([month("200", 10), ahead], NOW + 20 * DAY)).toEqual(["expired"]);
  });
  test.each([
    ["signed before its end, at the signing", 3, NOW - 3 * DAY],
    ["signed after its end, at its end", -25, NOW + 20 * DAY],
  ])("is ended by an upgrade that was %s", (_, signed, end) => {
    expect(answer([month("200", 10, { isUpgraded: true, ...at(signed) })], NOW + 26 * DAY)).toMatchObject([
      { status: "expired", expiresAt: isoTime(end) },
    ]);
  });
});

describe("in Xcode, where every id is 0", () => {});
