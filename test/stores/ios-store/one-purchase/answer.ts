import type { CustomerEntitlement } from "../../../../lib/contract/schemas.ts";
import { holdingsOf } from "../../../../lib/entitlements/holdings.ts";
import { joinAll } from "../../../../lib/entitlements/join.ts";
import { customerId } from "../../../../lib/identifiers.ts";
import { purchasesOf } from "../../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../../lib/stores/ios-store/transaction.ts";
import {
  aCatalog,
  aProduct,
  entitlementsAt,
  NOW,
  period,
} from "../../../../testing/support/stores/purchases.ts";

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
export const answer = (transactions: readonly Transaction[], moment = NOW): CustomerEntitlement[] => {
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
export const statuses = (transactions: readonly Transaction[], moment = NOW) =>
  answer(transactions, moment).map(({ status }) => status);
