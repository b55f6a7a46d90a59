import type { Application } from "../../applications/application.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { AuditAction, Audited, AuditEntry } from "../acts/audit-entry.ts";
import { changeHead, changeText, type ApplicationChange } from "../manifest/difference.ts";
import { lostAccess } from "./lost-access.ts";

/** An audit entry as read; a later version may have written other actions. */
export type AuditRecord = Omit<AuditEntry, "action"> & { readonly action: string };

/** Entries of applications' audits. No function may write them. */
export interface AuditTable {
  /** Writes an entry on its own, before an act that spans several transactions. */
  record(application: ApplicationId, audited: Audited): Promise<void>;
  /** All entries of an application, oldest first. */
  of(application: ApplicationId): Promise<readonly AuditRecord[]>;
}

export type Actor = Pick<AuditEntry, "by" | "caller">;

export interface Authority extends Actor {
  readonly reason: string;
}

/**
 * Keyed hashes of the accounts, in order, for an audit entry. Without a key, e-mail addresses could be guessed; in plain
 * they would outlive an erasure. Resolves to none if they cannot be computed: that must not block an operator.
 */
export type HashAccounts = (
  application: ApplicationId,
  accounts: readonly AccountId[],
) => Promise<readonly string[]>;

/** Characters per line, and lines per entry: DynamoDB limits an item to 400 KB. */
const LINE_CHARACTERS = 200;
const MOST_LINES = 100;

/** Up to the last space that a line has room for, beside the mark of a line that goes on; a longer word is split. */
const LINE = new RegExp(`.{1,${LINE_CHARACTERS - 2}}(?=\\s|$)|.{${LINE_CHARACTERS - 2}}`, "gsu");

/** Splits text into lines of bounded length, without control characters. */
const linesOf = (given: string): string[] => {
  const text = given.replaceAll(/\p{Cc}+/gu, " ").trim();
  if ([...text].length <= LINE_CHARACTERS) return [text];
  const parts = (text.match(LINE) ?? []).map((part) => part.trim()).filter((part) => part !== "");
  return parts.map((part, index) => (index === 0 ? part : `… ${part}`));
};

const boundedLines = (texts: readonly string[]): readonly string[] => {
  const lines = texts.flatMap(linesOf);
  const rest = lines.length - MOST_LINES;
  return [...lines.slice(0, MOST_LINES), ...(rest > 0 ? [`and ${rest} more`] : [])];
};

export const auditEntry = (
  action: AuditAction,
  moment: Instant,
  { by, caller, reason = null }: Actor & Partial<Pick<AuditEntry, "reason">>,
  about: Partial<Pick<AuditEntry, "customer" | "accounts" | "what">> = {},
): AuditEntry => {
  const { customer = null, accounts = [], what = [] } = about;
  return { action, moment, by, caller, reason, customer, accounts, what: boundedLines(what) };
};

/** A change with its field values, or with the field names alone if the values may be secret or do not fit. */
const changeLine = (change: ApplicationChange): string => {
  const { subject, fields } = change;
  // The URL of a destination may hold a token; what configures a store is in the manifest.
  const isShown = subject !== "destination" && subject !== "store";
  const text = changeText(change);
  if (isShown && [...text].length <= LINE_CHARACTERS) return text;
  const names = fields.map(({ field }) => field).join(", ");
  return `${changeHead(change)}${names === "" ? "" : `: ${names}`}`;
};

export const appliedLines = (
  before: Application | null,
  after: Application,
  changes: readonly ApplicationChange[],
): readonly string[] => [
  ...(before === null ? [] : lostAccess(before, after)).map((loss) => `customers can lose access: ${loss}`),
  ...changes.map(changeLine),
];

export interface SoughtAccount {
  /** Its keyed hash; null: it cannot be computed. */
  readonly hash: string | null;
  /** Customers linked to it now, aliases included. */
  readonly customers: ReadonlySet<CustomerId>;
}

/** Actions on a whole account, where they name no customer. */
const OF_AN_ACCOUNT: ReadonlySet<string> = new Set(["export", "erase"] satisfies AuditAction[]);

/**
 * Whether an entry is about an account. `unknown`: it is about an account or a customer, but whether it is this account is
 * not recorded, or cannot be compared.
 */
export const concerns = (
  { hash, customers }: SoughtAccount,
  { action, customer, accounts }: Pick<AuditRecord, "action" | "customer" | "accounts">,
): "account" | "application" | "others" | "unknown" => {
  if (hash !== null && accounts.includes(hash)) return "account";
  if (customer !== null && customers.has(customer)) return "account";
  if (accounts.length > 0) return hash === null ? "unknown" : "others";
  return customer === null && !OF_AN_ACCOUNT.has(action) ? "application" : "unknown";
};
