import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  aTransaction,
  trusting,
  word,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { asSigned } from "./as-signed.ts";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const verifier = createIosStoreVerifier();
const verify = (payload: object | string) =>
  verifier.verifyTransactions([signJws(payload, chain)], trust, NOW);
const outcome = async (payload: object | string) => word(await verify(payload));

describe("a transaction", () => {
  test.each<[string, unknown[]]>([
    ["transactionId", [null, 700000000000002, "", "1 2", "1\n", "1".repeat(129)]],
    ["originalTransactionId", [null, "é", ["1"]]],
    ["productId", [null, "", 1, "p".repeat(257)]],
    ["bundleId", [null, "", {}]],
    ["purchaseDate", [null, String(NOW), -1, Date.UTC(10_000, 0)]],
    ["expiresDate", [undefined, null, "2026-01-01"]],
    ["originalPurchaseDate", ["2026-01-01"]],
    ["revocationDate", [true, -1]],
    ["revocationPercentage", [-1, "33333"]],
    ["isUpgraded", [1]],
    ["type", [null, "Auto-Renewable", 1]],
    ["appTransactionId", ["", 704]],
    ["previousOriginalTransactionId", ["", 700]],
    ["webOrderLineItemId", [7]],
    ["subscriptionGroupIdentifier", [21454321, "2".repeat(257)]],
    ["quantity", [1.5, -1, "1"]],
  ])("is refused for a bad %s", async (field, values) => {
    for (const value of values)
      expect([value, await outcome(aTransaction({ [field]: value }))]).toEqual([value, "malformed_payload"]);
  });

  test.each<[string, unknown[]]>([
    ["transactionId", ["a.b-c_1", "1".repeat(128)]],
    ["revocationDate", [null]],
    ["revocationPercentage", [33333.3, null]],
    ["quantity", [null]],
    ["appTransactionId", [null]],
    ["inAppOwnershipType", ["FAMILY_SHARED", undefined]],
    ["offerType", [99]],
    ["revocationType", ["A_NEW_ONE"]],
    ["aNewField", [{ deeply: [{ nested: true }] }]],
    ["__proto__", [{ productId: "other" }]],
  ])("is verified with an unusual %s", async (field, values) => {
    for (const value of values)
      expect([value, await outcome(aTransaction({ [field]: value }))]).toEqual([value, "verified"]);
  });

  const others = ["Non-Renewing Subscription", "Non-Consumable", "Consumable"] as const;
  test.each(others)("of type %p needs no end", async (type) => {
    for (const expiresDate of [undefined, null])
      expect(await verify(aTransaction({ type, expiresDate }))).toEqual({
        outcome: "verified",
        payload: [asSigned({ type, expiresDate: null })],
      });
  });

  test.each([
    ["previousOriginalTransactionId", "600", "600"],
    ["previousOriginalTransactionId", "0", null],
    ["appTransactionId", "0", null],
    ["webOrderLineItemId", "0", null],
    ["webOrderLineItemId", undefined, null],
    ["subscriptionGroupIdentifier", "", null],
    ["originalPurchaseDate", NOW - 90 * DAY, NOW - 90 * DAY],
    ["originalPurchaseDate", undefined, null],
    ["quantity", 3, 3],
    ["quantity", 0, null],
    ["quantity", undefined, null],
    ["revocationPercentage", 33333, 33333],
    ["isUpgraded", undefined, null],
  ])("whose %s is %p has %p", async (field, value, read) => {
    expect(await verify(aTransaction({ [field]: value }))).toEqual({
      outcome: "verified",
      payload: [asSigned({ [field]: read })],
    });
  });
});

test.each<[what: string, fields: Payload, expected: string]>([
  ["the environment constructor", { environment: "constructor" }, "environment"],
  ["the environment null", { environment: null }, "environment"],
  ["a signing as late as clocks may differ", { signedDate: NOW + 60_000 }, "verified"],
  ["a later signing", { signedDate: NOW + 60_001 }, "signing_time"],
  ["an app transaction's fields", anAppTransaction(), "wrong_kind"],
  ["the product that it renews into", { autoRenewProductId: "other" }, "wrong_kind"],
])("a transaction with %s", async (_, fields, expected) => {
  expect(await outcome(aTransaction(fields))).toBe(expected);
});

test("a payload with a deeply nested duplicate is refused", async () => {
  const json = JSON.stringify(aTransaction({ new: [[{ a: { b: 1, c: "}", d: 2 } }]] }));
  expect(await outcome(json)).toBe("verified");
  expect(await outcome(json.replace('"d":2', '"b":2'))).toBe("malformed_payload");
});

describe("the transactions of a request", () => {
  test("keep their order", async () => {
    const jws = ["1", "2", "3"].map((transactionId) => signJws(aTransaction({ transactionId }), chain));
    expect(await verifier.verifyTransactions(jws, trust, NOW)).toEqual({
      outcome: "verified",
      payload: ["1", "2", "3"].map((transactionId) => asSigned({ transactionId })),
    });
    expect(await verifier.verifyTransactions([], trust, NOW)).toEqual({ outcome: "verified", payload: [] });
  });
  test("are refused with the first bad one and its index", async () => {
    const jws = [aTransaction(), aTransaction({ type: "Gift" }), {}].map((payload) =>
      signJws(payload, chain),
    );
    expect(await verifier.verifyTransactions([...jws, ""], trust, NOW)).toEqual({
      outcome: "rejected",
      reason: "malformed_payload",
      index: 1,
    });
  });
});
