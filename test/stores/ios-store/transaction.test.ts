import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  aNotification,
  aRenewalInfo,
  aTransaction,
  trusting,
  word,
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

  const YEAR_10000 = Date.UTC(10_000, 0);
  test.each<[string, unknown[]]>([
    ["transactionId", [700000000000002, "", "1 2", "1\n", "#1", "1".repeat(129)]],
    ["originalTransactionId", ["é", ["1"]]],
    ["productId", ["", 1, "p".repeat(257)]],
    ["bundleId", ["", {}]],
    ["purchaseDate", [String(NOW), NOW + 0.5, -1, YEAR_10000]],
    ["expiresDate", ["2026-01-01", YEAR_10000]],
    ["originalPurchaseDate", ["2026-01-01", -1]],
    ["revocationDate", [true, -1]],
    ["revocationPercentage", [-1, "33333"]],
    ["isUpgraded", [1, "true"]],
    ["type", ["Auto-Renewable", "Gift", 1]],
    ["appTransactionId", ["", 704, "7".repeat(129)]],
    ["previousOriginalTransactionId", ["", 700]],
    ["webOrderLineItemId", [7, "7".repeat(129)]],
    ["subscriptionGroupIdentifier", [21454321, "2".repeat(257)]],
    ["quantity", [1.5, -1, "1"]],
  ])("is refused for a bad %s", async (field, values) => {
    for (const value of values)
      expect([value, await outcome(aTransaction({ [field]: value }))]).toEqual([value, "malformed_payload"]);
  });

  test.each<[string, unknown[]]>([
    ["transactionId", ["a.b-c_1", "1".repeat(128)]],
    ["productId", ["p".repeat(256)]],
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

describe("the environment", () => {
  test.each([
    ["Production", "verified"],
    ["Sandbox", "verified"],
    ["Xcode", "environment"],
    ["LocalTesting", "environment"],
    ["constructor", "environment"],
  ])("%p under a chain of the App Store: %s", async (environment, expected) => {
    expect(await outcome(aTransaction({ environment }))).toBe(expected);
  });
});

describe("the time of signing", () => {
  test.each<[string, unknown, string]>([
    ["missing", undefined, "signing_time"],
    ["text", String(NOW), "signing_time"],
    ["a fraction", NOW - 0.5, "signing_time"],
    ["negative", -1, "signing_time"],
    ["the far future", Date.UTC(10_000, 0), "signing_time"],
    ["now", NOW, "verified"],
    ["as late as clocks may differ", NOW + 60_000, "verified"],
    ["later", NOW + 60_001, "signing_time"],
    ["in seconds, so before any certificate", Math.floor(NOW / 1000), "outside_validity"],
  ])("that is %s", async (_, signedDate, expected) => {
    expect(await outcome(aTransaction({ signedDate }))).toBe(expected);
  });
});

describe("in place of a transaction", () => {
  test.each<[string, object]>([
    ["renewal info", aRenewalInfo()],
    ["a notification", aNotification(chain)],
    ["an app transaction", anAppTransaction()],
    ["nothing", {}],
    ["a transaction with renewal info's fields", { ...aTransaction(), autoRenewStatus: 1 }],
    ["a transaction with a notification's fields", { ...aTransaction(), notificationType: "REFUND" }],
    ["a transaction with an app transaction's fields", { ...anAppTransaction(), ...aTransaction() }],
  ])("%s is refused", async (_, payload) => {
    expect(await outcome(payload)).toBe("wrong_kind");
  });
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
