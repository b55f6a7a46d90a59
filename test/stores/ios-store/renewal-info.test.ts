import { makeChain, makeXcodeSigner, signJws, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import { renewalsOf } from "../../../lib/stores/ios-store/purchases.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  aRenewalInfo,
  aVerifiedRenewalInfo,
  trusting,
  word,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { signedInXcode } from "./as-signed.ts";

const chain = makeChain();
const xcode = makeXcodeSigner();
const trust = trusting({ roots: [chain.root], xcodeCertificates: [xcode.certificate] });
const verifier = createIosStoreVerifier();
const verify = (payload: object, signer: JwsSigner = chain) =>
  verifier.verifyRenewalInfos([signJws(payload, signer)], trust, NOW);

describe("a renewal info", () => {
  test.each<[string, unknown, unknown]>([
    ["autoRenewStatus", 2, 2],
    ["autoRenewProductId", undefined, null],
    ["renewalDate", undefined, null],
    ["gracePeriodExpiresDate", NOW + DAY, NOW + DAY],
    ["isInBillingRetryPeriod", true, true],
    ["expirationIntent", 2, 2],
    ["appTransactionId", "0", null],
    ["aNewField", { deeply: [1] }, undefined],
  ])("whose %s is %p has %p", async (field, value, read) => {
    expect(await verify(aRenewalInfo({ [field]: value }))).toEqual({
      outcome: "verified",
      payload: [aVerifiedRenewalInfo({ [field]: read })],
    });
  });

  test.each<[string, unknown, string]>([
    ["autoRenewStatus", undefined, "malformed_payload"],
    ["autoRenewStatus", "1", "malformed_payload"],
    ["renewalDate", String(NOW), "malformed_payload"],
    ["isInBillingRetryPeriod", 1, "malformed_payload"],
    ["environment", "Xcode", "environment"],
    ["signedDate", NOW + 60_001, "signing_time"],
    ["notificationType", "DID_RENEW", "wrong_kind"],
    ["purchaseDate", NOW, "wrong_kind"],
  ])("is refused when %s is %p: %s", async (field, value, reason) => {
    expect(word(await verify(aRenewalInfo({ [field]: value })))).toBe(reason);
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
          originalTransactionId: "0",
          appTransactionId: null,
          renewalDate: NOW,
        }),
      ],
    });
    expect(word(await verify(inXcode({ environment: "Production" }), xcode))).toBe("environment");
  });

  const info = aVerifiedRenewalInfo({
    environment: "xcode",
    xcodeCertificate: "ab",
    originalTransactionId: "0",
    productId: "monthly",
  });
  const group = { subscriptionGroupIdentifier: "group" };
  test.each([
    ["ab:0:group", "of its product", signedInXcode("monthly", group)],
    [undefined, "of another product", signedInXcode("yearly")],
    [undefined, "that another certificate signed", signedInXcode("monthly", { xcodeCertificate: "cd" })],
    [undefined, "that is no subscription", signedInXcode("monthly", { type: "Non-Consumable" })],
    [undefined, "of another original id", signedInXcode("monthly", { originalTransactionId: "1" })],
  ])("its lineage is %p beside a transaction %s", (key, _, transaction) => {
    expect(renewalsOf([info], [transaction])[0]?.key).toBe(key);
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
  [{ autoRenewStatus: 0 }, { willRenew: false }],
  [{ autoRenewStatus: 2 }, { willRenew: false }],
  [{ autoRenewProductId: "yearly" }, { renewsInto: "yearly" }],
  [{ gracePeriodExpiresDate: NOW + DAY }, { graceEndsAt: NOW + DAY }],
  [{ isInBillingRetryPeriod: null }, { isInBillingRetry: false }],
  [{ isInBillingRetryPeriod: true }, { isInBillingRetry: true }],
])("a renewal info with %j states a renewal with %j", (fields, renewal) => {
  expect(renewalsOf([aVerifiedRenewalInfo(fields)], [])).toMatchObject([{ renewal }]);
});

test.each([
  ["a grace period", { isInGrace: true }, { isInGrace: true }],
  ["no grace period", { isInGrace: false }, { isInGrace: false }],
  ["nothing, as an app's has none", {}, null],
])("the status beside a renewal info says %s", (_, said, status) => {
  const info = aVerifiedRenewalInfo();
  const [known] = renewalsOf([{ ...info, ...said }], []);
  const { renewalDate: periodEndsAt, signedAt } = info;
  expect(known?.renewal?.status).toEqual(status && { ...status, periodEndsAt, signedAt });
});
