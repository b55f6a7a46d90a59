import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  aNotification,
  aRenewalInfo,
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
const verify = (payload: object | string | Uint8Array) =>
  verifier.verifyTransaction(signJws(payload, chain), trust, NOW);
const outcome = async (payload: object | string | Uint8Array) => word(await verify(payload));

describe("a transaction", () => {
  test.each([
    ["transactionId"],
    ["originalTransactionId"],
    ["productId"],
    ["bundleId"],
    ["purchaseDate"],
    ["environment"],
    ["type"],
  ])("must have %s", async (field) => {
    expect(await outcome(aTransaction({ [field]: undefined }))).toBe("wrong_kind");
    expect(await outcome(aTransaction({ [field]: null }))).toBe(
      field === "environment" ? "environment" : "malformed_payload",
    );
  });

  test.each<[string, unknown[]]>([
    ["transactionId", [700000000000002, "", "1 2", "1\n", "1".repeat(129)]],
    ["originalTransactionId", ["é", ["1"]]],
    ["productId", ["", 1, "p".repeat(257)]],
    ["bundleId", ["", {}]],
    ["purchaseDate", [String(NOW), NOW + 0.5, -1, Date.UTC(10_000, 0)]],
    ["expiresDate", ["2026-01-01"]],
    ["originalPurchaseDate", ["2026-01-01"]],
    ["revocationDate", [true, -1]],
    ["revocationPercentage", [-1, "33333"]],
    ["isUpgraded", [1]],
    ["type", ["Auto-Renewable", 1]],
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

  test.each([
    ["Non-Renewing Subscription", "non_renewing"],
    ["Non-Consumable", "non_consumable"],
    ["Consumable", "consumable"],
  ] as const)("of type %p needs no end", async (type, nature) => {
    for (const expiresDate of [undefined, null])
      expect(await verify(aTransaction({ type, expiresDate }))).toEqual({
        outcome: "verified",
        payload: asSigned({ nature, expiresAt: null }),
      });
  });
  test.each([undefined, null])(
    "of an auto-renewable subscription must have an end: %p is refused",
    async (expiresDate) => {
      expect(await outcome(aTransaction({ expiresDate }))).toBe("malformed_payload");
    },
  );

  test.each([
    ["previousOriginalTransactionId", "600", { previousOriginalTransactionIdentifier: "600" }],
    ["previousOriginalTransactionId", "0", { previousOriginalTransactionIdentifier: null }],
    ["appTransactionId", "0", { appTransactionIdentifier: null }],
    ["webOrderLineItemId", "0", { webOrderLineItemIdentifier: null }],
    ["webOrderLineItemId", undefined, { webOrderLineItemIdentifier: null }],
    ["subscriptionGroupIdentifier", "", { subscriptionGroupIdentifier: null }],
    ["originalPurchaseDate", NOW - 90 * DAY, { originalPurchasedAt: NOW - 90 * DAY }],
    ["originalPurchaseDate", undefined, { originalPurchasedAt: null }],
    ["quantity", 3, { quantity: 3 }],
    ["quantity", 0, { quantity: 1 }],
    ["quantity", undefined, { quantity: 1 }],
    ["revocationPercentage", 33333, { revokedMilliPercent: 33333 }],
  ])("is read when %s is %p", async (field, value, expected) => {
    expect(await verify(aTransaction({ [field]: value }))).toEqual({
      outcome: "verified",
      payload: asSigned(expected),
    });
  });
});

test.each<[what: string, fields: Payload, expected: string]>([
  ["the environment Sandbox", { environment: "Sandbox" }, "verified"],
  ["the environment Xcode", { environment: "Xcode" }, "environment"],
  ["the environment constructor", { environment: "constructor" }, "environment"],
  ["no time of signing", { signedDate: undefined }, "signing_time"],
  ["a text as time of signing", { signedDate: String(NOW) }, "signing_time"],
  ["a fraction as time of signing", { signedDate: NOW - 0.5 }, "signing_time"],
  ["a signing as late as clocks may differ", { signedDate: NOW + 60_000 }, "verified"],
  ["a later signing", { signedDate: NOW + 60_001 }, "signing_time"],
  ["a signing in seconds", { signedDate: Math.floor(NOW / 1000) }, "outside_validity"],
])("a transaction with %s", async (_, fields, expected) => {
  expect(await outcome(aTransaction(fields))).toBe(expected);
});

test.each<[string, object]>([
  ["renewal info", aRenewalInfo()],
  ["a notification", aNotification(chain)],
  ["an app transaction", anAppTransaction()],
  ["nothing", {}],
  ["a transaction with renewal info's fields", { ...aTransaction(), autoRenewStatus: 1 }],
  ["a transaction with a notification's fields", { ...aTransaction(), notificationType: "REFUND" }],
  ["a transaction with an app transaction's fields", { ...anAppTransaction(), ...aTransaction() }],
])("in place of a transaction, %s is refused", async (_, payload) => {
  expect(await outcome(payload)).toBe("wrong_kind");
});

describe("a payload", () => {
  const json = JSON.stringify(aTransaction());
  const adding = (member: string) => json.replace(/\}$/, `,${member}}`);
  test.each([
    ["an object with a product twice", adding('"productId":"com.example.trails.premium.yearly"')],
    ["an object with a product twice, once escaped", adding('"product\\u0049d":"other"')],
    ["a deeply nested duplicate", adding('"new":[[{"a":{"b":1,"c":"}","b":2}}]]')],
    ["a list", `[${json}]`],
    ["a byte order mark", `\uFEFF${json}`],
  ])("that is %s is refused", async (_, text) => {
    expect(await outcome(text)).toBe("malformed_payload");
  });
  test("that is not UTF-8 is refused", async () => {
    const [before = "", after = ""] = json.split("PURCHASED");
    const bytes = Buffer.concat([Buffer.from(before), Buffer.of(0xc3, 0x28), Buffer.from(after)]);
    expect(await outcome(bytes)).toBe("malformed_payload");
  });
});

describe("the transactions of a request", () => {
  test("keep their order", async () => {
    const jws = ["1", "2", "3"].map((transactionId) => signJws(aTransaction({ transactionId }), chain));
    expect(await verifier.verifyTransactions(jws, trust, NOW)).toEqual({
      outcome: "verified",
      payload: ["1", "2", "3"].map((transactionIdentifier) => asSigned({ transactionIdentifier })),
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
