import { userInfo } from "node:os";
import { v7 as uuid } from "uuid";
import {
  auditEntry,
  type Actor,
  type AuditTable,
  type Authority,
  type HashAccounts,
} from "../../lib/administration/reports/audit.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../../lib/customers/storing/bury-remains.ts";
import type { AuditAction, Audited, AuditEntry } from "../../lib/administration/acts/audit-entry.ts";
import { DAY } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import { once } from "../../lib/once.ts";
import { keyedHash } from "../../lib/delivery/webhook-secret.ts";
import type { ConfirmationOptions } from "./confirmation.ts";
import { OperatorError } from "../operator-error.ts";

/** Options of every command that changes something: who runs it. */
export interface ActingOptions {
  readonly by?: string;
}

/** Options of every destructive command: who runs it, and why. */
export interface DestructiveOptions extends ConfirmationOptions, ActingOptions {
  readonly reason: string;
}

const TEXT_CHARACTERS = 256;

const readText = (name: string, text: string): string => {
  if (text === "" || [...text].length > TEXT_CHARACTERS || /\p{Cc}/u.test(text))
    throw new OperatorError(`${name} has 1 to ${TEXT_CHARACTERS} characters, and no control characters.`);
  return text;
};

/** The user's name, or its number if the container has no name for it. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "without a name"}`;
  }
};

/** Source of the caller's name. */
interface Callers {
  /** The AWS identity of the shell; null: it has no name. */
  readonly caller: () => Promise<string | null>;
}

/**
 * Actor of a command, for the audit.
 *
 * @throws OperatorError if the name is not valid
 */
export const actorOf = async ({ caller }: Callers, { by }: ActingOptions): Promise<Actor> => ({
  by: readText("--by", by ?? userName()),
  caller: await caller(),
});

/**
 * Actor and reason of a command, for the audit.
 *
 * @throws OperatorError if the reason or the name is not valid
 */
export const authorityOf = async (
  callers: Callers,
  { reason, ...options }: DestructiveOptions,
): Promise<Authority> => ({
  reason: readText("--reason", reason),
  ...(await actorOf(callers, options)),
});

/** An entry with a new identifier. */
export const audited = (entry: AuditEntry): Audited => ({ entryIdentifier: uuid(), entry });

/** Dependencies for recording an entry outside a transaction. */
interface Recording extends Callers {
  readonly audit: Pick<AuditTable, "record">;
  readonly now: () => Instant;
}

/**
 * Records an act that spans several transactions, before it begins.
 *
 * @throws OperatorError if the name is not valid, or the credentials of the shell may not write the audit
 */
export const recordAct = async (
  recording: Recording,
  application: ApplicationId,
  options: ActingOptions,
  action: AuditAction,
  about: Parameters<typeof auditEntry>[3],
): Promise<void> => {
  const entry = auditEntry(action, recording.now(), await actorOf(recording, options), about);
  try {
    await recording.audit.record(application, audited(entry));
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AccessDeniedException") throw error;
    throw new OperatorError(
      "Nothing was changed. Your AWS credentials cannot write the audit log; attach OperatorChangesPolicy.",
      { cause: error },
    );
  }
};

/**
 * Hashes accounts with the master secret; if it cannot be read, warns once.
 *
 * @param warn receives a line for the operator
 */
export const hashingAccounts = (
  masterSecret: () => Promise<Uint8Array>,
  warn: (line: string) => void,
): HashAccounts => {
  const secret = once(async () => {
    try {
      return await masterSecret();
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      warn(`The audit cannot name accounts. ${error.message}`);
      return null;
    }
  });
  return async (application, accounts) => {
    const master = accounts.length === 0 ? null : await secret();
    return master === null ? [] : accounts.map((account) => keyedHash(master, application, account));
  };
};

/** Days for which an erased customer's identities and purchases are refused. */
export const TOMBSTONE_DAYS = ERASURE_BLOCKS_MILLISECONDS / DAY;
