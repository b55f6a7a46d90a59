import { generateKeyPairSync } from "node:crypto";
import { CompactSign } from "jose";
import { splitJws } from "../../../../lib/stores/ios-store/signatures/jws.ts";
import { SIGNATURE_CHECKS } from "../../../../lib/stores/ios-store/signatures/signature.ts";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });

const jwsOf = (compact: string) => {
  const split = splitJws(compact);
  if (split.outcome !== "verified") throw new Error("Not a JWS.");
  return split.payload;
};
const signed = (): Promise<string> =>
  new CompactSign(new TextEncoder().encode("{}")).setProtectedHeader({ alg: "ES256" }).sign(privateKey);

describe("the first check of a header", () => {
  test("takes what the key has signed, and refuses what it has not", async () => {
    const compact = await signed();
    expect(await SIGNATURE_CHECKS.first(jwsOf(compact), publicKey)).toBe(true);
    const [header, , signature] = compact.split(".");
    const forged = jwsOf(`${header}.${Buffer.from("[]").toString("base64url")}.${signature}`);
    expect(await SIGNATURE_CHECKS.first(forged, publicKey)).toBe(false);
  });
  test.each(["RS256", "HS256", "none", "ES384"])(
    "refuses the algorithm %s before it looks at the key",
    async (alg) => {
      const [, payload, signature] = (await signed()).split(".");
      const header = Buffer.from(JSON.stringify({ alg })).toString("base64url");
      const jws = jwsOf(`${header}.${payload}.${signature}`);
      expect(await SIGNATURE_CHECKS.first(jws, publicKey)).toBe(false);
      expect(await SIGNATURE_CHECKS.first(jws, rsa.publicKey)).toBe(false);
    },
  );

  test("fails where the key is unusable: that is no forgery", async () => {
    await expect(SIGNATURE_CHECKS.first(jwsOf(await signed()), rsa.publicKey)).rejects.toThrow(
      "Invalid key type",
    );
  });
});

test("all checks agree on signatures whose numbers have leading zeros", async () => {
  for (let left = 3; left > 0;) {
    const jws = jwsOf(await signed());
    const isShort = jws.signature[0] === 0 || jws.signature[32] === 0;
    if (!isShort) continue;
    left -= 1;
    for (const check of Object.values(SIGNATURE_CHECKS)) expect(await check(jws, publicKey)).toBe(true);
  }
});
