import type { CustomerEntitlement } from "../../../lib/contract/schemas.ts";
import { holdingsOf } from "../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/payloads.ts";
import { aVerifiedTransaction } from "../../../testing/support/stores/ios-store.ts";
import { aCatalog, aProduct, DAY, entitlementsAt, NOW } from "../../../testing/support/stores/purchases.ts";

/** Lineages that replace one another, from verified payloads to the answer. */

const customerIdentifier = customerId("00000000-0000-4000-8000-000000000001");
const catalog = aCatalog([aProduct()]);

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

/** A month that began so many days ago, signed then: `lineage:id`. */
const month = (name: string, began: number, fields: Partial<Transaction> = {}) => {
  const [originalTransactionId = "", id = ""] = name.split(":");
  return aVerifiedTransaction({
    transactionId: id,
    originalTransactionId,
    productId: "monthly",
    webOrderLineItemId: id,
    purchaseDate: NOW - began * DAY,
    expiresDate: NOW - (began - 30) * DAY,
    signedAt: NOW - began * DAY + 1000,
    ...fields,
  });
};
const from = (previousOriginalTransactionId: string) => ({ previousOriginalTransactionId });

describe("previousOriginalTransactionId", () => {
  const [older, first] = [month("A:1", 70), month("A:1", 10)];
  const whole = { webOrderLineItemId: "w", expiresDate: NOW + 300 * DAY };
  const refunded = month("A:1", 60, { ...whole, revocationDate: NOW - 50 * DAY, signedAt: NOW - 40 * DAY });
  const restored = month("A:3", 55, whole);
  const naming = month("B:2", 40, { ...from("A"), webOrderLineItemId: "w2" });
  const renewal = month("B:4", 10, from("A"));
  const takenBack = { ...renewal, revocationDate: NOW - DAY, signedAt: NOW - DAY };
  const between = [month("B:2", 40, from("A")), month("A:3", 25), renewal, takenBack];
  const copied = { ...naming, transactionId: "9", purchaseDate: NOW - DAY, signedAt: NOW - DAY };
  const moved = (began: number, expiresDate: number) => month("B:2", began, { ...from("A"), expiresDate });
  const mutual = (name: string, other: string, signed: number) =>
    month(name, 10, { ...from(other), webOrderLineItemId: "w", signedAt: NOW - signed * DAY });

  test.each<[rule: string, expected: string, transactions: Transaction[], moment?: number]>([
    ["ends what the older lineage had", "expired", [first, moved(5, NOW - 1)]],
    [
      "shows a refund under the new lineage",
      "revoked",
      [first, month("B:2", 5, { ...from("A"), revocationDate: NOW - 1 })],
    ],
    ["a restored copy does not undo a refund", "revoked", [refunded, restored]],
    ["a move does not undo a refund", "expired", [refunded, restored, moved(57, NOW - 27 * DAY)]],
    ["on the renewals after a move ends nothing new", "active", [older, naming, renewal]],
    ["does not end what the older lineage pays between", "active", between],
    ["ends with the older lineage's last period", "expired", between, NOW + 5 * DAY],
    ["on a restored copy does not end later periods", "active", [older, naming, month("A:3", 10), copied]],
    [
      "ends neither of two lineages that name each other",
      "active",
      [mutual("B:3", "A", 9), mutual("A:7", "B", 5)],
    ],
  ])("%s: %s", (_, expected, transactions, moment = NOW) => {
    expect(statuses(transactions, moment)).toEqual([expected]);
  });
  test("lets the older lineage last until the new one begins", () => {
    const ahead = month("B:2", -1, { ...from("A"), signedAt: NOW - 1000 });
    for (const hours of [0, 23, 24, 25])
      expect(statuses([month("A:1", 29), ahead], NOW + hours * 3_600_000)).toEqual(["active"]);
  });
  test("gives a payer access whose lineages move back and forth", () => {
    const moves = [
      month("A:1", 90),
      month("B:2", 60, from("A")),
      month("A:3", 30, from("B")),
      month("B:4", 0, from("A")),
    ];
    for (let step = 0; step < moves.length; step += 1)
      expect(statuses(moves.slice(0, step + 1), NOW - (89 - 30 * step) * DAY)).toEqual(["active"]);
  });
});
