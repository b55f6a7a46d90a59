import { makeChain, makeXcodeSigner, signJws, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anApp,
  anAppTransaction,
  anEnvelope,
  aNotification,
  APPLE_ID,
  aRenewalInfo,
  aTransaction,
  aVerifiedAppTransaction,
  aVerifiedNotification,
  aVerifiedRenewalInfo,
  BUNDLE,
  trusting,
  word,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { watchChecks } from "../../../testing/support/stores/signature-checks.ts";
import { asSigned } from "./as-signed.ts";

const chain = makeChain();
const xcode = makeXcodeSigner();
const trust = trusting({ roots: [chain.root], xcodeCertificates: [xcode.certificate] });
const verifier = createIosStoreVerifier();
const verify = (payload: object | string, signer: JwsSigner = chain) =>
  verifier.verifyNotification(signJws(payload, signer), trust, NOW);
const outcome = async (payload: object | string, signer?: JwsSigner) => word(await verify(payload, signer));

const about = (app: Payload = {}, fields: Payload = {}): Payload =>
  anEnvelope({ data: anApp(app), ...fields });

const aToken = (externalPurchaseId: string, fields: Payload = {}): Payload => ({
  externalPurchaseId,
  bundleId: BUNDLE,
  ...fields,
});

describe("a notification", () => {
  test("names its app and carries what is signed of the purchase", async () => {
    expect(await verify(aNotification(chain))).toEqual({
      outcome: "verified",
      payload: aVerifiedNotification({
        signedTransaction: expect.stringMatching(/^eyJ/),
        signedRenewalInfo: expect.stringMatching(/^eyJ/),
      }),
    });
  });

  const inSandbox = { environment: "sandbox", appAppleIdentifier: null };
  test.each<[string, Payload, object]>([
    ["data", { data: anApp(), summary: null, appData: null, externalPurchaseToken: null }, {}],
    ["summary", { summary: anApp({ succeededCount: 5 }) }, {}],
    ["appData", { appData: anApp({ signedAppTransactionInfo: "a.b.c" }) }, { signedAppTransaction: "a.b.c" }],
    ["externalPurchaseToken", { externalPurchaseToken: aToken("SANDBOX_4f") }, inSandbox],
    ["data", { data: anApp({ environment: "Sandbox", appAppleId: 0 }) }, inSandbox],
  ])("may have %s: %j", async (_, subject, read) => {
    expect(await verify(anEnvelope(subject))).toEqual({
      outcome: "verified",
      payload: aVerifiedNotification(read),
    });
  });

  test.each<[string, Payload, string]>([
    ["no subject", {}, "environment"],
    ["two subjects", { data: anApp(), summary: anApp() }, "malformed_payload"],
    ["a token beside data", { data: anApp(), externalPurchaseToken: aToken("4f") }, "malformed_payload"],
    ["a subject that is text", { data: "data" }, "environment"],
    ["a token without an id", { externalPurchaseToken: { bundleId: BUNDLE } }, "malformed_payload"],
  ])("is refused with %s", async (_, subject, reason) => {
    expect(await outcome(anEnvelope(subject))).toBe(reason);
  });

  test.each<[string, Payload, Parameters<typeof aVerifiedNotification>[0]]>([
    [
      "a type that is new",
      about({}, { notificationType: "A_NEW_TYPE", subtype: "A_NEW_SUBTYPE" }),
      { kind: "A_NEW_TYPE", type: "A_NEW_TYPE A_NEW_SUBTYPE" },
    ],
    [
      "a type of any length, cut",
      about({}, { notificationType: "A".repeat(300), subtype: "B".repeat(65) }),
      { kind: "A".repeat(64), type: `${"A".repeat(64)} ${"B".repeat(64)}` },
    ],
    [
      "a status and a reason that are new",
      about({ status: 99, consumptionRequestReason: "A_REASON_OF_TOMORROW" }),
      { consumptionRequestReason: "A_REASON_OF_TOMORROW" },
    ],
    ["no subtype", about({}, { subtype: null }), {}],
    ["renewal info that is no text", about({ signedRenewalInfo: 1 }), { signedRenewalInfo: null }],
    ["no identifier of its own", about({}, { notificationUUID: undefined }), { identifier: null }],
    ["a subject that is new", { ...about(), data: undefined, newData: anApp() }, {}],
    ["a signing five minutes ahead", about({}, { signedDate: NOW + 300_000 }), { signedAt: NOW + 300_000 }],
  ])("tolerates %s", async (_, payload, read) => {
    expect(await verify(payload)).toEqual({ outcome: "verified", payload: aVerifiedNotification(read) });
  });

  test.each<[string, Payload, string]>([
    ["notificationType", about({}, { notificationType: "" }), "malformed_payload"],
    ["appAppleId", about({ appAppleId: String(APPLE_ID) }), "malformed_payload"],
    ["environment", about({ environment: undefined }), "environment"],
    ["environment", about({ environment: "Xcode" }), "environment"],
    ["signedDate", about({}, { signedDate: undefined }), "signing_time"],
    ["signedDate", about({}, { signedDate: NOW + 300_001 }), "signing_time"],
  ])("is refused for its %s: %#", async (_, payload, reason) => {
    expect(await outcome(payload)).toBe(reason);
  });

  test.each<[string, object]>([
    ["a transaction", aTransaction()],
    ["an app transaction", anAppTransaction()],
    ["renewal info", aRenewalInfo()],
    ["renewal info with a notification's fields", { ...aRenewalInfo(), ...about() }],
  ])("is not %s", async (_, payload) => {
    expect(await outcome(payload)).toBe("wrong_kind");
  });

  test("a year old is as good as new", async () => {
    const then = makeChain({ leaf: { notBefore: NOW - 800 * DAY, notAfter: NOW - 30 * DAY } });
    const compact = signJws(about({}, { signedDate: NOW - 365 * DAY }), then);
    const verdict = await verifier.verifyNotification(compact, trusting({ roots: [then.root] }), NOW);
    expect(word(verdict)).toBe("verified");
  });
});

describe("the parts of a notification", () => {
  const signed = (payload: object, signer: JwsSigner = chain): string => signJws(payload, signer);
  const verifyParts = (fields: Parameters<typeof aVerifiedNotification>[0]) =>
    verifier.verifyNotificationParts(aVerifiedNotification(fields), trust, NOW);
  const parts = async (transaction: Payload, renewalInfo: Payload, fields = {}) =>
    word(
      await verifyParts({
        signedTransaction: signed(transaction),
        signedRenewalInfo: signed(renewalInfo),
        ...fields,
      }),
    );

  const ONLY = { transaction: null, renewalInfo: null, appTransaction: null, notUnderstood: [] };

  test.each<[what: string, transaction: Payload, renewalInfo: Payload, read: object]>([
    [
      "renewal info without autoRenewStatus",
      aTransaction(),
      aRenewalInfo({ autoRenewStatus: undefined }),
      { transaction: asSigned(), notUnderstood: ["renewal info"] },
    ],
    [
      "a fifth type of product",
      aTransaction({ type: "Something New" }),
      aRenewalInfo(),
      { renewalInfo: aVerifiedRenewalInfo(), notUnderstood: ["transaction"] },
    ],
    ["neither", aRenewalInfo(), aTransaction(), { notUnderstood: ["transaction", "renewal info"] }],
  ])("count each by itself: %s", async (_, transaction, renewalInfo, read) => {
    expect(
      await verifyParts({ signedTransaction: signed(transaction), signedRenewalInfo: signed(renewalInfo) }),
    ).toEqual({ outcome: "verified", payload: { ...ONLY, ...read } });
  });

  test.each([
    ["none", {}, {}],
    ["a transaction", { signedTransaction: signed(aTransaction()) }, { transaction: asSigned() }],
    ["renewal info", { signedRenewalInfo: signed(aRenewalInfo()) }, { renewalInfo: aVerifiedRenewalInfo() }],
    [
      "an app transaction",
      { signedAppTransaction: signed(anAppTransaction()) },
      { appTransaction: aVerifiedAppTransaction() },
    ],
  ])("are verified like what an app sends: %s", async (_, fields, read) => {
    expect(await verifyParts(fields)).toEqual({ outcome: "verified", payload: { ...ONLY, ...read } });
  });

  test.each<[string, Payload, Payload]>([
    ["bundle", { bundleId: "com.example.other" }, {}],
    ["environment of the transaction", { environment: "Sandbox" }, {}],
    ["environment of the renewal info", {}, { environment: "Sandbox" }],
    ["lineage", {}, { originalTransactionId: "700000000000009" }],
  ])("must agree: another %s", async (_, transaction, renewalInfo) => {
    expect(await parts(aTransaction(transaction), aRenewalInfo(renewalInfo))).toBe("disagreement");
  });
  test.each<[string, Payload, Payload]>([
    ["products, as after an upgrade", { productId: "yearly" }, {}],
    ["app transaction ids, because they are of one lineage", { appTransactionId: "704000000000009" }, {}],
    ["Apple Accounts where the renewal info has none", {}, { appTransactionId: undefined }],
  ])("may have different %s", async (_, transaction, renewalInfo) => {
    expect(await parts(aTransaction(transaction), aRenewalInfo(renewalInfo))).toBe("verified");
  });

  test.each<[string, Payload, object, string]>([
    ["another bundle", { bundleId: "com.example.other" }, {}, "disagreement"],
    ["another Apple ID in production", { appAppleId: 7 }, {}, "disagreement"],
    ["another environment", { receiptType: "Sandbox" }, {}, "disagreement"],
    [
      "no Apple ID outside production",
      { receiptType: "Sandbox", appAppleId: undefined },
      { environment: "sandbox" },
      "verified",
    ],
  ])("an app transaction of %s", async (_, appTransaction, fields, expected) => {
    const given = { signedAppTransaction: signed(anAppTransaction(appTransaction)), ...fields };
    expect(word(await verifyParts(given))).toBe(expected);
  });

  test.each<[string, Parameters<typeof aVerifiedNotification>[0], string]>([
    [
      "a transaction that another chain signed",
      { signedTransaction: signed(aTransaction(), makeChain()) },
      "untrusted_root",
    ],
    [
      "a transaction that Xcode signed",
      { signedTransaction: signed(aTransaction({ environment: "Xcode" }), xcode) },
      "untrusted_xcode_certificate",
    ],
  ])("are refused with %s", async (_, fields, reason) => {
    expect(word(await verifyParts(fields))).toBe(reason);
  });
});

describe("signature checks", () => {
  const genuine = signJws(aNotification(chain), chain);
  const [header = "", payload = "", signature = ""] = genuine.split(".");
  const otherPayload = Buffer.from(JSON.stringify(about())).toString("base64url");

  test.each([
    ["a genuine notification costs three", genuine, 3],
    ["one with another payload costs one", `${header}.${otherPayload}.${signature}`, 1],
    ["one by a stranger costs none", signJws(aNotification(chain), makeChain()), 0],
    ["one with a header of 64 KiB costs none", `${"A".repeat(65_536)}.${payload}.${signature}`, 0],
  ])("by a known signer: %s", async (_, compact, expected) => {
    const { checks, done } = watchChecks();
    const watched = createIosStoreVerifier(checks);
    await watched.verifyTransaction(signJws(aTransaction(), chain), trust, NOW);
    const verdict = await watched.verifyNotification(compact, trust, NOW);
    if (verdict.outcome === "verified") await watched.verifyNotificationParts(verdict.payload, trust, NOW);
    expect(done.first + done.known - 1).toBe(expected);
  });
});
