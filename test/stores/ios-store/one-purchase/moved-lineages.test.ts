import type { Transaction } from "../../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { statuses } from "./answer.ts";

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
