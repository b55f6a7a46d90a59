import { X509Certificate } from "node:crypto";
import { spyOn } from "jest-mock";
import { issueCertificate, TEMPLATES } from "../../../../sandbox/ios-store/certificates.ts";
import { makeChain, signerWith, signJws } from "../../../../sandbox/ios-store/signing.ts";
import { createKnownChains, verifyChain } from "../../../../lib/stores/ios-store/signatures/chain.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { watchChecks } from "../../../../testing/support/stores/signature-checks.ts";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });

describe("known chains", () => {
  const jws = signJws(aTransaction(), chain);

  test("cost one signature check for each JWS", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const certificates = spyOn(X509Certificate.prototype, "verify");
    await verifier.verifyTransactions(
      Array.from({ length: 20 }, () => jws),
      trust,
      NOW,
    );
    expect(done).toEqual({ first: 1, known: 19 });
    expect(certificates).toHaveBeenCalledTimes(3);
    certificates.mockRestore();
  });
  test("cost one signature check and no certificate check under another header", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    await verifier.verifyTransaction(jws, trust, NOW);
    const certificates = spyOn(X509Certificate.prototype, "verify");
    await verifier.verifyTransaction(signJws(aTransaction(), chain, { typ: "JWT" }), trust, NOW);
    expect(done).toEqual({ first: 2, known: 0 });
    expect(certificates).not.toHaveBeenCalled();
    certificates.mockRestore();
  });
  test("are another chain with another leaf of the same intermediate", async () => {
    const verifier = createIosStoreVerifier();
    const next = issueCertificate({ ...TEMPLATES.leaf, serialNumber: 100 }, chain.intermediate);
    const renewed = signerWith(next, chain.intermediate, chain.root);
    for (const signer of [chain, renewed, chain])
      expect(word(await verifier.verifyTransaction(signJws(aTransaction(), signer), trust, NOW))).toBe(
        "verified",
      );
  });
  test("are not learnt by the header of a refused JWS", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const [header, , signature] = jws.split(".");
    const forged = `${header}.${Buffer.from("{}").toString("base64url")}.${signature}`;
    expect(word(await verifier.verifyTransaction(forged, trust, NOW))).toBe("signature");
    await verifier.verifyTransaction(jws, trust, NOW);
    expect(done).toEqual({ first: 2, known: 0 });
  });
  test("are trusted only while their root is", async () => {
    const verifier = createIosStoreVerifier();
    expect(word(await verifier.verifyTransaction(jws, trust, NOW))).toBe("verified");
    expect(word(await verifier.verifyTransaction(jws, trusting({}), NOW))).toBe("untrusted_root");
  });
  test("are bounded, and the oldest is forgotten", () => {
    const verdict = verifyChain(chain.x5c, trust);
    if (verdict.outcome === "rejected") throw new Error(verdict.reason);
    const known = createKnownChains();
    const isKnown = (name: number) => known.find(String(name), trust) !== null;
    const keep = (name: number) => known.keep(String(name), verdict.payload);
    for (let name = 0; name < 64; name += 1) keep(name);
    keep(0);
    expect([isKnown(0), isKnown(63)]).toEqual([true, true]);
    keep(64);
    expect([isKnown(0), isKnown(1), isKnown(64)]).toEqual([false, true, true]);
  });
});
