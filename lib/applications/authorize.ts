import type { Scope } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, KeyId } from "../identifiers.ts";
import { bearerToken, credentialStateAt, hasSecret, parseApiKey, type Credential } from "./credential.ts";

/** Caller of a request. A refusal gives no reason: the caller gets the same answer for all of them. */
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
 * Authorizes the value of an `Authorization` header. A missing, malformed or mistyped key is refused without a lookup.
 * Rejects where the lookup fails.
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
