import { SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId } from "../../identifiers.ts";
import { purchaseKeyOfToken } from "../../stores/android-store/purchase-token.ts";
import { claimsAccessAt, type AskedEnvironment, type Claim } from "./claim.ts";
import { LINKED, STORED, type AnsweredEntry, type JournalEntry } from "./journal.ts";
import { createColumn, createSlots, sha256 } from "./slots.ts";
import { STATES, type State } from "./asking/verdict.ts";

/** Text that identifies what a claim names; its SHA-256 is in the journal. */
export const idOf = ({ store, name, account, product }: Claim): string => {
  if (name === null) return `none ${store} ${account ?? ""} ${product?.productIdentifier ?? ""}`;
  if (name.kind === "token") return `${store} ${purchaseKeyOfToken(name.value)}`;
  return `${name.kind === "order" ? "order" : store} ${name.value}`;
};

/** Text that identifies the claim's lineage, so far as the file tells. */
export const lineageOf = (claim: Claim): string =>
  claim.lineage === null || claim.name === null ? idOf(claim) : `${claim.store} ${claim.lineage}`;

const FLAGS = { mapped: 1, sandbox: 2, access: 4, noAccess: 8, disputed: 16, seen: 32 } as const;

const numbers = () => createColumn(Uint32Array);
const codes = () => createColumn(Uint8Array);

/**
 * The files' claims and the stores' answers, joined: rows of one transaction, transactions of one lineage, lineages of one
 * person, in whatever order they come. Some 60 bytes for each identifier.
 */
export const createJoin = () => ({
  slots: createSlots(),
  /** Time of an identifier's newest claim, in seconds. */
  updatedAt: numbers(),
  /** Slot of an identifier's lineage, plus one; 0: the identifier is the lineage. */
  lineage: numbers(),
  /** Slot of another lineage of the same person, plus one; 0: the lineage stands for the person. */
  parent: numbers(),
  flags: codes(),
  state: codes(),
  /** How a lineage was stored, plus one. */
  stored: codes(),
  /** How a person was linked, plus one. */
  linked: codes(),
  /** Accounts that the files or the stores' echoes name. */
  accounts: createSlots(),
  /** Slot of the account that a lineage's store echoes, plus one; 0: it echoes none. */
  echo: numbers(),
  /** Slot of the account that the files name for a person, plus one; 0: none. */
  account: numbers(),
  /** Keys of lineages that no row names itself. */
  keys: new Map<number, string>(),
});
export type Join = ReturnType<typeof createJoin>;

const has = ({ flags }: Join, slot: number, flag: number): boolean => (flags.get(slot) & flag) !== 0;
const raise = ({ flags }: Join, slot: number, flag: number): void => flags.set(slot, flags.get(slot) | flag);

/** The lineage of an identifier: itself, unless the file or a store has named another. */
const lineageSlot = ({ lineage }: Join, slot: number): number => {
  const of = lineage.get(slot);
  return of === 0 ? slot : of - 1;
};

/** The slot that stands for a lineage's person. */
export const personOf = ({ parent }: Join, slot: number): number => {
  let person = slot;
  while (parent.get(person) !== 0) person = parent.get(person) - 1;
  if (person !== slot) parent.set(slot, person + 1);
  return person;
};

const unite = (join: Join, a: number, b: number): void => {
  const [one, other] = [personOf(join, a), personOf(join, b)];
  if (one !== other) join.parent.set(Math.max(one, other), Math.min(one, other) + 1);
};

/** Makes an identifier one of a lineage. What was one lineage for the file may be the start of another. */
const assign = (join: Join, slot: number, to: number): void => {
  if (slot !== to) join.lineage.set(slot, to + 1);
};

const secondsOf = ({ updatedAt }: Claim): number => Math.floor((updatedAt ?? 0) / SECOND);

/** First pass: of the claims of one identifier, the newest counts. */
export const noteClaim = (join: Join, claim: Claim): void => {
  const slot = join.slots.slotOf(sha256(idOf(claim)));
  raise(join, slot, FLAGS.seen);
  if (claim.lineage !== null && claim.name !== null) {
    const of = join.slots.slotOf(sha256(lineageOf(claim)));
    raise(join, of, FLAGS.seen);
    assign(join, slot, of);
  }
  join.updatedAt.set(slot, Math.max(join.updatedAt.get(slot), secondsOf(claim)));
};

/** Whether no newer claim names the same identifier. Of equally new ones, each counts. */
export const isNewest = (join: Join, claim: Claim): boolean =>
  secondsOf(claim) >= join.updatedAt.get(join.slots.find(sha256(idOf(claim))));

export const slotOf = (join: Join, claim: Claim): number =>
  lineageSlot(join, join.slots.slotOf(sha256(idOf(claim))));

