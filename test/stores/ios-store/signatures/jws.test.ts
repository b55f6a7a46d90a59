import { createHmac, createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import * as fc from "fast-check";
import { makeChain, signJws } from "../../../../sandbox/ios-store/signing.ts";
import { distinctJws } from "../../../../lib/stores/ios-store/signatures/jws.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { asSigned } from "../as-signed.ts";
import { cases } from "../../../../testing/support/proof.ts";

const chain = makeChain();
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
const verifier = createIosStoreVerifier();
const trust = trusting({ roots: [chain.root] });

const verify = (jws: string) => verifier.verifyTransaction(jws, trust, NOW);

const good = signJws(aTransaction(), chain);
beforeAll(() => verify(good));

/** The verdict on a JWS. Expects the same for a new verifier, for a known header, and beside other JWS. */
const outcome = async (jws: string): Promise<string> => {
  const first = word(await createIosStoreVerifier().verifyTransaction(jws, trust, NOW));
  const beside = await verifier.verifyTransactions([good, jws], trust, NOW);
  expect(word(await verify(jws))).toBe(first);
  expect(beside.outcome === "rejected" ? beside.reason : "verified").toBe(first);
  return first;
};

const [header = "", payload = "", signature = ""] = good.split(".");
const signatureBytes = Buffer.from(signature, "base64url");
const withSignature = (bytes: Uint8Array) =>
  `${header}.${payload}.${Buffer.from(bytes).toString("base64url")}`;

/** The same bytes in another spelling, with unused bits set in the last character. */
const withStrayBits = (part: string): string => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) ?? "") + 1];
};
/** Text of a length that leaves unused bits. */
const unaligned = (text: string): string => (Buffer.byteLength(text) % 3 === 0 ? `${text} ` : text);

describe("a compact JWS", () => {
  test("signed by the chain's leaf is verified", async () => {
    expect(await verify(good)).toEqual({ outcome: "verified", payload: asSigned() });
  });

  const spaced = signJws(
    unaligned(JSON.stringify(aTransaction())),
    chain,
    unaligned(JSON.stringify({ alg: "ES256", x5c: chain.x5c })),
  );
  const [spacedHeader = "", spacedPayload = "", spacedSignature = ""] = spaced.split(".");

  test.each([
    ["header", `${withStrayBits(spacedHeader)}.${spacedPayload}.${spacedSignature}`],
    ["payload", `${spacedHeader}.${withStrayBits(spacedPayload)}.${spacedSignature}`],
    ["signature", `${spacedHeader}.${spacedPayload}.${withStrayBits(spacedSignature)}`],
  ])("has one spelling: unused bits set in the %s are refused", async (_, jws) => {
    expect(await outcome(jws)).toBe("malformed_jws");
  });
  test.each([
    ["empty text", ""],
    ["four parts", `${good}.`],
    ["an empty signature", `${header}.${payload}.`],
    ["a line feed within the signature", `${good.slice(0, -10)}\n${good.slice(-10)}`],
    [
      "the alphabet of base64",
      `${header}.${payload}.${Buffer.alloc(64, 0xfb).toString("base64").replace(/=+$/, "")}`,
    ],
  ])("is refused with %s", async (_, jws) => {
    expect(await outcome(jws)).toBe("malformed_jws");
  });
});

describe("the signature", () => {
  const derEncoded = sign("sha256", Buffer.from(`${header}.${payload}`), chain.privateKey);
  test.each([
    ["truncated by a byte", signatureBytes.subarray(0, 63)],
    ["in DER", derEncoded],
  ])("must have exactly 64 bytes: refused when %s", async (_, bytes) => {
    expect(await outcome(withSignature(bytes))).toBe("malformed_jws");
  });
  test.each([
    ["zero", Buffer.alloc(64)],
    ["another signature", randomBytes(64)],
  ])("is refused when it is %s", async (_, bytes) => {
    expect(await outcome(withSignature(bytes))).toBe("signature");
  });
  test("is refused when another key made it", async () => {
    expect(await outcome(signJws(aTransaction(), { x5c: chain.x5c, privateKey: stranger.privateKey }))).toBe(
      "signature",
    );
  });

  test("covers the payload and the header", async () => {
    const other = signJws(aTransaction({ productId: "other" }), chain, { typ: "JWT" }).split(".");
    expect(await outcome(`${header}.${other[1]}.${signature}`)).toBe("signature");
    expect(await outcome(`${other[0]}.${payload}.${signature}`)).toBe("signature");
  });

  test("is refused after any change of one character of the JWS", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(good.length - 1),
        fc.constantFrom(..."AQgw05_-.=+/ \n"),
        async (index, character) => {
          fc.pre(good[index] !== character);
          expect(await outcome(good.slice(0, index) + character + good.slice(index + 1))).not.toBe(
            "verified",
          );
        },
      ),
      cases(300, 20_000),
    );
  });
});

