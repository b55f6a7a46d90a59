import { X509Certificate } from "node:crypto";
import { spyOn } from "jest-mock";
import { issueCertificate, TEMPLATES } from "../../../../sandbox/ios-store/certificates.ts";
import { makeChain, signerWith, signJws } from "../../../../sandbox/ios-store/signing.ts";
import { createKnownChains, verifyChain } from "../../../../lib/stores/ios-store/signatures/chain.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word, watchChecks } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const jws = signJws(aTransaction(), chain);

const aVerifier = () => {
  const { checks, done } = watchChecks();
  const verifier = createIosStoreVerifier(checks);
  const verify = async (compact: string, given = trust) =>
    word(await verifier.verifyTransactions([compact], given, NOW));
  return { verifier, verify, done };
};

test("twenty JWS of one new chain cost its certificates once, and one signature check each", async () => {
  const { verifier, done } = aVerifier();
  const certificates = spyOn(X509Certificate.prototype, "verify");
  await verifier.verifyTransactions(Array(20).fill(jws), trust, NOW);
  expect(done).toEqual({ first: 1, alone: 0, together: 19 });
  expect(certificates).toHaveBeenCalledTimes(3);
  await verifier.verifyTransactions([signJws(aTransaction(), chain, { typ: "JWT" })], trust, NOW);
  expect(done).toEqual({ first: 2, alone: 0, together: 19 });
  expect(certificates).toHaveBeenCalledTimes(3);
  certificates.mockRestore();
});

test("one JWS of a known chain is checked on this thread: another thread takes longer", async () => {
  const { verifier, verify, done } = aVerifier();
  await verify(jws);
  await verifier.verifyTransactions([jws], trust, NOW);
  expect(done).toEqual({ first: 1, alone: 1, together: 0 });
});

test("another leaf of the same intermediate makes another chain", async () => {
  const { verify } = aVerifier();
  const next = issueCertificate({ ...TEMPLATES.leaf, serialNumber: 100 }, chain.intermediate);
  const renewed = signerWith(next, chain.intermediate, chain.root);
  for (const signer of [chain, renewed, chain])
    expect(await verify(signJws(aTransaction(), signer))).toBe("verified");
});

test("the header of a refused JWS does not become known", async () => {
  const { verify, done } = aVerifier();
  const [header, , signature] = jws.split(".");
  expect(await verify(`${header}.${Buffer.from("{}").toString("base64url")}.${signature}`)).toBe("signature");
  await verify(jws);
  expect(done).toEqual({ first: 2, alone: 0, together: 0 });
});

test("a known chain is trusted only while its root is", async () => {
  const { verify } = aVerifier();
  expect(await verify(jws)).toBe("verified");
  expect(await verify(jws, trusting({}))).toBe("untrusted_root");
});

test("a known chain must be valid at each JWS's own time", async () => {
  const { verify, done } = aVerifier();
  const before = signJws(aTransaction({ signedDate: TEMPLATES.leaf.notBefore - 1 }), chain);
  expect([await verify(jws), await verify(before)]).toEqual(["verified", "outside_validity"]);
  expect(done).toEqual({ first: 1, alone: 1, together: 0 });
});

test("known chains are bounded, and the oldest is forgotten", () => {
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
