import { userInfo } from "node:os";
import {
  auditEntry,
  type AuditAction,
  type Audited,
  type AuditSubject,
  type AuditTable,
  type Authority,
} from "../../lib/administration/acts/audit.ts";
import type { Application } from "../../lib/applications/application.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../../lib/customers/storing/bury-remains.ts";
import { DAY } from "../../lib/duration.ts";
import type { AccountId, ApplicationId } from "../../lib/identifiers.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { flag, optional, required, type ValuesOf } from "./command.ts";

const TEXT_CHARACTERS = 256;

/** A short text for a person. @throws OperatorError */
export const readText = (text: string, name: string): string => {
  if (text === "" || [...text].length > TEXT_CHARACTERS || /\p{Cc}/u.test(text))
    throw new OperatorError(`${name} has 1 to ${TEXT_CHARACTERS} characters, and no control characters.`);
  return text;
};

/** Options of every command that changes something. */
export const ACTING = {
  by: optional("--by <name>", "who, for the audit; your user name by default", readText),
};
type Acting = ValuesOf<typeof ACTING>;

export const DESTRUCTIVE = {
  ...ACTING,
  reason: required("--reason <text>", "why, for the audit", readText),
  yes: flag("--yes", "do it without asking"),
};

/** The user's name, or its number if the container has no name for it. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "without a name"}`;
  }
};

type Caller = Pick<Session, "caller">;

export const authorityOf = async (
  { caller }: Caller,
  { by, reason }: Acting & { readonly reason?: string },
): Promise<Authority> => ({ by: by ?? userName(), caller: await caller(), reason: reason ?? null });

export const entryOf = async (
  session: Caller & Pick<Session, "now">,
  options: Acting,
  action: AuditAction,
  about: AuditSubject,
): Promise<Audited> => auditEntry(action, session.now(), await authorityOf(session, options), about);

/** Writes an entry on its own. @throws OperatorError if the credentials of the shell may not write the audit */
export const record = async (
  { audit }: { readonly audit: Pick<AuditTable, "record"> },
  application: ApplicationId,
  entry: Audited,
): Promise<void> => {
  try {
    await audit.record(application, entry);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AccessDeniedException") throw error;
    throw new OperatorError(
      "Nothing was changed. Your AWS credentials cannot write the audit log; attach OperatorChangesPolicy.",
      { cause: error },
    );
  }
};

/** Records an act that spans several transactions, before it begins. */
export const recordAct = async (
  session: Parameters<typeof record>[0] & Caller & Pick<Session, "now" | "hashAccounts">,
  { identifier }: Pick<Application, "identifier">,
  options: Acting,
  action: AuditAction,
  { accounts = [], ...about }: Omit<AuditSubject, "accounts"> & { readonly accounts?: readonly AccountId[] },
): Promise<void> => {
  const hashed = await session.hashAccounts(identifier, accounts);
  await record(session, identifier, await entryOf(session, options, action, { ...about, accounts: hashed }));
};

export const TOMBSTONE_DAYS = ERASURE_BLOCKS_MILLISECONDS / DAY;
