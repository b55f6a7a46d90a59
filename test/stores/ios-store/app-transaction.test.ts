import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import {
  checkAppTransactionClaims,
  type AcceptedAppTransactions,
} from "../../../lib/stores/ios-store/app-transaction.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  APPLE_ID,
  aTransaction,
  aVerifiedAppTransaction,
  BUNDLE,
  trusting,
  word,
} from "../../../testing/support/ios-store.ts";
import { NOW } from "../../../testing/support/purchases.ts";

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
    ["bundleId", undefined, "wrong_kind"],
    ["receiptType", undefined, "wrong_kind"],
    ["receiptCreationDate", undefined, "wrong_kind"],
    ["bundleId", "", "malformed_payload"],
    ["bundleId", 1, "malformed_payload"],
    ["appAppleId", "1234567890", "malformed_payload"],
    ["appAppleId", 1.5, "malformed_payload"],
    ["appAppleId", -1, "malformed_payload"],
    ["appTransactionId", "", "malformed_payload"],
    ["appTransactionId", 704, "malformed_payload"],
    ["appTransactionId", "7#4", "malformed_payload"],
    ["receiptType", "Xcode", "environment"],
    ["receiptType", "LocalTesting", "environment"],
    ["receiptType", "ProductionSandbox", "environment"],
    ["receiptType", null, "environment"],
    ["receiptCreationDate", null, "signing_time"],
    ["receiptCreationDate", String(NOW), "signing_time"],
    ["receiptCreationDate", NOW + 0.5, "signing_time"],
    ["receiptCreationDate", NOW + 60_001, "signing_time"],
    ["receiptCreationDate", NOW + 60_000, "verified"],
    ["receiptCreationDate", 0, "outside_validity"],
    ["signedDate", NOW * 2, "verified"],
    ["environment", "Sandbox", "verified"],
    ["originalPlatform", "aNewOne", "verified"],
    ["preorderDate", NOW, "verified"],
  ])("with %s %p: %s", async (field, value, expected) => {
    expect(await outcome(anAppTransaction({ [field]: value }))).toBe(expected);
  });

  test.each<[string, object]>([
    ["a transaction", aTransaction()],
    ["a transaction with an app transaction's fields", { ...aTransaction(), ...anAppTransaction() }],
    ["renewal info with an app transaction's fields", { ...anAppTransaction(), autoRenewStatus: 1 }],
    ["a notification with an app transaction's fields", { ...anAppTransaction(), notificationType: "TEST" }],
  ])("is not %s", async (_, payload) => {
    expect(await outcome(payload)).toBe("wrong_kind");
  });
});

describe("the claims of an app transaction", () => {
  const configured: AcceptedAppTransactions = {
    bundleIdentifier: BUNDLE,
    appAppleIdentifier: APPLE_ID,
    environments: ["production", "sandbox"],
    xcodeCertificates: [],
  };
  const production = aVerifiedAppTransaction();
  const sandbox = aVerifiedAppTransaction({ environment: "sandbox", appAppleIdentifier: null });

  test.each([production, sandbox])("are accepted when they match the configuration", (appTransaction) => {
    expect(checkAppTransactionClaims(appTransaction, configured)).toBeNull();
  });
  test("must name the configured bundle", () => {
    const other = { ...configured, bundleIdentifier: "com.example.other" };
    expect(checkAppTransactionClaims(sandbox, other)).toBe("INVALID_APP_TRANSACTION");
  });
  test.each([null, APPLE_ID + 1])(
    "in production must name the configured Apple ID: %p is refused",
    (appAppleIdentifier) => {
      expect(checkAppTransactionClaims({ ...production, appAppleIdentifier }, configured)).toBe(
        "INVALID_APP_TRANSACTION",
      );
    },
  );
  test("in the sandbox need no Apple ID", () => {
    expect(
      checkAppTransactionClaims({ ...sandbox, appAppleIdentifier: APPLE_ID + 1 }, configured),
    ).toBeNull();
    expect(checkAppTransactionClaims(sandbox, { ...configured, appAppleIdentifier: null })).toBeNull();
  });
  test.each([
    [production, ["sandbox"]],
    [sandbox, ["production"]],
    [production, []],
  ] as const)("must name an accepted environment", (appTransaction, environments) => {
    expect(checkAppTransactionClaims(appTransaction, { ...configured, environments })).toBe(
      "ENVIRONMENT_NOT_ACCEPTED",
    );
  });
  test("cannot be of production when no Apple ID is configured", () => {
    for (const appAppleIdentifier of [APPLE_ID, null])
      expect(
        checkAppTransactionClaims(
          { ...production, appAppleIdentifier },
          { ...configured, appAppleIdentifier: null },
        ),
      ).toBe("ENVIRONMENT_NOT_ACCEPTED");
  });
  test("may be of Xcode only when the signing certificate is registered", () => {
    const xcode = aVerifiedAppTransaction({ environment: "xcode", xcodeCertificate: "ab" });
    const registered = { ...configured, environments: ["xcode"], xcodeCertificates: ["cd", "ab"] } as const;
    expect(checkAppTransactionClaims(xcode, registered)).toBeNull();
    expect(checkAppTransactionClaims(xcode, { ...registered, xcodeCertificates: ["cd"] })).toBe(
      "ENVIRONMENT_NOT_ACCEPTED",
    );
    expect(checkAppTransactionClaims({ ...xcode, xcodeCertificate: null }, registered)).toBe(
      "ENVIRONMENT_NOT_ACCEPTED",
    );
  });
});
