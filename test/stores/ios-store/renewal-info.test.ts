import { makeChain, makeXcodeSigner, signJws } from "../../../sandbox/ios-store/signing.ts";
import { renewalsOf } from "../../../lib/stores/ios-store/renewal-info.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  aRenewalInfo,
  aTransaction,
  aVerifiedRenewalInfo,
  trusting,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { signedInXcode } from "./as-signed.ts";

const chain = makeChain();
const xcode = makeXcodeSigner();
const trust = trusting({ roots: [chain.root], xcodeCertificates: [xcode.certificate] });
const verifier = createIosStoreVerifier();
const verify = (payload: object, signer = chain as Parameters<typeof signJws>[1]) =>
  verifier.verifyRenewalInfos([signJws(payload, signer)], trust, NOW);
const outcome = async (payload: object): Promise<string> => {
  const verdict = await verify(payload);
  return verdict.outcome === "verified" ? "verified" : verdict.reason;
};

describe("a renewal info", () => {
  test("has what is said of the next renewal", async () => {
    expect(await verify(aRenewalInfo())).toEqual({ outcome: "verified", payload: [aVerifiedRenewalInfo()] });
  });

  test.each(["originalTransactionId", "productId", "autoRenewStatus", "environment"])(
    "must have %s",
    async (field) => {
      expect(await outcome(aRenewalInfo({ [field]: undefined }))).toBe("wrong_kind");
    },
  );

  test.each<[string, unknown, object]>([
    ["autoRenewStatus", 1, { willRenew: true }],
    ["autoRenewStatus", 0, { willRenew: false }],
    ["autoRenewStatus", 2, { willRenew: false }],
    ["autoRenewProductId", undefined, { renewsInto: null }],
    ["renewalDate", undefined, { periodEndsAt: null }],
    ["gracePeriodExpiresDate", NOW + DAY, { graceEndsAt: NOW + DAY }],
    ["isInBillingRetryPeriod", true, { isInBillingRetry: true }],
    ["expirationIntent", 2, { expirationIntent: 2 }],
    ["appTransactionId", "0", { appTransactionIdentifier: null }],
    ["aNewField", { deeply: [1] }, {}],
  ])("is read when %s is %p", async (field, value, read) => {
    expect(await verify(aRenewalInfo({ [field]: value }))).toEqual({
      outcome: "verified",
      payload: [aVerifiedRenewalInfo(read)],
    });
  });

  test.each<[string, unknown, string]>([
    ["autoRenewStatus", "1", "malformed_payload"],
    ["renewalDate", String(NOW), "malformed_payload"],
    ["isInBillingRetryPeriod", 1, "malformed_payload"],
    ["environment", "Xcode", "environment"],
    ["signedDate", NOW + 60_001, "signing_time"],
  ])("is refused when %s is %p: %s", async (field, value, reason) => {
    expect(await outcome(aRenewalInfo({ [field]: value }))).toBe(reason);
  });

  test.each<[string, object]>([
    ["a transaction", aTransaction()],
    ["a notification", { ...aRenewalInfo(), notificationType: "DID_RENEW" }],
    ["a transaction with renewal info's fields", { ...aTransaction(), ...aRenewalInfo() }],
  ])("is not %s", async (_, payload) => {
    expect(await outcome(payload)).toBe("wrong_kind");
  });
});

describe("in Xcode, where every id is 0", () => {
  const inXcode = (fields = {}) =>
    aRenewalInfo({ environment: "Xcode", originalTransactionId: "0", appTransactionId: "0", ...fields });

  test("a renewal info needs the configuration's certificate, and floors its times", async () => {
    const [xcodeCertificate = ""] = trust.xcodeCertificates;
    expect(await verify(inXcode({ renewalDate: NOW + 0.75 }), xcode)).toEqual({
      outcome: "verified",
      payload: [
        aVerifiedRenewalInfo({
          environment: "xcode",
          xcodeCertificate,
          originalTransactionIdentifier: "0",
          appTransactionIdentifier: null,
          periodEndsAt: NOW,
        }),
      ],
    });
    expect(await verify(inXcode({ environment: "Production" }), xcode)).toMatchObject({
      reason: "environment",
    });
  });

  const info = aVerifiedRenewalInfo({
    environment: "xcode",
    xcodeCertificate: "ab",
    originalTransactionIdentifier: "0",
    productIdentifier: "monthly",
  });
  test("a transaction of the same request tells its lineage", () => {
    const transaction = signedInXcode("monthly", { subscriptionGroupIdentifier: "group" });
    expect(renewalsOf([info], [transaction]).map(({ key }) => key)).toEqual(["ab:0:group"]);
  });
  test.each([
    ["it is of another product", [signedInXcode("yearly")]],
    ["another certificate signed it", [signedInXcode("monthly", { xcodeCertificate: "cd" })]],
    ["it is no subscription", [signedInXcode("monthly", { nature: "non_consumable" })]],
    ["its original id differs", [signedInXcode("monthly", { originalTransactionIdentifier: "1" })]],
  ])("it has none where %s", (_, transactions) => {
    expect(renewalsOf([info], transactions)).toEqual([]);
  });
});

test("elsewhere its original transaction id is its lineage", () => {
  expect(renewalsOf([aVerifiedRenewalInfo()], [])).toMatchObject([
    {
      store: "ios-store",
      environment: "production",
      key: "700000000000001",
      lines: [],
      renewal: { willRenew: true, periodEndsAt: NOW + 20 * DAY, signedAt: NOW - 1000 },
    },
  ]);
});

test.each([
  ["a grace period", { isInGrace: true }, { isInGrace: true }],
  ["no grace period", { isInGrace: false }, { isInGrace: false }],
  ["nothing, as an app's has none", {}, null],
])("the status beside a renewal info says %s", (_, said, status) => {
  const info = aVerifiedRenewalInfo();
  const [known] = renewalsOf([{ ...info, ...said }], []);
  const { periodEndsAt, signedAt } = info;
  expect(known?.renewal?.status).toEqual(status && { ...status, periodEndsAt, signedAt });
});
