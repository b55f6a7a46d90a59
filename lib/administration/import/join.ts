import * as z from "zod";
import { parseJson } from "../../bounded-text.ts";
import { STORES, type Store } from "../../contract/schemas.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId } from "../../identifiers.ts";
import { purchaseKeyOfToken } from "../../stores/android-store/reading.ts";
import { type Claim, claimsAccessAt, sha256 } from "./claim.ts";

/** States of a purchase by its store. */
const STATES = [
  /** Nobody has asked yet, or the answer could not be used. */
  "unasked",
  "active",
  "grace",
  "retry",
  "paused",
  "ended",
  "refunded",
  "pending",
  "dropped",
  "unknown",
  "unconfigured",
  /** It is of an environment that the run or the manifest leaves out. */
  "excluded",
  "unverified",
] as const;
export type State = (typeof STATES)[number];

export const givesAccess = (state: State): boolean => state === "active" || state === "grace";

const sha = z.string().regex(/^[0-9a-f]{64}$/);
const ENVIRONMENT = z.enum(["production", "sandbox"]);

/**
 * First line of a run's journal; one line of JSON for each outcome follows, from which an interrupted run goes on. The
 * journal holds rows' numbers, SHA-256 of identifiers, purchase keys and outcomes; no token, no key and nothing signed. A
 * dry run and a run never continue each other.
 */
const journalHead = z.object({
  import: z.literal(1),
  application: z.string(),
  table: z.string(),
  isDryRun: z.boolean(),
  /** Null: each that the manifest accepts. */
  environment: ENVIRONMENT.nullable(),
  /** Identifies the run in the audit. */
  run: z.string(),
  startedAt: z.number(),
});
export type JournalHead = z.output<typeof journalHead>;

const lineage = z.object({
  /** SHA-256 of the lineage's identifier, and of others of it that the files name. */
  id: sha,
  also: z.array(sha),
  /** The purchase's key in the table; an Android purchase's is the SHA-256 of its token. */
  key: z.string(),
  environment: ENVIRONMENT,
  state: z.enum(STATES),
  isMapped: z.boolean(),
  /** SHA-256 of the account as the store echoes it; null: it echoes none. */
  echo: sha.nullable(),
});
export type AnsweredLineage = z.output<typeof lineage>;

const answered = z.object({
  /** SHA-256 of what the claim names, as in every entry. */
  id: sha,
  outcome: z.literal("answered"),
  /** `conflict`: the answer names customers of different accounts. */
  stored: z.enum(["stored", "erased", "conflict"]),
  lineages: z.array(lineage),
  /** Other lineages of the files that the store says are the same person's. */
  samePerson: z.array(sha),
});
export type AnsweredEntry = z.output<typeof answered>;
export type Stored = AnsweredEntry["stored"];

/** Outcomes after which a run that goes on asks again. */
const OPEN = ["unanswered", "stopped", "unconfigured", "unverified"] as const;
const unanswered = z.object({ id: sha, outcome: z.enum([...OPEN, "unknown", "dropped", "excluded"]) });
export type UnansweredOutcome = z.output<typeof unanswered>["outcome"];

/** `elsewhere`: another account has the customer. */
const linked = z.object({ id: sha, linked: z.enum(["linked", "elsewhere", "erased"]) });
export type Linked = z.output<typeof linked>["linked"];

const journalEntry = z.union([answered, unanswered, linked]);
export type JournalEntry = z.output<typeof journalEntry>;

const finished = z.object({ finishedAt: z.number() });

const isOpen = (entry: JournalEntry): boolean =>
  "outcome" in entry && OPEN.some((outcome) => outcome === entry.outcome);

/** Applies a journal's entries, without a last line that was cut off. `head` null: it is no journal. */
export const readJournal = async (lines: AsyncIterable<string>, apply: (entry: JournalEntry) => void) => {
  let head: JournalHead | null = null;
  let isFinished = false;
  for await (const line of lines) {
    const value = parseJson(line);
    head ??= journalHead.safeParse(value).data ?? null;
    const entry = journalEntry.safeParse(value).data;
    if (entry !== undefined && !isOpen(entry)) apply(entry);
    else if (finished.safeParse(value).success) isFinished = true;
  }
  return { head, isFinished };
};

const nameText = ({ store, name, account, product }: Claim): string => {
  if (name === null) return `none ${store} ${account ?? ""} ${product?.productIdentifier ?? ""}`;
  if (name.kind === "token") return `${store} ${purchaseKeyOfToken(name.value)}`;
  return `${name.kind === "order" ? "order" : store} ${name.value}`;
};

/** SHA-256 of what a claim names. */
export const idOf = (claim: Claim): string => sha256(nameText(claim));

/** SHA-256 of a purchase's key, with its store. */
export const idOfKey = (store: Store, key: string): string => sha256(`${store} ${key}`);

/** Text that identifies the claim's lineage, so far as the file tells. */
export const lineageText = (claim: Claim): string =>
  claim.lineage === null || claim.name === null ? nameText(claim) : `${claim.store} ${claim.lineage}`;

interface Joined<Self> {
  /** The one that it is merged into; null: not merged. */
  into: Self | null;
}

export interface Person extends Joined<Person> {
  /** Account that the files name; null: none. */
  account: AccountId | null;
  /** Whether the files give the person to several accounts. */
  isDisputed: boolean;
  /** Account that an operator has decided on; null: none. */
  decided: AccountId | null;
  /** How the person was linked; null: not yet. */
  linked: Linked | null;
}

