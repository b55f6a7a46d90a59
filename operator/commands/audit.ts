import { loadAccountReport, type ReportedCustomer } from "../../lib/administration/reports/account-report.ts";
import { concerns, type AuditRecord, type SoughtAccount } from "../../lib/administration/acts/audit.ts";
import type { Application } from "../../lib/applications/application.ts";
import type { Transfer } from "../../lib/customers/storing/records.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { AccountId } from "../../lib/identifiers.ts";
import { compare } from "../../lib/order.ts";
import type { Session } from "../session.ts";
import { columns, counted, type Lines } from "../text/answer.ts";
import { APPLICATION, readAccountIdentifier } from "./arguments.ts";
import { command, optional } from "./command.ts";

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
    session.operations.table.transfersOf(identifier),
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
