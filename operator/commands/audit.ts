import { userInfo } from "node:os";
import {
  type AuditAction,
  type Audited,
  auditEntry,
  type AuditRecord,
  type AuditSubject,
  type AuditTable,
  type Authority,
  concerns,
  type SoughtAccount,
} from "../../lib/administration/acts/audit.ts";
import { loadAccountReport, type ReportedCustomer } from "../../lib/administration/reports/account-report.ts";
import type { Application } from "../../lib/applications/application.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../../lib/customers/storing/fact-store.ts";
import type { Transfer } from "../../lib/customers/storing/records.ts";
import { DAY } from "../../lib/duration.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { AccountId, ApplicationId } from "../../lib/identifiers.ts";
import { compare } from "../../lib/order.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { columns, counted, type Lines } from "../text/answer.ts";
import {
  APPLICATION,
  command,
  flag,
  optional,
  readAccountIdentifier,
  required,
  type ValuesOf,
} from "./command.ts";

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

const TRANSFER_REASONS = {
  policy: "the application's transfers policy",
  "claim-gave-way": "a client's claim gave way to a credential",
} as const satisfies Record<Transfer["because"], string>;

const transferEntry = ({ customer, moment, because }: Transfer): AuditRecord => ({
  action: "transfer",
  moment,
  by: "a link",
  caller: null,
  reason: TRANSFER_REASONS[because],
  customer,
  accounts: [],
  what: [],
});

/** Operators' acts and transfers by links, oldest first. */
export const auditEntriesOf = async (
  session: Session,
  { identifier }: Application,
): Promise<readonly AuditRecord[]> => {
  const [acts, transfers] = await Promise.all([
    session.audit.of(identifier),
    session.table.transfersOf(identifier),
  ]);
  return [...acts, ...transfers.map(transferEntry)].sort((a, b) => compare(a.moment, b.moment));
};

export const soughtAccount = async (
  { hashAccounts }: Session,
  { identifier }: Application,
  account: AccountId,
  customers: readonly Pick<ReportedCustomer, "customerIdentifier" | "aliases">[],
): Promise<SoughtAccount> => ({
  hash: (await hashAccounts(identifier, [account]))[0] ?? null,
  customers: new Set(
    customers.flatMap(({ customerIdentifier, aliases }) => [customerIdentifier, ...aliases]),
  ),
});

const entriesText = (entries: readonly AuditRecord[]): readonly Lines[] => {
  const [heading = "", ...rows] = columns([
    ["MOMENT", "ACTION", "CUSTOMER", "BY", "CALLER", "REASON"],
    ...entries.map(({ moment, action, customer, by, caller, reason }) => [
      isoTime(moment),
      action,
      customer ?? "-",
      by,
      caller ?? "-",
      reason ?? "-",
    ]),
  ]);
  return [heading, ...rows.flatMap((row, index) => [row, entries[index]?.what ?? []])];
};

/** Whether an entry is about an account, or about the whole application. */
export const isShown = (sought: SoughtAccount, entry: AuditRecord): boolean =>
  ["account", "application"].includes(concerns(sought, entry));

export const showAudit = command({
  name: "application audit",
  about: "list what operators changed, and transfers: when, by whom, and why",
  takes: { application: APPLICATION },
  options: {
    account: optional("--account <account>", "only what can concern this account", readAccountIdentifier),
  },
  run: async ({ session, application, options: { account } }) => {
    const all = await auditEntriesOf(session, application);
    const { identifier, name } = application;
    if (account === null)
      return {
        json: { applicationIdentifier: identifier, audit: all },
        text: all.length === 0 ? `No operator has changed anything of ${name}.` : entriesText(all),
      };
    const { customers } = await loadAccountReport(session, application, account, session.moment);
    const sought = await soughtAccount(session, application, account, customers);
    const shown = all.filter((entry) => isShown(sought, entry));
    const unknown = all.filter((entry) => concerns(sought, entry) === "unknown");
    const more = counted(unknown.length, "more entry has", "more entries have");
    return {
      json: {
        applicationIdentifier: identifier,
        applicationAccountIdentifier: account,
        audit: shown,
        entriesOfUnknownAccount: unknown.length,
      },
      text: [
        ...(shown.length === 0
          ? [`The audit of ${name} has no entry about account ${account}.`]
          : entriesText(shown)),
        unknown.length > 0 && `${more} no account: application audit without --account lists all.`,
      ],
    };
  },
});
