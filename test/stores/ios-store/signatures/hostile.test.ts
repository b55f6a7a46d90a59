import { randomBytes, X509Certificate } from "node:crypto";
import { spyOn } from "jest-mock";
import { makeChain, signJws } from "../../../../sandbox/ios-store/signing.ts";
import { LONGEST_HEADER } from "../../../../lib/stores/ios-store/signatures/jws.ts";
import { AT_ONCE, createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word, watchChecks } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";

/** Cost of refused requests, counted in signature checks. */

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const COUNT = 1_000;

const base64url = (value: string | Uint8Array): string => Buffer.from(value).toString("base64url");
const good = signJws(aTransaction(), chain);
const [header = "", payload = ""] = good.split(".");
const signature = (): string => base64url(randomBytes(64));
const many = (make: (index: number) => string): string[] =>
  Array.from({ length: COUNT }, (_, index) => make(index));

/** A request's verdict and its signature checks, of JWS and certificates. `known`: its chain was verified before. */
const verifyAll = async (compacts: readonly string[], known = true) => {
  const { checks, done } = watchChecks();
  const verifier = createIosStoreVerifier(checks);
  if (known) await verifier.verifyTransactions([good], trust, NOW);
  const before = done.first + done.alone + done.together;
  const certificates = spyOn(X509Certificate.prototype, "verify");
  try {
    const verdict = await verifier.verifyTransactions(compacts, trust, NOW);
    return {
      verdict: verdict.outcome === "verified" ? "verified" : [verdict.reason, verdict.index],
      payloads: done.first + done.alone + done.together - before,
      certificates: certificates.mock.calls.length,
    };
  } finally {
    certificates.mockRestore();
  }
};

const [leaf = "", intermediate = "", root = ""] = chain.x5c;
const headerOf = (x5c: readonly string[]): string => base64url(JSON.stringify({ alg: "ES256", x5c }));
/** The genuine leaf, except for the last bytes of its signature. */
const forgedLeaf = (index: number): string => {
  const bytes = Buffer.from(leaf, "base64");
  bytes.writeUInt32BE(index + 1, bytes.length - 4);
  return bytes.toString("base64");
};

describe("a thousand refused JWS cost as much as one:", () => {
  test("with forged leaves under a genuine chain, the signatures of one chain", async () => {
    const forged = many(
      (index) => `${headerOf([forgedLeaf(index), intermediate, root])}.${payload}.${signature()}`,
    );
    expect(await verifyAll(forged)).toEqual({ verdict: ["broken_chain", 0], payloads: 0, certificates: 3 });
  });

  test("with the genuine header and other signatures, the checks that had begun", async () => {
    const cost = await verifyAll(many(() => `${header}.${payload}.${signature()}`));
    expect(cost).toMatchObject({ verdict: ["signature", 0], certificates: 0 });
    expect(cost.payloads).toBeLessThanOrEqual(AT_ONCE);
  });
  test("with a genuine header that is new and other signatures, one check", async () => {
    const forged = many(() => `${header}.${payload}.${signature()}`);
    expect(await verifyAll(forged, false)).toEqual({
      verdict: ["signature", 0],
      payloads: 1,
      certificates: 3,
    });
  });
});

describe("the first refused JWS is named:", () => {
  const goods = many((index) => signJws(aTransaction({ transactionId: String(index) }), chain));
  const bad = `${header}.${payload}.${signature()}`;
  const withBad = (...places: readonly number[]): string[] =>
    goods.map((jws, index) => (places.includes(index) ? bad : jws));
  test.each([
    ["the last of those that begin at once", [AT_ONCE - 1]],
    ["the first of the others", [AT_ONCE]],
    ["the first of two neighbours", [7, 8]],
  ])("%s", async (_, places) => {
    const { verdict, payloads } = await verifyAll(withBad(...places));
    const first = places[0] ?? 0;
    expect(verdict).toEqual(["signature", first]);
    expect(payloads).toBeLessThanOrEqual(first + AT_ONCE);
  });
  test("none when all are good, and each is checked once", async () => {
    expect(await verifyAll(goods)).toEqual({ verdict: "verified", payloads: COUNT, certificates: 0 });
  });
});

test.each([
  [LONGEST_HEADER, "verified"],
  [LONGEST_HEADER + 2, "malformed_jws"],
])("a header of %i characters, with a good signature: %s", async (characters, expected) => {
  const empty = Buffer.byteLength(JSON.stringify({ alg: "ES256", x5c: chain.x5c, a: "" }));
  const jws = signJws(aTransaction(), chain, { a: "a".repeat(Math.floor((characters * 3) / 4) - empty) });
  expect(jws.indexOf(".")).toBe(characters);
  expect(word(await createIosStoreVerifier().verifyTransactions([jws], trust, NOW))).toBe(expected);
});
