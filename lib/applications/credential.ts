import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Scope } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import { keyId, type ApplicationId, type KeyId } from "../identifiers.ts";

/** An API key without its secret. */
export interface CredentialSummary {
  readonly keyIdentifier: KeyId;
  readonly application: ApplicationId;
  /** Free text from the operator. */
  readonly label: string | null;
  readonly scopes: readonly Scope[];
  readonly createdAt: Instant;
  /** First moment at which it is no longer valid; null: it does not expire. */
  readonly expiresAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export interface Credential extends CredentialSummary {
  /** SHA-256 of the secret's 32 bytes, hex. */
  readonly secretHash: string;
}

/** Parts of an API key, in lower-case hex. */
export interface ApiKey {
  readonly keyIdentifier: KeyId;
  readonly secret: string;
}

const KEY_IDENTIFIER_BYTES = 8;
const SECRET_BYTES = 32;

/**
 * Source of a regular expression for `cek_<key identifier>_<secret><CRC-32 of everything before it>`, in lower-case
 * hex.
 */
const API_KEY_PATTERN = "cek_[0-9a-f]{16}_[0-9a-f]{72}";

/** Source of a regular expression for the `Authorization` header; JavaScript and the gateway (Java) read it alike. */
export const AUTHORIZATION_PATTERN = `^[Bb][Ee][Aa][Rr][Ee][Rr] +${API_KEY_PATTERN}$`;

const authorization = new RegExp(AUTHORIZATION_PATTERN);
const apiKey = /^(cek_([0-9a-f]{16})_([0-9a-f]{64}))([0-9a-f]{8})$/;

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");

/** API key of an `Authorization` header; null where the header has another form. */
export const bearerToken = (header: string): string | null =>
  authorization.test(header) ? header.slice(header.lastIndexOf(" ") + 1) : null;

/** Parses an API key; null where it is malformed or its checksum does not match. */
export const parseApiKey = (text: string): ApiKey | null => {
  const [, checked, identifier, secret, sum] = apiKey.exec(text) ?? [];
  if (checked === undefined || identifier === undefined || secret === undefined) return null;
  return checksum(checked) === sum ? { keyIdentifier: keyId(identifier), secret } : null;
};

const formatApiKey = ({ keyIdentifier, secret }: ApiKey): string => {
  const checked = `cek_${keyIdentifier}_${secret}`;
  return checked + checksum(checked);
};

const hashOf = (secret: string): Buffer => createHash("sha256").update(Buffer.from(secret, "hex")).digest();

/** Compares hashes in constant time. */
export const hasSecret = ({ secretHash }: Credential, secret: string): boolean => {
  const expected = Buffer.from(secretHash, "hex");
  const given = hashOf(secret);
  return expected.length === given.length && timingSafeEqual(expected, given);
};

/** Issues a credential and its API key. The key exists nowhere else: only the secret's hash can be stored. */
export const issueCredential = (
  terms: Pick<Credential, "application" | "label" | "scopes" | "expiresAt">,
  moment: Instant,
): { readonly apiKey: string; readonly credential: Credential } => {
  const keyIdentifier = keyId(randomBytes(KEY_IDENTIFIER_BYTES).toString("hex"));
  const secret = randomBytes(SECRET_BYTES).toString("hex");
  return {
    apiKey: formatApiKey({ keyIdentifier, secret }),
    credential: {
      keyIdentifier,
      application: terms.application,
      label: terms.label,
      scopes: terms.scopes,
      createdAt: moment,
      expiresAt: terms.expiresAt,
      revokedAt: null,
      secretHash: hashOf(secret).toString("hex"),
    },
  };
};

/** Time for which the gateway caches a policy, and so may still accept a key that was revoked or has expired. */
export const POLICY_CACHED_SECONDS = 60;

export type CredentialState = "valid" | "expired" | "revoked";

/**
 * A revocation counts at once, so differing clocks do not matter. An expiring credential is valid before its end, not
 * at it.
 */
export const credentialStateAt = (
  moment: Instant,
  { expiresAt, revokedAt }: Pick<CredentialSummary, "expiresAt" | "revokedAt">,
): CredentialState => {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= moment ? "expired" : "valid";
};
