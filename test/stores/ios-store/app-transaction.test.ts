import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  aTransaction,
  aVerifiedAppTransaction,
  trusting,
  word,
} from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const verifier = createIosStoreVerifier();
const verify = (payload: object) => verifier.verifyAppTransaction(signJws(payload, chain), trust, NOW);
const outcome = async (payload: object) => word(await verify(payload));

describe("an app transaction", () => {
  test("in production is verified", async () => {
    expect(await verify(anAppTransaction())).toEqual({
      outcome: "verified",
      payload: aVerifiedAppTransaction(),
    });
  });
  test.each([undefined, null, 0])("outside production needs no Apple ID: %p", async (appAppleId) => {
    expect(await verify(anAppTransaction({ receiptType: "Sandbox", appAppleId }))).toEqual({
      outcome: "verified",
      payload: aVerifiedAppTransaction({ environment: "sandbox", appAppleIdentifier: null }),
    });
  });
  test.each([undefined, null])("from before app transaction ids has no id: %p", async (appTransactionId) => {
    expect(await verify(anAppTransaction({ appTransactionId }))).toEqual({
      outcome: "verified",
      payload: aVerifiedAppTransaction({ appTransactionIdentifier: null }),
    });
  });

  test.each<[string, unknown, string]>([
    ["receiptType", undefined, "wrong_kind"],
    ["receiptCreationDate", undefined, "wrong_kind"],
    ["bundleId", "", "malformed_payload"],
    ["appAppleId", "1234567890", "malformed_payload"],
    ["appTransactionId", "7#4", "malformed_payload"],
    ["receiptType", "Xcode", "environment"],
    ["receiptCreationDate", NOW + 60_001, "signing_time"],
    ["receiptCreationDate", 0, "outside_validity"],
    ["signedDate", NOW * 2, "verified"],
    ["originalPlatform", "aNewOne", "verified"],
  ])("with %s %p: %s", async (field, value, expected) => {
    expect(await outcome(anAppTransaction({ [field]: value }))).toBe(expected);
  });

  test.each<[string, object]>([
    ["a transaction", aTransaction()],
    ["a transaction with an app transaction's fields", { ...aTransaction(), ...anAppTransaction() }],
    ["renewal info with an app transaction's fields", { ...anAppTransaction(), autoRenewStatus: 1 }],
  ])("is not %s", async (_, payload) => {
    expect(await outcome(payload)).toBe("wrong_kind");
  });
});