export interface Lineage extends Joined<Lineage>, Omit<AnsweredLineage, "also" | "key"> {
  readonly id: string;
  readonly person: Person;
  /** How the answer was stored; null: there is none yet. */
  stored: Stored | null;
  /** Key of the purchase in the table; null: no store has answered about it. */
  key: string | null;
  /** Whether the other service gives access for it; null: the files do not say. */
  claimsAccess: boolean | null;
}

interface Identifier {
  /** When its newest claim was changed; 0: the files do not say. */
  updatedAt: Instant;
  lineage: Lineage;
}

/**
 * The files' claims and the stores' answers by SHA-256 of identifiers: rows of one transaction, transactions of one
 * lineage, lineages of one person, in whatever order they come.
 */
export type Join = Map<string, Identifier>;

const endOf = <One extends Joined<One>>(one: One): One => {
  let end = one;
  while (end.into !== null) end = end.into;
  return end;
};

const unite = <One extends Joined<One>>(one: One, other: One): void => {
  const [from, to] = [endOf(one), endOf(other)];
  if (from !== to) from.into = to;
};

export const personOf = ({ person }: Lineage): Person => endOf(person);

const newLineage = (id: string): Lineage => ({
  id,
  into: null,
  person: { into: null, account: null, isDisputed: false, decided: null, linked: null },
  state: "unasked",
  isMapped: false,
  environment: "production",
  stored: null,
  key: null,
  echo: null,
  claimsAccess: null,
});

const findLineage = (join: Join, id: string): Lineage | undefined => {
  const known = join.get(id);
  return known && endOf(known.lineage);
};

const lineageAt = (join: Join, id: string): Lineage => {
  const known = findLineage(join, id);
  if (known !== undefined) return known;
  const lineage = newLineage(id);
  join.set(id, { updatedAt: 0, lineage });
  return lineage;
};

/** The lineage of a store's answer: a start of its own, even where the file gave it to another. */
const answeredLineage = (join: Join, id: string): Lineage => {
  const known = join.get(id) ?? { updatedAt: 0 };
  const lineage = "lineage" in known && known.lineage.id === id ? known.lineage : newLineage(id);
  lineage.into = null;
  join.set(id, { ...known, lineage });
  return lineage;
};

export const lineageOf = (join: Join, claim: Claim): Lineage => lineageAt(join, idOf(claim));

/** First pass: of the claims of one identifier, the newest counts. */
export const noteClaim = (join: Join, claim: Claim): void => {
  const lineage = lineageAt(join, sha256(lineageText(claim)));
  const id = idOf(claim);
  join.set(id, { updatedAt: Math.max(join.get(id)?.updatedAt ?? 0, claim.updatedAt ?? 0), lineage });
};

/** Whether no newer claim names the same identifier. Of equally new ones, each counts. */
export const isNewest = (join: Join, claim: Claim): boolean =>
  (claim.updatedAt ?? 0) >= (join.get(idOf(claim))?.updatedAt ?? 0);

const applyAnswer = (join: Join, { id, stored, lineages, samePerson }: AnsweredEntry): void => {
  const answered = lineages.map(({ id: own, also, ...answer }) => {
    const lineage = answeredLineage(join, own);
    for (const other of also) {
      const named = join.get(other);
      if (named !== undefined) named.lineage = lineage;
    }
    return Object.assign(lineage, answer, { stored });
  });
  const [first] = answered;
  if (first === undefined) return;
  const others = samePerson.flatMap((other) => findLineage(join, other) ?? []);
  for (const { person } of [...answered, ...others]) unite(person, first.person);
  const asked = findLineage(join, id);
  if (asked?.state === "unasked") unite(asked, first);
};

/** Applies an entry of the journal: at once, or when an interrupted run goes on. */
export const applyEntry = (join: Join, entry: JournalEntry): void => {
  const lineage = findLineage(join, entry.id);
  if ("linked" in entry) {
    if (lineage !== undefined) personOf(lineage).linked = entry.linked;
  } else if (entry.outcome === "answered") applyAnswer(join, entry);
  else if (entry.outcome !== "unanswered" && entry.outcome !== "stopped" && lineage !== undefined)
    lineage.state = entry.outcome;
};

/** Once the stores have answered: notes what a claim says of its lineage and of its person. */
export const countClaim = (join: Join, claim: Claim, moment: Instant): void => {
  const lineage = lineageOf(join, claim);
  const access = claimsAccessAt(claim, moment);
  if (access !== null) lineage.claimsAccess = access || lineage.claimsAccess === true;
  if (claim.account === null) return;
  const person = personOf(lineage);
  if (person.account !== null && person.account !== claim.account) person.isDisputed = true;
  person.account ??= claim.account;
};

/** Key in the table of a claim's purchase; null: neither a row names it nor a store. */
export const keyOf = (claim: Claim, { key }: Lineage): string | null => {
  if (key !== null || claim.name === null || claim.name.kind === "order") return key;
  return lineageText(claim).slice(claim.store.length + 1);
};

/** Takes an operator's decisions: accounts by purchases' keys. Purchases that no file names are left out. */
export const decide = (join: Join, decided: ReadonlyMap<string, AccountId>): void => {
  for (const [purchase, account] of decided)
    for (const store of STORES) {
      const lineage = findLineage(join, idOfKey(store, purchase));
      if (lineage !== undefined) personOf(lineage).decided = account;
    }
};
