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

const KEY_IDENTIFIER_BYTES = 8;
const SECRET_BYTES = 32;

/**
 * Source of a regular expression for the `Authorization` header; JavaScript and the gateway (Java) read it alike. An API
 * key is `cek_<key identifier>_<secret><CRC-32 of everything before it>`, in lower-case hex.
 */
export const AUTHORIZATION_PATTERN = "^[Bb][Ee][Aa][Rr][Ee][Rr] +cek_[0-9a-f]{16}_[0-9a-f]{72}$";

const authorization = new RegExp(AUTHORIZATION_PATTERN);
const apiKey = /(cek_([0-9a-f]{16})_([0-9a-f]{64}))([0-9a-f]{8})$/;

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");

/** API key of an `Authorization` header; null where it is malformed or its checksum does not match. */
const apiKeyOf = (header: string): { readonly keyIdentifier: KeyId; readonly secret: string } | null => {
  const [, checked = "", identifier = "", secret = "", sum] = apiKey.exec(header) ?? [];
  if (!authorization.test(header) || checksum(checked) !== sum) return null;
  return { keyIdentifier: keyId(identifier), secret };
};

const hashOf = (secret: string): Buffer => createHash("sha256").update(Buffer.from(secret, "hex")).digest();

/** Compares hashes in constant time. */
const hasSecret = ({ secretHash }: Credential, secret: string): boolean => {
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
  const checked = `cek_${keyIdentifier}_${secret}`;
  const secretHash = hashOf(secret).toString("hex");
  return {
    apiKey: checked + checksum(checked),
    credential: { ...terms, keyIdentifier, createdAt: moment, revokedAt: null, secretHash },
  };
};

/** Time for which the gateway caches a policy, and so may still accept a key that was revoked or has expired. */
export const POLICY_CACHED_SECONDS = 60;

type CredentialState = "valid" | "expired" | "revoked";

/** A revocation counts at once, whatever the clocks say. A credential that expires is no longer valid at its end. */
export const credentialStateAt = (
  moment: Instant,
  { expiresAt, revokedAt }: Pick<CredentialSummary, "expiresAt" | "revokedAt">,
): CredentialState => {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= moment ? "expired" : "valid";
};

/** Why a key is refused, for the operator's log: the caller gets the same answer for all of them. */
type CredentialRefusal = "malformed" | "unknown" | Exclude<CredentialState, "valid">;

export type Decision =
  | {
      readonly outcome: "authorized";
      readonly applicationIdentifier: ApplicationId;
      readonly keyIdentifier: KeyId;
      readonly scopes: readonly Scope[];
    }
  | { readonly outcome: "refused"; readonly because: CredentialRefusal };

export type FindCredential = (keyIdentifier: KeyId) => Promise<Credential | null>;

const refused = (because: CredentialRefusal): Decision => ({ outcome: "refused", because });

/** Authorizes an `Authorization` header. A malformed key is refused without a lookup. Rejects if the lookup does. */
export const authorize = async (
  header: string | undefined,
  moment: Instant,
  findCredential: FindCredential,
): Promise<Decision> => {
  const key = apiKeyOf(header ?? "");
  if (key === null) return refused("malformed");
  const credential = await findCredential(key.keyIdentifier);
  if (credential === null || !hasSecret(credential, key.secret)) return refused("unknown");
  const state = credentialStateAt(moment, credential);
  if (state !== "valid") return refused(state);
  return {
    outcome: "authorized",
    applicationIdentifier: credential.application,
    keyIdentifier: credential.keyIdentifier,
    scopes: credential.scopes,
  };
};
