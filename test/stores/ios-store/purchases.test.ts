import { purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../../lib/stores/ios-store/transaction.ts";
import { aVerifiedTransaction } from "../../support/ios-store.ts";
import { DAY, NOW } from "../../support/purchases.ts";

const lineOf = (fields: Partial<Transaction> = {}) =>
  purchasesOf([aVerifiedTransaction(fields)])[0]?.lines[0];

describe("the purchase of a transaction", () => {
  test("is its lineage, with one line", () => {
    expect(purchasesOf([aVerifiedTransaction()])).toEqual([
      {
        store: "ios-store",
        environment: "production",
        key: "700000000000001",
        lines: [
          {
            transactionIdentifier: "700000000000002",
            productIdentifier: "com.example.trails.premium.monthly",
            basePlanIdentifier: null,
            nature: "auto_renewable",
            standing: "entitled",
            startsAt: NOW - 10 * DAY,
            endsAt: NOW + 20 * DAY,
            revokedAt: null,
            willRenew: null,
            verifiedAt: NOW - 1000,
          },
        ],
        selectedProducts: null,
        replacedBy: null,
        verifiedAt: NOW - 1000,
      },
    ]);
  });
  test.each(["non_renewing", "non_consumable", "consumable"] as const)(
    "has no end of its own where it is %s, whatever the payload says",
    (nature) => {
      expect(lineOf({ nature })).toMatchObject({ nature, endsAt: null, standing: "entitled" });
    },
  );
  test("is revoked from the revocation on", () => {
    expect(lineOf({ revokedAt: NOW - DAY })).toMatchObject({ revokedAt: NOW - DAY, standing: "entitled" });
  });
  test.each([
    ["the upgrade was signed before the end", NOW - 1000, NOW + 20 * DAY, NOW - 1000],
    ["the end came before", NOW, NOW - DAY, NOW - DAY],
  ])("is ended by an upgrade: %s", (_, signedAt, expiresAt, endsAt) => {
    expect(lineOf({ isUpgraded: true, signedAt, expiresAt })).toMatchObject({ standing: "expired", endsAt });
  });
  test("of another type is ended by an upgrade too", () => {
    expect(lineOf({ isUpgraded: true, nature: "non_consumable", expiresAt: null })).toMatchObject({
      standing: "expired",
      endsAt: NOW - 1000,
    });
  });
});

describe("the purchases of transactions", () => {
  const renewal = (transactionIdentifier: string, month: number, fields: Partial<Transaction> = {}) =>
    aVerifiedTransaction({
      transactionIdentifier,
      purchasedAt: NOW + (month - 5) * 30 * DAY,
      expiresAt: NOW + (month - 4) * 30 * DAY,
      ...fields,
    });
  test("are one for each lineage and environment, in order", () => {
    const other = aVerifiedTransaction({ originalTransactionIdentifier: "600" });
    const sandbox = aVerifiedTransaction({ environment: "sandbox" });
    expect(
      purchasesOf([sandbox, renewal("2", 1), other, renewal("3", 2)]).map(({ environment, key, lines }) => [
        environment,
        key,
        lines.length,
      ]),
    ).toEqual([
      ["production", "600", 1],
      ["production", "700000000000001", 2],
      ["sandbox", "700000000000001", 1],
    ]);
  });
  test("are the same in any order and with duplicates", () => {
    const facts = [
      renewal("1", 0),
      renewal("2", 1, { isUpgraded: true }),
      renewal("3", 1, { productIdentifier: "p" }),
    ];
    expect(purchasesOf([...facts.toReversed(), ...facts])).toEqual(purchasesOf(facts));
  });
  test("take of one transaction what was signed later, so a reversed refund restores", () => {
    const [refunded, restored] = [
      aVerifiedTransaction({ signedAt: NOW - 3, revokedAt: NOW - DAY }),
      aVerifiedTransaction({ signedAt: NOW - 2 }),
    ];
    expect(purchasesOf([restored, refunded])[0]?.lines[0]).toMatchObject({
      revokedAt: null,
      verifiedAt: NOW - 2,
    });
  });
  test("of none are none", () => {
    expect(purchasesOf([])).toEqual([]);
  });
});
