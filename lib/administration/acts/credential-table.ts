import type { FindCredential } from "../../applications/authorize.ts";
import type { Credential, CredentialSummary } from "../../applications/credential.ts";
import type { Audited } from "./audit-entry.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId, KeyId } from "../../identifiers.ts";

export type RevokeOutcome =
  | { readonly outcome: "revoked"; readonly credential: CredentialSummary; readonly already: boolean }
  | { readonly outcome: "not_found" };

export interface CredentialTable {
  readonly find: FindCredential;
  /** All credentials ever issued for an application, oldest first. */
  list(application: ApplicationId): Promise<readonly CredentialSummary[]>;
  /** Stores a new credential, unless its application does not exist. */
  add(credential: Credential, audit?: Audited): Promise<"added" | "application_not_found">;
  /** Revokes for good; an earlier revocation keeps its time. */
  revoke(keyIdentifier: KeyId, moment: Instant, audit?: Audited): Promise<RevokeOutcome>;
}
