import { createHash } from "node:crypto";
import {
  authorize,
  AUTHORIZATION_PATTERN,
  credentialStateAt,
  issueCredential,
  type Credential,
  type Decision,
} from "../../lib/applications/credential.ts";
import { applicationId, type KeyId } from "../../lib/identifiers.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");

const issued = (expiresAt: number | null = null) =>
  issueCredential({ application: APPLICATION, label: null, scopes: ["customers:write"], expiresAt }, NOW);

/** The decision about a header, and the credentials that were looked up. */
const decide = async (header: string | undefined, known: Credential | null, moment = NOW) => {
  const asked: KeyId[] = [];
  const decision = await authorize(header, moment, async (keyIdentifier) => {
    asked.push(keyIdentifier);
    return known;
  });
  return { decision, asked };
};
const MALFORMED = { decision: { outcome: "refused", because: "malformed" }, asked: [] };

describe("an API key", () => {
  test("is stored as the SHA-256 of its secret", () => {
    const { apiKey, credential } = issued();
    const [, identifier, secret = ""] = /^cek_([0-9a-f]{16})_([0-9a-f]{64})[0-9a-f]{8}$/.exec(apiKey) ?? [];
    expect(identifier).toBe(credential.keyIdentifier);
    expect(credential.secretHash).toBe(createHash("sha256").update(Buffer.from(secret, "hex")).digest("hex"));
    expect(JSON.stringify(credential)).not.toContain(secret);
  });

  test("is never issued twice", () => {
    expect(new Set(Array.from({ length: 100 }, () => issued().apiKey)).size).toBe(100);
  });
});

test("an Authorization header is recognized by a pattern that the gateway can use", () => {
  expect(AUTHORIZATION_PATTERN).toBe("^[Bb][Ee][Aa][Rr][Ee][Rr] +cek_[0-9a-f]{16}_[0-9a-f]{72}$");
});

test.each([
  ["valid", { expiresAt: NOW + 1, revokedAt: null }],
  ["expired", { expiresAt: NOW, revokedAt: null }],
  ["revoked", { expiresAt: null, revokedAt: NOW + 60_000 }],
  ["revoked", { expiresAt: NOW - 1, revokedAt: NOW - 2 }],
])("a credential is %s with %j", (state, credential) => {
  expect(credentialStateAt(NOW, credential)).toBe(state);
});

describe("authorization", () => {
  const { apiKey, credential } = issued(NOW + 1000);
  test.each(["Bearer ", "bearer ", "BEARER ", "Bearer   "])("takes a valid key after %j", async (scheme) => {
    expect(await decide(`${scheme}${apiKey}`, credential)).toEqual({
      decision: {
        outcome: "authorized",
        applicationIdentifier: APPLICATION,
        keyIdentifier: credential.keyIdentifier,
        scopes: ["customers:write"],
      } satisfies Decision,
      asked: [credential.keyIdentifier],
    });
  });

  test.each([
    ["missing", undefined],
    ["empty", ""],
    ["without a scheme", apiKey],
    ["of another scheme", `Basic ${apiKey}`],
    ["without a space", `Bearer${apiKey}`],
    ["after a tab", `Bearer\t${apiKey}`],
    ["given twice", `Bearer ${apiKey}, Bearer ${apiKey}`],
    ["followed by a line feed", `Bearer ${apiKey}\n`],
    ["too short", `Bearer ${apiKey.slice(0, -1)}`],
    ["in upper case", `Bearer ${apiKey.toUpperCase()}`],
    ["in other letters", "Bearer ключ"],
    ["without its checksum", `Bearer cek_0123456789abcdef_${"0".repeat(72)}`],
  ])("refuses a key that is %s without a look-up", async (_, header) => {
    expect(await decide(header, credential)).toEqual(MALFORMED);
  });

  test("refuses a key with any character mistyped without a look-up", async () => {
    for (let index = 0; index < apiKey.length; index += 1) {
      const typed = apiKey[index] === "0" ? "1" : "0";
      const mistyped = apiKey.slice(0, index) + typed + apiKey.slice(index + 1);
      expect(await decide(`Bearer ${mistyped}`, credential)).toEqual(MALFORMED);
    }
  });

  test.each<[string, Credential | null, number, string]>([
    ["unknown", null, NOW, "unknown"],
    ["another's", { ...issued().credential, keyIdentifier: credential.keyIdentifier }, NOW, "unknown"],
    ["stored with a broken hash", { ...credential, secretHash: "ab" }, NOW, "unknown"],
    ["revoked", { ...credential, revokedAt: NOW - 1 }, NOW, "revoked"],
    ["expired", credential, NOW + 1000, "expired"],
  ])("refuses a credential that is %s", async (_, known, moment, because) => {
    const { decision } = await decide(`Bearer ${apiKey}`, known, moment);
    expect(decision).toEqual({ outcome: "refused", because });
  });

  test("throws when the look-up fails, and refuses nobody", async () => {
    const failure = new Error("no table");
    await expect(authorize(`Bearer ${apiKey}`, NOW, () => Promise.reject(failure))).rejects.toBe(failure);
  });
});