describe("the algorithm", () => {
  const signedWith = (alg: unknown) => signJws(aTransaction(), chain, { alg });
  test.each([["none"], ["HS256"], ["ES256K"], ["es256"], [undefined], [["ES256"]]])(
    "%p is refused",
    async (alg) => {
      expect(await outcome(signedWith(alg))).toBe("algorithm_not_accepted");
    },
  );
  // An HMAC with SHA-256 is too short for an ES256 signature.
  test.each([
    ["sha256", "HS256", "malformed_jws"],
    ["sha512", "HS512", "algorithm_not_accepted"],
  ])("HMAC (%s) keyed with the certificate is refused", async (hash, alg, expected) => {
    const input = signedWith(alg).split(".").slice(0, 2).join(".");
    for (const key of [
      chain.leaf.certificate,
      chain.x5c[0] ?? "",
      createPublicKey(chain.privateKey).export({ format: "pem", type: "spki" }),
    ]) {
      const mac = createHmac(hash, key).update(input).digest("base64url");
      expect(await outcome(`${input}.${mac}`)).toBe(expected);
    }
  });
});

describe("the header", () => {
  test.each([
    ["an unknown critical extension", { crit: ["exp"], exp: 1 }],
    ["an unencoded payload", { b64: false, crit: ["b64"] }],
    ["an unencoded payload that is not marked critical", { b64: false }],
  ])("with %s is refused", async (_, members) => {
    expect(await outcome(signJws(aTransaction(), chain, members))).toBe("critical_header");
  });

  const strangersKey = {
    jwk: stranger.publicKey.export({ format: "jwk" }),
    jku: "https://stranger.example/keys",
    x5u: "https://stranger.example/certificate",
    kid: "stranger",
  };
  test("names a key only by its certificates", async () => {
    expect(await outcome(signJws(aTransaction(), chain, strangersKey))).toBe("verified");
    const signed = signJws(aTransaction(), { x5c: chain.x5c, privateKey: stranger.privateKey }, strangersKey);
    expect(await outcome(signed)).toBe("signature");
    const alone = signJws(aTransaction(), { x5c: [], privateKey: stranger.privateKey }, strangersKey);
    expect(await outcome(alone)).toBe("chain_length");
  });

  const x5c = JSON.stringify(chain.x5c);
  test.each([
    ["an algorithm twice", `{"alg":"none","alg":"ES256","x5c":${x5c}}`],
    ["certificates twice", `{"alg":"ES256","x5c":[],"x5c":${x5c}}`],
    ["a deeply nested duplicate", `{"alg":"ES256","x5c":${x5c},"a":[{"b":{"c":1,"c":1}}]}`],
    ["text that is not JSON", `alg=ES256`],
    ["a byte order mark", `\uFEFF{"alg":"ES256","x5c":${x5c}}`],
  ])("that holds %s is refused", async (_, text) => {
    expect(await outcome(signJws(aTransaction(), chain, text))).toBe("malformed_jws");
  });
  test("that is not UTF-8 is refused", async () => {
    const bytes = Buffer.concat([Buffer.from(`{"alg":"ES256","a":"`), Buffer.of(0xff), Buffer.from(`"}`)]);
    expect(await outcome(`${bytes.toString("base64url")}.${payload}.${signature}`)).toBe("malformed_jws");
  });

  test("may repeat names in different objects, and use JavaScript's own", async () => {
    const text = `{"alg":"ES256","x5c":${x5c},"a":{"alg":"none"},"b":[{"alg":1},{"alg":"\\"alg\\":"}],"__proto__":{"alg":"none"},"constructor":1}`;
    expect(await outcome(signJws(aTransaction(), chain, text))).toBe("verified");
  });
  test.each([
    ["nothing", undefined],
    ["one text", chain.x5c[0]],
    ["an object", { ...chain.x5c, length: 3 }],
    ["one that is null", [...chain.x5c.slice(0, 2), null]],
  ])("must have its certificates in a list of texts: %s is refused", async (_, value) => {
    expect(await outcome(signJws(aTransaction(), chain, { x5c: value }))).toBe("chain_length");
  });
});

const deep = (times: number) => "[".repeat(times) + "]".repeat(times);
test.each([
  ["header", `${Buffer.from(`{"alg":"ES256","x5c":${deep(6_000)}}`).toString("base64url")}.e30.${signature}`],
  ["payload", signJws(`{"a":${deep(12_000)}}`, chain)],
])("a deeply nested %s is refused", async (_, jws) => {
  expect(await outcome(jws)).not.toBe("verified");
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
