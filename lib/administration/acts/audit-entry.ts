import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";

export type AuditAction =
  | "apply"
  | "issue"
  | "revoke"
  | "rotate"
  | "resume"
  | "resend"
  | "reproject"
  | "retell"
  | "refresh"
  | "import"
  | "export"
  | "unlink"
  | "move"
  | "erase";

/**
 * An operator's act: who, when, why and what. It contains no account identifier, purchase or secret, so it outlives an
 * erasure.
 */
export interface AuditEntry {
  readonly action: AuditAction;
  readonly moment: Instant;
  /** Name that the operator gave, or the user's. */
  readonly by: string;
  /** ARN of the AWS identity, as STS names it; `local` on a table of this machine; null: STS did not name it. */
  readonly caller: string | null;
  /** Null: the command asks for none. */
  readonly reason: string | null;
  /** Null: the act concerns no single customer. */
  readonly customer: CustomerId | null;
  /** Keyed hashes of the accounts concerned: the one left before the one moved to. */
  readonly accounts: readonly string[];
  readonly what: readonly string[];
}

/** An audit entry, and the identifier that distinguishes it from others of the same millisecond. */
export interface Audited {
  readonly entryIdentifier: string;
  readonly entry: AuditEntry;
}
