import { v7 as uuid } from "uuid";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { changeHead, changeText, type ApplicationChange } from "../manifest/difference.ts";

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

export interface Authority {
  /** Name that the operator gave, or the user's. */
  readonly by: string;
  /** ARN of the AWS identity, as STS names it; `local` on a table of this machine; null: STS did not name it. */
  readonly caller: string | null;
  /** Null: the command asks for none. */
  readonly reason: string | null;
}

/** An operator's act, without account identifiers, purchases and secrets: it outlives an erasure. */
export interface AuditEntry extends Authority {
  readonly action: AuditAction;
  readonly moment: Instant;
  /** Null: the act concerns no single customer. */
  readonly customer: CustomerId | null;
  /** Keyed hashes of the accounts concerned: the previous one before the one moved to. */
  readonly accounts: readonly string[];
  readonly what: readonly string[];
}

export interface Audited {
  /** Distinguishes entries of the same millisecond. */
  readonly entryIdentifier: string;
  readonly entry: AuditEntry;
}

/** As read: a later version may have written other actions. */
export type AuditRecord = Omit<AuditEntry, "action"> & { readonly action: string };

/** No function may write it. */
export interface AuditTable {
  /** Writes an entry on its own, before an act that spans several transactions. */
  record(application: ApplicationId, audited: Audited): Promise<void>;
  /** All entries of an application, oldest first. */
  of(application: ApplicationId): Promise<readonly AuditRecord[]>;
}

/**
 * Keyed hashes of accounts, in order. Without a key, e-mail addresses could be guessed; in plain they would outlive an
 * erasure. None if they cannot be computed: that must not block an operator.
 */
export type HashAccounts = (
  application: ApplicationId,
  accounts: readonly AccountId[],
) => Promise<readonly string[]>;

export type AuditSubject = Partial<Pick<AuditEntry, "customer" | "accounts" | "what">>;

/** DynamoDB limits an item to 400 KB. */
const LINE_CHARACTERS = 500;
const MOST_LINES = 100;

const boundedLine = (text: string): string => {
  const line = [...text.replaceAll(/\p{Cc}+/gu, " ").trim()];
  return line.length <= LINE_CHARACTERS ? line.join("") : `${line.slice(0, LINE_CHARACTERS - 1).join("")}…`;
};

export const auditEntry = (
  action: AuditAction,
  moment: Instant,
  { by, caller, reason }: Authority,
  { customer = null, accounts = [], what = [] }: AuditSubject = {},
): Audited => {
  const rest = what.length - MOST_LINES;
  const lines = what.slice(0, MOST_LINES).map(boundedLine);
  if (rest > 0) lines.push(`and ${rest} more`);
  return {
    entryIdentifier: uuid(),
    entry: { action, moment, by, caller, reason, customer, accounts, what: lines },
  };
};

/** A change with its values, or with its fields' names alone where the values may be secret or do not fit. */
export const changeLine = (change: ApplicationChange): string => {
  const { subject, fields } = change;
  // The URL of a destination may hold a token; what configures a store is in the manifest.
  const isShown = subject !== "destination" && subject !== "store";
  const text = changeText(change);
  if (isShown && [...text].length <= LINE_CHARACTERS) return text;
  const names = fields.map(({ field }) => field).join(", ");
  return `${changeHead(change)}${names === "" ? "" : `: ${names}`}`;
};

export interface SoughtAccount {
  /** Its keyed hash; null: it cannot be computed. */
  readonly hash: string | null;
  /** Customers linked to it now, aliases included. */
  readonly customers: ReadonlySet<CustomerId>;
}

/** Actions on a whole account, where they name no customer. */
const OF_AN_ACCOUNT: ReadonlySet<string> = new Set(["export", "erase"] satisfies AuditAction[]);

/** The subject of an entry. `unknown`: an account or a customer, which cannot be compared with the one sought. */
export const concerns = (
  { hash, customers }: SoughtAccount,
  { action, customer, accounts }: Pick<AuditRecord, "action" | "customer" | "accounts">,
): "account" | "application" | "others" | "unknown" => {
  if (hash !== null && accounts.includes(hash)) return "account";
  if (customer !== null && customers.has(customer)) return "account";
  if (accounts.length > 0) return hash === null ? "unknown" : "others";
  return customer === null && !OF_AN_ACCOUNT.has(action) ? "application" : "unknown";
};
