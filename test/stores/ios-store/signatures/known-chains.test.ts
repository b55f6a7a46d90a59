import { X509Certificate } from "node:crypto";
import { spyOn } from "jest-mock";
import { issueCertificate, TEMPLATES } from "../../../../sandbox/ios-store/certificates.ts";
import { makeChain, signerWith, signJws, type SigningChain } from "../../../../sandbox/ios-store/signing.ts";
import { createKnownChains, verifyChainOnce } from "../../../../lib/stores/ios-store/signatures/chain.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { watchChecks } from "../../../../testing/support/stores/signature-checks.ts";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });

describe("known chains", () => {
  const counted = async (work: () => unknown): Promise<number> => {
    const certificates = spyOn(X509Certificate.prototype, "verify");
    try {
      await work();
      return certificates.mock.calls.length;
    } finally {
      certificates.mockRestore();
    }
  };
  const jwsOf = (signer: SigningChain) => signJws(aTransaction(), signer);

  test("cost one signature check for each JWS", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const jws = Array.from({ length: 20 }, () => jwsOf(chain));
    expect(await counted(() => verifier.verifyTransaction(jwsOf(chain), trust, NOW))).toBe(3);
    expect(done).toEqual({ first: 1, alone: 0, together: 0 });
    expect(await counted(() => verifier.verifyTransactions(jws, trust, NOW))).toBe(0);
    expect(done).toEqual({ first: 1, alone: 0, together: 20 });
    expect(await counted(() => verifier.verifyTransactions(jws.slice(0, 1), trust, NOW))).toBe(0);
    expect(done).toEqual({ first: 1, alone: 1, together: 20 });
  });
  test("cost one signature check and no certificate check under another header", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const verify = (jws: string) => counted(() => verifier.verifyTransaction(jws, trust, NOW));
    expect(await verify(jwsOf(chain))).toBe(3);
    expect(await verify(signJws(aTransaction(), chain, { typ: "JWT" }))).toBe(0);
    expect(done).toEqual({ first: 2, alone: 0, together: 0 });
  });
  test("are not learnt by the header of a refused JWS", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const [header = "", , signature = ""] = jwsOf(chain).split(".");
    const forged = [
      header,
      Buffer.from(JSON.stringify(aTransaction({ bundleId: "b" }))).toString("base64url"),
      signature,
    ];
    expect(word(await verifier.verifyTransaction(forged.join("."), trust, NOW))).toBe("signature");
    await verifier.verifyTransaction(jwsOf(chain), trust, NOW);
    expect(done).toEqual({ first: 2, alone: 0, together: 0 });
  });
  test("are trusted only while their root is", async () => {
    const verifier = createIosStoreVerifier();
    expect(word(await verifier.verifyTransaction(jwsOf(chain), trust, NOW))).toBe("verified");
    expect(word(await verifier.verifyTransaction(jwsOf(chain), trusting({}), NOW))).toBe("untrusted_root");
  });
  test("are recognized by their exact certificates", () => {
    const known = createKnownChains();
    const verify = (x5c: readonly string[]) => word(verifyChainOnce(x5c, trust, known));
    const [leaf = "", intermediate = "", root = ""] = chain.x5c;
    expect(verify(chain.x5c)).toBe("verified");
    expect(verify([`${leaf},${intermediate}`, root])).toBe("chain_length");
    expect(verify([`${leaf}","${intermediate}`, root])).toBe("chain_length");
    expect(verify([leaf, intermediate, `${root}\n`])).toBe("malformed_certificate");
    expect(verify([makeChain().x5c[0] ?? "", intermediate, root])).toBe("broken_chain");
  });
  test("are bounded, and the oldest is forgotten", async () => {
    const chains = Array.from({ length: 65 }, (_, serialNumber) => {
      const leaf = issueCertificate(
        { ...TEMPLATES.leaf, serialNumber: serialNumber + 100 },
        chain.intermediate,
      );
      return signerWith(leaf, chain.intermediate, chain.root).x5c;
    });
    const known = createKnownChains();
    const costOf = async (x5c: readonly string[] | undefined) =>
      counted(() => expect(word(verifyChainOnce(x5c ?? [], trust, known))).toBe("verified"));
    for (const x5c of chains.slice(0, 64)) expect(await costOf(x5c)).toBe(3);
    expect(await costOf(chains[0])).toBe(0);
    expect(await costOf(chains[64])).toBe(3);
    expect(await costOf(chains[1])).toBe(0);
    expect(await costOf(chains[0])).toBe(3);
  });
  test("are never crowded out by bad chains", async () => {
    const known = createKnownChains(1);
    verifyChainOnce(chain.x5c, trust, known);
    for (let count = 0; count < 5; count += 1)
      verifyChainOnce(signerWith(makeChain().leaf, chain.intermediate, chain.root).x5c, trust, known);
    expect(await counted(() => verifyChainOnce(chain.x5c, trust, known))).toBe(0);
  });
});
