import type { Scope } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, KeyId } from "../identifiers.ts";
import { bearerToken, credentialStateAt, hasSecret, parseApiKey, type Credential } from "./credential.ts";

/** Whom a request comes from. Why it is refused is not told: the caller gets one answer for all reasons. */
export type Decision =
  | {
      readonly outcome: "authorized";
      readonly applicationIdentifier: ApplicationId;
      readonly keyIdentifier: KeyId;
      readonly scopes: readonly Scope[];
    }
  | { readonly outcome: "refused" };

/** Finds a credential by its key identifier; null where there is none. */
export type FindCredential = (keyIdentifier: KeyId) => Promise<Credential | null>;

const REFUSED: Decision = { outcome: "refused" };

/**
 * Decides on the value of an `Authorization` header. What is missing, malformed or mistyped is refused without asking
 * for a credential. Rejects where the credential cannot be looked up.
 */
export const authorize = async (
  authorization: string | undefined,
  moment: Instant,
  findCredential: FindCredential,
): Promise<Decision> => {
  const token = bearerToken(authorization ?? "");
  const apiKey = token === null ? null : parseApiKey(token);
  if (apiKey === null) return REFUSED;
  const credential = await findCredential(apiKey.keyIdentifier);
  if (credential === null || !hasSecret(credential, apiKey.secret)) return REFUSED;
  if (credentialStateAt(moment, credential) !== "valid") return REFUSED;
  return {
    outcome: "authorized",
    applicationIdentifier: credential.application,
    keyIdentifier: credential.keyIdentifier,
    scopes: credential.scopes,
  };
};
