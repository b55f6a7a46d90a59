import type { Instant } from "../../entitlements/time.ts";
import type { AccountId } from "../../identifiers.ts";
import { purchaseKeyOfToken } from "../../stores/android-store/purchase-token.ts";
import type { State } from "./asking/verdict.ts";
import { claimsAccessAt, sha256, type AskedEnvironment, type Claim } from "./claim.ts";
import type { AnsweredEntry, JournalEntry, Linked, Stored } from "./journal.ts";

/** Text that identifies what a claim names; its SHA-256 is in the journal. */
export const idOf = ({ store, name, account, product }: Claim): string => {
  if (name === null) return `none ${store} ${account ?? ""} ${product?.productIdentifier ?? ""}`;
  if (name.kind === "token") return `${store} ${purchaseKeyOfToken(name.value)}`;
  return `${name.kind === "order" ? "order" : store} ${name.value}`;
};

/** Text that identifies the claim's lineage, so far as the file tells. */
export const lineageIdOf = (claim: Claim): string =>
  claim.lineage === null || claim.name === null ? idOf(claim) : `${claim.store} ${claim.lineage}`;

/** An entry that may be merged into another of its kind. */
interface Joined<Self> {
  /** Null: it is not merged. */
  into: Self | null;
}

export interface Person extends Joined<Person> {
  /** Account that the files name; null: none. */
  account: AccountId | null;
  /** Whether the files give the person to several accounts. */
  isDisputed: boolean;
  /** How the person was linked; null: not yet. */
  linked: Linked | null;
}

export interface Lineage extends Joined<Lineage> {
  /** SHA-256 of its own identifier. */
  readonly id: string;
  readonly person: Person;
  state: State;
  isMapped: boolean;
  environment: AskedEnvironment;
  /** How the answer was stored; null: there is none yet. */
  stored: Stored | null;
  /** Key of the purchase in the table; null: no store has answered about it. */
  key: string | null;
  /** SHA-256 of the account that the store echoes; null: it echoes none. */
  echo: string | null;
  /** Whether the other service gives access for it; null: the files do not say. */
  claimsAccess: boolean | null;
}

interface Identifier {
  /** When its newest claim was changed; 0: the files do not say. */
  updatedAt: Instant;
  lineage: Lineage;
}

/**
 * The files' claims and the stores' answers, joined by SHA-256 of identifiers: rows of one transaction, transactions of one
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
  person: { into: null, account: null, isDisputed: false, linked: null },
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

/** The lineage of an identifier, made if there is none. */
const lineageAt = (join: Join, id: string): Lineage => {
  const known = findLineage(join, id);
  if (known !== undefined) return known;
  const lineage = newLineage(id);
  join.set(id, { updatedAt: 0, lineage });
  return lineage;
};

/** The lineage that a store has answered about. What was one lineage for the file may be the start of another. */
const answeredLineage = (join: Join, id: string): Lineage => {
  const known = join.get(id) ?? { updatedAt: 0 };
  const lineage = "lineage" in known && known.lineage.id === id ? known.lineage : newLineage(id);
  lineage.into = null;
  join.set(id, { ...known, lineage });
  return lineage;
};

export const lineageOf = (join: Join, claim: Claim): Lineage => lineageAt(join, sha256(idOf(claim)));

/** First pass: of the claims of one identifier, the newest counts. */
export const noteClaim = (join: Join, claim: Claim): void => {
  const lineage = lineageAt(join, sha256(lineageIdOf(claim)));
  const id = sha256(idOf(claim));
  join.set(id, { updatedAt: Math.max(join.get(id)?.updatedAt ?? 0, claim.updatedAt ?? 0), lineage });
};

/** Whether no newer claim names the same identifier. Of equally new ones, each counts. */
export const isNewest = (join: Join, claim: Claim): boolean =>
  (claim.updatedAt ?? 0) >= (join.get(sha256(idOf(claim)))?.updatedAt ?? 0);

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

/** Applies a line of the journal: at once, or when an interrupted run goes on. */
export const applyEntry = (join: Join, entry: JournalEntry): void => {
  const lineage = findLineage(join, entry.id);
  if ("linked" in entry) {
    if (lineage !== undefined) personOf(lineage).linked = entry.linked;
  } else if (entry.outcome === "answered") applyAnswer(join, entry);
  else if (entry.outcome !== "unanswered" && entry.outcome !== "stopped" && lineage !== undefined)
    lineage.state = entry.outcome;
};

/** Last pass but one, once the stores have answered: what the claims say of a lineage and of its person. */
export const countClaim = (join: Join, claim: Claim, moment: Instant): void => {
  const lineage = lineageOf(join, claim);
  const access = claimsAccessAt(claim, moment);
  if (access !== null) lineage.claimsAccess = access || lineage.claimsAccess === true;
  if (claim.account === null) return;
  const person = personOf(lineage);
  if (person.account !== null && person.account !== claim.account) person.isDisputed = true;
  person.account ??= claim.account;
};

/** Key in the table of a claim's purchase; null: no row names it, and no store has. */
export const keyOf = (claim: Claim, { key }: Lineage): string | null => {
  if (key !== null || claim.name === null || claim.name.kind === "order") return key;
  return lineageIdOf(claim).slice(claim.store.length + 1);
};

export type Decisions = ReadonlyMap<Person, AccountId>;

/** Persons by the purchases that an operator has decided about; purchases that no file names are left out. */
export const decisionsOf = (join: Join, decided: ReadonlyMap<string, AccountId>): Decisions =>
  new Map(
    [...decided].flatMap(([purchase, account]) =>
      (["ios-store", "android-store"] as const).flatMap((store) => {
        const lineage = findLineage(join, sha256(`${store} ${purchase}`));
        return lineage === undefined ? [] : [[personOf(lineage), account] as const];
      }),
    ),
  );
