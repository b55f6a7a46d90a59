import { issueCertificate, marker, TEMPLATES } from "../../../../sandbox/ios-store/certificates.ts";
import {
  makeChain,
  makeXcodeSigner,
  signerWith,
  signJws,
  type JwsSigner,
} from "../../../../sandbox/ios-store/signing.ts";
import { selfSignedBundle } from "../../../../lib/stores/ios-store/claims.ts";
import { verifyChain } from "../../../../lib/stores/ios-store/signatures/chain.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  aTransaction,
  BUNDLE,
  trusting,
  word,
} from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { asSigned } from "../as-signed.ts";

const chain = makeChain();
const xcode = makeXcodeSigner();
const trust = trusting({ roots: [chain.root], xcodeCertificates: [xcode.certificate] });
const [xcodeCertificate = ""] = trust.xcodeCertificates;
const verifier = createIosStoreVerifier();

const inXcode = (fields = {}) =>
  aTransaction({ environment: "Xcode", transactionId: "0", webOrderLineItemId: "0", ...fields });
const verify = (payload: object, signer: JwsSigner = xcode, given = trust) =>
  verifier.verifyTransactions([signJws(payload, signer, { kid: "Apple_Xcode_Key" })], given, NOW);
const outcome = async (...parameters: Parameters<typeof verify>) => word(await verify(...parameters));

describe("StoreKit testing in Xcode", () => {
  test("is accepted with a registered certificate, in the environment xcode", async () => {
    expect(await verify(inXcode())).toEqual({
      outcome: "verified",
      payload: [
        asSigned({
          transactionId: "0",
          webOrderLineItemId: null,
          environment: "xcode",
          xcodeCertificate,
        }),
      ],
    });
    const appTransaction = signJws(anAppTransaction({ receiptType: "Xcode", appAppleId: undefined }), xcode);
    expect(await verifier.verifyAppTransaction(appTransaction, trust, NOW)).toMatchObject({
      outcome: "verified",
      payload: { environment: "xcode", appAppleId: null, xcodeCertificate },
    });
  });
  test("is refused without a registered certificate, even after it was accepted elsewhere", async () => {
    expect(await outcome(inXcode())).toBe("verified");
    const elsewhere = trusting({ roots: [chain.root, xcode.certificate] });
    expect(await outcome(inXcode(), xcode, elsewhere)).toBe("untrusted_xcode_certificate");
  });
  test("must have exactly one certificate: a chain with registered ones is refused", async () => {
    const registered = trusting({ xcodeCertificates: [chain.root, chain.leaf] });
    expect(await outcome(inXcode(), chain, registered)).toBe("untrusted_root");
    expect(await outcome(inXcode(), signerWith(xcode.certificate, xcode.certificate))).toBe("chain_length");
  });

  test.each([
    ["signed by another", "broken_chain", issueCertificate(TEMPLATES.xcode, xcode.certificate)],
    ["of P-384", "certificate_role", issueCertificate({ ...TEMPLATES.xcode, curve: "P-384" }, null)],
    [
      "with an extension that is not understood",
      "certificate_extensions",
      issueCertificate({ ...TEMPLATES.xcode, extensions: [marker("1.2.840.113635.100.6.99.1", true)] }, null),
    ],
  ])("with a registered certificate %s: %s", (_, expected, certificate) => {
    const registered = trusting({ xcodeCertificates: [certificate] });
    expect(word(verifyChain(signerWith(certificate).x5c, registered))).toBe(expected);
  });

  test("may sign fractions of milliseconds, which are dropped", async () => {
    const times = {
      signedDate: NOW - 999.5,
      purchaseDate: NOW - 10 * DAY + 0.7297,
      originalPurchaseDate: NOW - 11 * DAY + 0.4,
      expiresDate: NOW + DAY + 0.9,
    };
    expect(await verify(inXcode(times))).toMatchObject({
      outcome: "verified",
      payload: [
        {
          signedAt: NOW - 1000,
          purchaseDate: NOW - 10 * DAY,
          originalPurchaseDate: NOW - 11 * DAY,
          expiresDate: NOW + DAY,
        },
      ],
    });
    expect(await outcome(aTransaction({ signedDate: NOW - 999.5 }), chain)).toBe("signing_time");
  });
});

describe("the claimed bundle of a self-signed JWS", () => {
  const claim = (payload: object | string) => selfSignedBundle(signJws(payload, xcode));
  test("is read before anything is verified", () => {
    expect(claim(anAppTransaction({ receiptType: "Xcode" }))).toBe(BUNDLE);
    expect(claim({ bundleId: "b".repeat(256) })).toBe("b".repeat(256));
  });
  test.each([
    ["another chain", signJws(anAppTransaction(), chain)],
    ["no certificate", signJws(anAppTransaction(), { ...xcode, x5c: [] })],
    ["another algorithm", signJws(anAppTransaction(), xcode, { alg: "none" })],
    ["no JWS", "a.b.c"],
  ])("is null for %s", (_, jws) => {
    expect(selfSignedBundle(jws)).toBeNull();
  });
  test.each([{}, { bundleId: "" }, { bundleId: "b".repeat(257) }, "null", '{"bundleId":"a","bundleId":"b"}'])(
    "is null when the payload is %p",
    (payload) => {
      expect(claim(payload)).toBeNull();
    },
  );
});
