import { createHash } from "node:crypto";
import { authorize, type Decision } from "../../lib/applications/authorize.ts";
import {
  AUTHORIZATION_PATTERN,
  bearerToken,
  credentialStateAt,
  hasSecret,
  issueCredential,
  parseApiKey,
  type Credential,
} from "../../lib/applications/credential.ts";
import { applicationId, type KeyId } from "../../lib/identifiers.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");

const issued = (expiresAt: number | null = null) =>
  issueCredential({ application: APPLICATION, label: null, scopes: ["customers:write"], expiresAt }, NOW);

describe("an API key", () => {
  test("names its credential, which stores only the secret's SHA-256", () => {
    const { apiKey, credential } = issued();
    const parsed = parseApiKey(apiKey);
    expect(apiKey).toMatch(/^cek_[0-9a-f]{16}_[0-9a-f]{72}$/);
    expect(parsed?.keyIdentifier).toBe(credential.keyIdentifier);
    const secret = parsed?.secret ?? "";
    expect(credential.secretHash).toBe(createHash("sha256").update(Buffer.from(secret, "hex")).digest("hex"));
    expect(JSON.stringify(credential)).not.toContain(secret);
    expect(hasSecret(credential, secret)).toBe(true);
  });

  test("is never issued twice", () => {
    expect(new Set(Array.from({ length: 100 }, () => issued().apiKey)).size).toBe(100);
  });

  test("with any character mistyped is not read", () => {
    const { apiKey } = issued();
    for (let index = 0; index < apiKey.length; index += 1) {
      const typed = apiKey[index] === "0" ? "1" : "0";
      expect(parseApiKey(apiKey.slice(0, index) + typed + apiKey.slice(index + 1))).toBeNull();
    }
  });

  test.each([
    ["nothing", () => ""],
    ["a key that is too short", (key: string) => key.slice(0, -1)],
    ["a key in upper case", (key: string) => key.toUpperCase()],
    ["a key with a line feed", (key: string) => `${key}\n`],
    ["a key without its checksum", () => `cek_0123456789abcdef_${"0".repeat(72)}`],
  ])("is not read from %s", (_, change) => {
    expect(parseApiKey(change(issued().apiKey))).toBeNull();
  });
});

describe("an Authorization header", () => {
  const { apiKey } = issued();
  test.each([
    [`Bearer ${apiKey}`, apiKey],
    [`bearer ${apiKey}`, apiKey],
    [`BEARER ${apiKey}`, apiKey],
    [`Bearer   ${apiKey}`, apiKey],
    ["", null],
    [apiKey, null],
    [`Basic ${apiKey}`, null],
    [`Bearer${apiKey}`, null],
    [`Bearer\t${apiKey}`, null],
    [`Bearer ${apiKey}, Bearer ${apiKey}`, null],
    [`Bearer ${apiKey}\n`, null],
    [`Bearer ключ`, null],
  ])("carries the key, or none: %#", (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });

  test("is recognized by a pattern that the gateway can use", () => {
    expect(AUTHORIZATION_PATTERN).toBe("^[Bb][Ee][Aa][Rr][Ee][Rr] +cek_[0-9a-f]{16}_[0-9a-f]{72}$");
  });
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
  const decide = async (header: string | undefined, known: Credential | null, moment = NOW) => {
    const asked: KeyId[] = [];
    const decision = await authorize(header, moment, async (keyIdentifier) => {
      asked.push(keyIdentifier);
      return known;
    });
    return { decision, asked };
  };

  test("succeeds with the key of a valid credential, after one look-up", async () => {
    expect(await decide(`Bearer ${apiKey}`, credential)).toEqual({
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
    ["of another scheme", `Basic ${apiKey}`],
    ["mistyped", `Bearer ${apiKey.slice(0, -1)}${apiKey.endsWith("0") ? "1" : "0"}`],
  ])("refuses a key that is %s without a look-up", async (_, header) => {
    expect(await decide(header, credential)).toEqual({
      decision: { outcome: "refused", because: "malformed" },
      asked: [],
    });
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
