import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import * as fc from "fast-check";
import { makeChain, signJws } from "../../../../sandbox/ios-store/signing.ts";
import { distinctJws } from "../../../../lib/stores/ios-store/signatures/jws.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { asSigned } from "../as-signed.ts";
import { cases } from "../../../../testing/support/proof.ts";

/** What every verifier must refuse is in `test/proof/comparison`; here is what depends on what was verified before. */

const chain = makeChain();
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
const verifier = createIosStoreVerifier();
const trust = trusting({ roots: [chain.root] });

const verify = (jws: string) => verifier.verifyTransactions([jws], trust, NOW);

const good = signJws(aTransaction(), chain);
beforeAll(() => verify(good));

test("a signature is valid however its numbers begin: with zeros, or with a bit that reads as a sign", async () => {
  const byBeginning = new Map<string, string>();
  for (let id = 0; byBeginning.size < 6 && id < 5000; id += 1) {
    const jws = signJws(aTransaction({ transactionId: String(id) }), chain);
    const signature = Buffer.from(jws.slice(-86), "base64url");
    for (const at of [0, 32]) {
      const [first = 0] = signature.subarray(at);
      byBeginning.set(`${at} ${first === 0 ? "zero" : first > 0x7f ? "sign" : "plain"}`, jws);
    }
  }
  expect(byBeginning.size).toBe(6);
  for (const jws of byBeginning.values()) expect(word(await verify(jws))).toBe("verified");
});

/** The verdict on a JWS. Expects the same for a new verifier, for a known header, and beside other JWS. */
const outcome = async (jws: string): Promise<string> => {
  const first = word(await createIosStoreVerifier().verifyTransactions([jws], trust, NOW));
  const beside = await verifier.verifyTransactions([good, jws], trust, NOW);
  expect(word(await verify(jws))).toBe(first);
  expect(beside.outcome === "rejected" ? beside.reason : "verified").toBe(first);
  return first;
};

const [header = "", payload = "", signature = ""] = good.split(".");
const signedWith = (bytes: Uint8Array) => `${header}.${payload}.${Buffer.from(bytes).toString("base64url")}`;
const [otherHeader, otherPayload] = signJws(aTransaction({ productId: "other" }), chain, {
  typ: "JWT",
}).split(".");

test("a JWS signed by the chain's leaf is verified", async () => {
  expect(await verify(good)).toEqual({ outcome: "verified", payload: [asSigned()] });
});

test.each([
  ["a byte less", signedWith(Buffer.from(signature, "base64url").subarray(0, 63)), "malformed_jws"],
  ["DER", signedWith(sign("sha256", Buffer.from(`${header}.${payload}`), chain.privateKey)), "malformed_jws"],
  ["the alphabet of base64", `${header}.${payload}.${"+".repeat(86)}`, "malformed_jws"],
  ["zeros", signedWith(Buffer.alloc(64)), "signature"],
  ["another signature", signedWith(randomBytes(64)), "signature"],
  ["one by another key", signJws(aTransaction(), { ...chain, privateKey: stranger.privateKey }), "signature"],
  ["that of another payload", `${header}.${otherPayload}.${signature}`, "signature"],
  ["that of another header", `${otherHeader}.${payload}.${signature}`, "signature"],
])("a signature that is %s is refused, also under a known header", async (_, jws, reason) => {
  expect(await outcome(jws)).toBe(reason);
});

test("a JWS is refused after any change of one character", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(good.length - 1),
      fc.constantFrom(..."AQgw05_-.=+/ \n"),
      async (index, character) => {
        fc.pre(good[index] !== character);
        const changed = good.slice(0, index) + character + good.slice(index + 1);
        expect(await outcome(changed)).not.toBe("verified");
      },
    ),
    cases(300, 20_000),
  );
});

const x5c = JSON.stringify(chain.x5c);
const deep = (times: number) => "[".repeat(times) + "]".repeat(times);
const withHeader = (...parts: readonly Uint8Array[]) =>
  `${Buffer.concat(parts).toString("base64url")}.${payload}.${signature}`;

test.each([
  [
    "in bytes that are not UTF-8",
    withHeader(Buffer.from(`{"alg":"ES256","a":"`), Buffer.of(0xff), Buffer.from(`"}`)),
    "malformed_jws",
  ],
  ["that is nested deeply", withHeader(Buffer.from(`{"alg":"ES256","x5c":${deep(6_000)}}`)), "chain_length"],
])("a header %s is refused", async (_, jws, reason) => {
  expect(await outcome(jws)).toBe(reason);
});

test.each([
  ["algorithm_not_accepted", { alg: "none" }],
  ["critical_header", { crit: ["exp"], exp: 1 }],
  ["critical_header", { b64: false }],
  ["chain_length", { x5c: undefined }],
])("the log says why a header is refused: %s", async (reason, members) => {
  expect(await outcome(signJws(aTransaction(), chain, members))).toBe(reason);
});

test("a header may repeat names in different objects, and use JavaScript's own", async () => {
  const text = `{"alg":"ES256","x5c":${x5c},"a":{"alg":"none"},"b":[{"alg":1},{"alg":"\\"alg\\":"}],"__proto__":{"alg":"none"},"constructor":1}`;
  expect(await outcome(signJws(aTransaction(), chain, text))).toBe("verified");
});

test("distinct JWS are the given, once each unless a signature is shared", () => {
  const [SIGNATURE, OTHER] = ["s".repeat(86), "t".repeat(86)];
  const text = fc.constantFrom("", "a", `a${SIGNATURE}`, `b${SIGNATURE}`, OTHER, `${OTHER}a`);
  fc.assert(
    fc.property(fc.array(text), (texts) => {
      const distinct = distinctJws(texts);
      expect(new Set(distinct)).toEqual(new Set(texts));
      const own = distinct.filter((one) => !one.endsWith(SIGNATURE));
      expect(own).toEqual([...new Set(own)]);
    }),
    cases(100, 10_000),
  );
});
