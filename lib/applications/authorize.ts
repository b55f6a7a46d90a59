import type { Scope } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, KeyId } from "../identifiers.ts";
import {
  bearerToken,
  credentialStateAt,
  hasSecret,
  parseApiKey,
  type Credential,
  type CredentialState,
} from "./credential.ts";

/** Why a key is refused, for the operator's log: the caller gets the same answer for all of them. */
export type CredentialRefusal = "malformed" | "unknown" | Exclude<CredentialState, "valid">;

/** Outcome of authorizing a request. */
export type Decision =
  | {
      readonly outcome: "authorized";
      readonly applicationIdentifier: ApplicationId;
      readonly keyIdentifier: KeyId;
      readonly scopes: readonly Scope[];
    }
  | { readonly outcome: "refused"; readonly because: CredentialRefusal };

/** Finds a credential by its key identifier; null where there is none. */
export type FindCredential = (keyIdentifier: KeyId) => Promise<Credential | null>;

const refused = (because: CredentialRefusal): Decision => ({ outcome: "refused", because });

/**
 * Authorizes the value of an `Authorization` header. A missing, malformed or mistyped key is refused without a lookup.
 * Rejects where the lookup fails. The gateway keeps the policy for `POLICY_CACHED_SECONDS`.
 */
export const authorize = async (
  authorization: string | undefined,
  moment: Instant,
  findCredential: FindCredential,
): Promise<Decision> => {
  const token = bearerToken(authorization ?? "");
  const apiKey = token === null ? null : parseApiKey(token);
  if (apiKey === null) return refused("malformed");
  const credential = await findCredential(apiKey.keyIdentifier);
  if (credential === null || !hasSecret(credential, apiKey.secret)) return refused("unknown");
  const state = credentialStateAt(moment, credential);
  if (state !== "valid") return refused(state);
  return {
    outcome: "authorized",
    applicationIdentifier: credential.application,
    keyIdentifier: credential.keyIdentifier,
    scopes: credential.scopes,
  };
};
