import { makeChain, makeXcodeSigner, signJws, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import { createNotificationVerifier } from "../../../lib/stores/ios-store/notification.ts";
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
  watchChecks,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { asSigned } from "./as-signed.ts";

const chain = makeChain();
const xcode = makeXcodeSigner();
const trust = trusting({ roots: [chain.root], xcodeCertificates: [xcode.certificate] });
const verifier = createNotificationVerifier();
const verify = (payload: object) => verifier.verifyNotification(signJws(payload, chain), trust, NOW);

const about = (app: Payload = {}, fields: Payload = {}): Payload =>
  anEnvelope({ data: anApp(app), ...fields });

const aToken = (externalPurchaseId: string): Payload => ({ externalPurchaseId, bundleId: BUNDLE });

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

  const inSandbox = { environment: "sandbox", appAppleId: null };
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
    ["an empty notificationType", about({}, { notificationType: "" }), "malformed_payload"],
    ["a text as appAppleId", about({ appAppleId: String(APPLE_ID) }), "malformed_payload"],
    ["no environment", about({ environment: undefined }), "malformed_payload"],
    ["a later signing", about({}, { signedDate: NOW + 300_001 }), "signing_time"],
    ["renewal info's fields", about({}, aRenewalInfo()), "wrong_kind"],
    ["a token beside data", about({}, { externalPurchaseToken: aToken("4f") }), "malformed_payload"],
    ["a subject that is text", anEnvelope({ data: "data" }), "malformed_payload"],
    [
      "a token without an id",
      anEnvelope({ externalPurchaseToken: { bundleId: BUNDLE } }),
      "malformed_payload",
    ],
  ])("is refused with %s", async (_, payload, reason) => {
    expect(word(await verify(payload))).toBe(reason);
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
  const verifyParts = (
    transaction: Payload | null,
    renewalInfo: Payload | null = null,
    fields: Parameters<typeof aVerifiedNotification>[0] = {},
  ) => {
    const signedTransaction = transaction && signed(transaction);
    const signedRenewalInfo = renewalInfo && signed(renewalInfo);
    const notification = aVerifiedNotification({ signedTransaction, signedRenewalInfo, ...fields });
    return verifier.verifyNotificationParts(notification, trust, NOW);
  };

  const newType = aTransaction({ type: "Something New" });
  const newForm = aTransaction({ transactionId: undefined, signedDate: undefined, environment: "New" });
  const newInfo = aRenewalInfo({ autoRenewStatus: undefined });
  const app = { signedAppTransaction: signed(anAppTransaction()) };
  const [transaction, renewalInfo] = [asSigned(), aVerifiedRenewalInfo()];
  test.each<[string, Parameters<typeof verifyParts>, read: object]>([
    ["none", [null], {}],
    ["a transaction", [aTransaction()], { transaction }],
    ["renewal info", [null, aRenewalInfo()], { renewalInfo }],
    ["an app transaction", [null, null, app], { appTransaction: aVerifiedAppTransaction() }],
    ["new renewal info", [aTransaction(), newInfo], { transaction, isPartlyUnderstood: true }],
    ["a fifth type of product", [newType, aRenewalInfo()], { renewalInfo, isPartlyUnderstood: true }],
    ["a new form, without a time", [newForm, aRenewalInfo()], { renewalInfo, isPartlyUnderstood: true }],
    ["each in the other's place", [aRenewalInfo(), aTransaction()], { isPartlyUnderstood: true }],
  ])("count each by itself: %s", async (_, given, read) => {
    const nothing = { transaction: null, renewalInfo: null, appTransaction: null, isPartlyUnderstood: false };
    expect(await verifyParts(...given)).toEqual({ outcome: "verified", payload: { ...nothing, ...read } });
  });

  test.each<[string, Payload, Payload, expected: string]>([
    ["environment of the renewal info", {}, { environment: "Sandbox" }, "disagreement"],
    ["products, as after an upgrade", { productId: "yearly" }, {}, "verified"],
    ["app transaction ids, because they are of one lineage", { appTransactionId: "7040" }, {}, "verified"],
    ["Apple Accounts where the renewal info has none", {}, { appTransactionId: undefined }, "verified"],
  ])("with another %s", async (_, transaction, renewalInfo, expected) => {
    expect(word(await verifyParts(aTransaction(transaction), aRenewalInfo(renewalInfo)))).toBe(expected);
  });

  const inSandbox = { receiptType: "Sandbox", appAppleId: undefined };
  test.each<[string, Payload, object, string]>([
    ["another bundle", { bundleId: "com.example.other" }, {}, "disagreement"],
    ["another Apple ID in production", { appAppleId: 7 }, {}, "disagreement"],
    ["another environment", { receiptType: "Sandbox" }, {}, "disagreement"],
    ["no Apple ID outside production", inSandbox, { environment: "sandbox" }, "verified"],
  ])("an app transaction of %s", async (_, appTransaction, fields, expected) => {
    const given = { signedAppTransaction: signed(anAppTransaction(appTransaction)), ...fields };
    expect(word(await verifyParts(null, null, given))).toBe(expected);
  });

  test("are refused with a transaction that Xcode signed", async () => {
    const signedTransaction = signed(aTransaction({ environment: "Xcode" }), xcode);
    const verdict = await verifyParts(null, null, { signedTransaction });
    expect(word(verdict)).toBe("untrusted_xcode_certificate");
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
    const watched = createNotificationVerifier(checks);
    await watched.verifyNotification(signJws(about(), chain), trust, NOW);
    const verdict = await watched.verifyNotification(compact, trust, NOW);
    if (verdict.outcome === "verified") await watched.verifyNotificationParts(verdict.payload, trust, NOW);
    expect(done.first + done.alone - 1).toBe(expected);
  });
});
