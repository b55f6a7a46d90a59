import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Scope } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import { keyId, type ApplicationId, type KeyId } from "../identifiers.ts";

/** What is known of an API key: all but its secret. */
export interface CredentialSummary {
  readonly keyIdentifier: KeyId;
  readonly application: ApplicationId;
  /** The operator's own words for it. */
  readonly label: string | null;
  readonly scopes: readonly Scope[];
  readonly createdAt: Instant;
  /** The first moment at which it is no longer valid; null: it does not expire. */
  readonly expiresAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export interface Credential extends CredentialSummary {
  /** SHA-256 of the secret's 32 bytes, hex. */
  readonly secretHash: string;
}

/** The two halves of an API key, as its text holds them. */
export interface ApiKey {
  readonly keyIdentifier: KeyId;
  readonly secret: string;
}

const KEY_IDENTIFIER_BYTES = 8;
const SECRET_BYTES = 32;

/** `cek_<key identifier>_<secret><CRC-32 of all before it>`, hex in lower case: a regular expression's source. */
export const API_KEY_PATTERN = "cek_[0-9a-f]{16}_[0-9a-f]{72}";

/** The header that carries an API key, as a regular expression that JavaScript and the gateway (Java) read alike. */
export const AUTHORIZATION_PATTERN = `^[Bb][Ee][Aa][Rr][Ee][Rr] +${API_KEY_PATTERN}$`;

const authorization = new RegExp(AUTHORIZATION_PATTERN);
const apiKey = /^(cek_([0-9a-f]{16})_([0-9a-f]{64}))([0-9a-f]{8})$/;

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");

/** The API key of an `Authorization` header; null where the header is of another form. */
export const bearerToken = (header: string): string | null =>
  authorization.test(header) ? header.slice(header.lastIndexOf(" ") + 1) : null;

/** Reads an API key; null where it is malformed or mistyped, which its checksum tells. */
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

/** Compared in constant time. */
export const hasSecret = ({ secretHash }: Credential, secret: string): boolean => {
  const expected = Buffer.from(secretHash, "hex");
  const given = hashOf(secret);
  return expected.length === given.length && timingSafeEqual(expected, given);
};

/** Makes a credential and its API key, which exists nowhere else: only its hash can be stored. */
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

export type CredentialState = "valid" | "expired" | "revoked";

/** A revoked credential is revoked at once, whatever the clocks say; an expiring one is valid before its end, not at it. */
export const credentialStateAt = (
  moment: Instant,
  { expiresAt, revokedAt }: Pick<CredentialSummary, "expiresAt" | "revokedAt">,
): CredentialState => {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= moment ? "expired" : "valid";
};