const applyAnswer = (join: Join, { id, stored, lineages, samePerson }: AnsweredEntry): void => {
  const { slots, accounts } = join;
  let first: number | null = null;
  for (const said of lineages) {
    const slot = slots.slotOf(said.id);
    if (!has(join, slot, FLAGS.seen)) join.keys.set(slot, said.key);
    for (const other of said.also) {
      const named = slots.find(other);
      if (named >= 0) assign(join, named, slot);
    }
    join.lineage.set(slot, 0);
    join.state.set(slot, STATES.indexOf(said.state));
    join.stored.set(slot, STORED.indexOf(stored) + 1);
    if (said.isMapped) raise(join, slot, FLAGS.mapped);
    if (said.environment === "sandbox") raise(join, slot, FLAGS.sandbox);
    if (said.echo !== null) join.echo.set(slot, accounts.slotOf(said.echo) + 1);
    if (first !== null) unite(join, first, slot);
    first ??= slot;
  }
  for (const other of samePerson) {
    const slot = slots.find(other);
    if (slot >= 0 && first !== null) unite(join, first, lineageSlot(join, slot));
  }
  const asked = slots.find(id);
  if (first !== null && asked >= 0 && join.state.get(lineageSlot(join, asked)) === 0)
    assign(join, lineageSlot(join, asked), first);
};

/** Applies a line of the journal: at once, or when an interrupted run goes on. */
export const applyEntry = (join: Join, entry: JournalEntry): void => {
  const slot = join.slots.find(entry.id);
  if ("linked" in entry) {
    if (slot >= 0) join.linked.set(personOf(join, lineageSlot(join, slot)), LINKED.indexOf(entry.linked) + 1);
  } else if (entry.outcome === "answered") applyAnswer(join, entry);
  else if (entry.outcome !== "unanswered" && entry.outcome !== "stopped" && slot >= 0)
    join.state.set(lineageSlot(join, slot), STATES.indexOf(entry.outcome));
};

/** Last pass but one, once the stores have answered: what the claims say of a lineage and of its person. */
export const countClaim = (join: Join, claim: Claim, moment: Instant): void => {
  const slot = slotOf(join, claim);
  const access = claimsAccessAt(claim, moment);
  if (access !== null) raise(join, slot, access ? FLAGS.access : FLAGS.noAccess);
  if (claim.account === null) return;
  const person = personOf(join, slot);
  const account = join.accounts.slotOf(sha256(claim.account)) + 1;
  const known = join.account.get(person);
  if (known === 0) join.account.set(person, account);
  else if (known !== account) raise(join, person, FLAGS.disputed);
};

/** Known state of a lineage and its person. */
export const joinedAt = (join: Join, slot: number) => {
  const person = personOf(join, slot);
  const state: State = STATES[join.state.get(slot)] ?? "unasked";
  const environment: AskedEnvironment = has(join, slot, FLAGS.sandbox) ? "sandbox" : "production";
  const isDenied = has(join, slot, FLAGS.noAccess);
  return {
    state,
    isMapped: has(join, slot, FLAGS.mapped),
    environment,
    stored: STORED[join.stored.get(slot) - 1] ?? null,
    linked: LINKED[join.linked.get(person) - 1] ?? null,
    /** Whether the other service gives access for it; null: the files do not say. */
    claimsAccess: has(join, slot, FLAGS.access) ? true : isDenied ? false : null,
    /** Slot of the account that the store echoes; -1: it echoes none. */
    echo: join.echo.get(slot) - 1,
    /** Whether the files give the person to several accounts. */
    isDisputed: has(join, person, FLAGS.disputed),
  };
};
export type JoinedLineage = ReturnType<typeof joinedAt>;

/** Key in the table of a claim's purchase; null: another row's claim names it. */
export const keyOf = (join: Join, claim: Claim, slot: number): string | null => {
  const kept = join.keys.get(slot);
  if (kept !== undefined) return kept;
  const text = [lineageOf(claim), idOf(claim)].find(
    (id) => !id.startsWith("order ") && join.slots.find(sha256(id)) === slot,
  );
  return text === undefined ? null : text.slice(text.indexOf(" ") + 1);
};

export type Decisions = ReadonlyMap<number, AccountId>;

/** Persons by the purchases that an operator has decided about; purchases that no file names are left out. */
export const decisionsOf = (join: Join, decided: ReadonlyMap<string, AccountId>): Decisions =>
  new Map(
    [...decided].flatMap(([purchase, account]) =>
      (["ios-store", "android-store"] as const).flatMap((store) => {
        const slot = join.slots.find(sha256(`${store} ${purchase}`));
        return slot < 0 ? [] : [[personOf(join, lineageSlot(join, slot)), account] as const];
      }),
    ),
  );
