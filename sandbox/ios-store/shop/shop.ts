import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createDue } from "../../clock.ts";
import { ImpossibleChange } from "../../routes.ts";
import { changedLineage, isOfSubscriptions, revokedFromFamily } from "./changes.ts";
import {
  accountSchema,
  latestOf,
  lineageSchema,
  type Account,
  type Current,
  type Lineage,
  type Notice,
} from "./lineage.ts";
import { newIdentifier } from "./payloads.ts";
import { nextEventOf, withNextEvent } from "./renewals.ts";
import type { BoughtTransaction, ChangesByName, IosChange } from "./requests.ts";
import { sharedWith, sold } from "./sale.ts";

/** Accounts by key, and lineages, in the order in which they were made. */
export const savedShop = z.object({
  accounts: z.array(z.tuple([z.string(), accountSchema])),
  lineages: z.array(lineageSchema),
});
type SavedShop = z.output<typeof savedShop>;

/** Values by name: a look-up among 100,000 persons is as quick as among one. */
const createIndex = () => {
  const index = new Map<string, Set<string>>();
  return {
    add: (name: string, value: string): void =>
      void index.set(name, (index.get(name) ?? new Set()).add(value)),
    of: (name: string): readonly string[] => [...(index.get(name) ?? [])],
    clear: () => index.clear(),
  };
};

const createLedger = () => {
  const accounts = new Map<string, Account>();
  const lineages = new Map<string, Lineage>();
  const bought = createIndex();
  const shared = createIndex();
  /** Accounts by the ids of their transactions, original or not, and of their app transactions. */
  const named = createIndex();
  const due = createDue();
  let revision = 0;

  const account = (key: string): Account => {
    const found = accounts.get(key);
    if (found === undefined) throw new Error(`There is no account ${key}.`);
    return found;
  };
  const keepAccount = (key: string, kept: Account): void => {
    accounts.set(key, kept);
    if (kept.appTransactionIdentifier !== null) named.add(kept.appTransactionIdentifier, key);
  };
  /** Keeps a lineage; what is new or changed in it gets the next revisions. */
  const keep = (lineage: Lineage): void => {
    const { originalTransactionIdentifier: original, account, sharedFrom } = lineage;
    const before = lineages.get(original)?.transactions;
    const transactions = lineage.transactions.map((transaction) =>
      transaction.revision !== undefined && before?.includes(transaction)
        ? transaction
        : { ...transaction, revision: ++revision },
    );
    lineages.set(original, { ...lineage, transactions });
    bought.add(account, original);
    named.add(original, account);
    for (const { transactionIdentifier } of transactions) named.add(transactionIdentifier, account);
    if (sharedFrom !== null) shared.add(sharedFrom, original);
    due.set(original, nextEventOf(lineage));
  };
  const found = (identifiers: readonly string[]): Lineage[] =>
    identifiers.flatMap((identifier) => lineages.get(identifier) ?? []);

  return {
    account,
    knownAccount: (key: string): Account | undefined => accounts.get(key),
    accounts: (): readonly string[] => [...accounts.keys()],
    /** Accounts that an id or original id of a transaction names, or the id of an app transaction. */
    accountsNamed: named.of,
    keepAccount,
    keep,
    /** @throws ImpossibleChange if there is none */
    lineage: (originalTransactionIdentifier: string): Lineage => {
      const sold = lineages.get(originalTransactionIdentifier);
      if (sold === undefined) throw new ImpossibleChange("There is no such purchase.", 404);
      return sold;
    },
    hasSold: (originalTransactionIdentifier: string): boolean => lineages.has(originalTransactionIdentifier),
    lineagesOf: (key: string): readonly Lineage[] => found(bought.of(key)),
    /** Lineages that were shared from one. */
    membersOf: ({ originalTransactionIdentifier }: Lineage): readonly Lineage[] =>
      found(shared.of(originalTransactionIdentifier)),
    nextEvent: due.first,
    restore: (saved: SavedShop): void => {
      for (const each of [accounts, lineages, bought, shared, named, due]) each.clear();
      for (const [key, kept] of saved.accounts) keepAccount(key, kept);
      revision = saved.lineages
        .flatMap(({ transactions }) => transactions)
        .reduce((highest, transaction) => Math.max(highest, transaction.revision ?? 0), 0);
      for (const lineage of saved.lineages) {
        // Known before it is kept, so that its transactions keep their revisions.
        lineages.set(lineage.originalTransactionIdentifier, lineage);
        keep(lineage);
      }
    },
    save: (): SavedShop => ({ accounts: [...accounts], lineages: [...lineages.values()] }),
  };
};

/** Changes that a family member's own lineage allows. */
const OF_MEMBERS: ReadonlySet<IosChange["change"]> = new Set(["unshare", "restore", "rescind-consent"]);

const keyOf = ({ environment, bundleIdentifier, appTransactionIdentifier }: Account): string => {
  // Without an identifier, two requests cannot be matched to one person.
  const person = appTransactionIdentifier ?? `unknown ${newIdentifier(environment)}`;
  return `${environment} ${bundleIdentifier} ${person}`;
};

export type Shop = ReturnType<typeof createShop>;

/** @param publish takes the notices of each change and event */
export const createShop = (publish: (notices: readonly Notice[], at: Instant) => void) => {
  const ledger = createLedger();

  const currentOf = (lineage: Lineage, at: Instant): Current => {
    const { environment } = ledger.account(lineage.account);
    return { lineage, at, newIdentifier: () => newIdentifier(environment), notices: [] };
  };
  const keep = (changes: readonly Current[], at: Instant): void => {
    for (const { lineage } of changes) ledger.keep(lineage);
    publish(
      changes.flatMap(({ notices }) => notices),
      at,
    );
  };

  const share = (current: Current, change: ChangesByName["share-with-family"]): Current => {
    const { lineage } = current;
    const { applicationAccountIdentifier: _, ...purchaser } = ledger.account(lineage.account);
    const { appTransactionIdentifier = current.newIdentifier() } = change;
    const member = { ...purchaser, appTransactionIdentifier };
    const key = keyOf(member);
    if (key === lineage.account) throw new ImpossibleChange("Nobody shares with themselves.");
    const shared = sharedWith(key, current);
    ledger.keepAccount(key, ledger.knownAccount(key) ?? member);
    return shared;
  };

  /** Changes of the lineage, or a new one, and then of those that are shared from it. */
  const changesOf = (lineage: Lineage, change: IosChange, at: Instant): readonly [Current, ...Current[]] => {
    const current = currentOf(lineage, at);
    if (change.change === "share-with-family") return [share(current, change)];
    const members = ledger
      .membersOf(lineage)
      .filter((member) => latestOf(member).revocation === null)
      .map((member) => currentOf(member, at));
    const revoked = (reason: 0 | 1) => members.map((member) => revokedFromFamily(member, reason));
    if (change.change === "unshare" && lineage.sharedFrom === null) {
      if (members.length === 0) throw new ImpossibleChange("The purchase is not shared.");
      return [current, ...revoked(0)];
    }
    const changed = changedLineage(current, change.change, change);
    if (isOfSubscriptions(change.change))
      return [changed, ...members.map((member) => changedLineage(member, change.change, change))];
    const isRefund = change.change === "refund" || change.change === "refund-partly";
    const { revocation } = latestOf(changed.lineage);
    return isRefund && revocation !== null ? [changed, ...revoked(revocation.reason)] : [changed];
  };

  return {
    ...ledger,
    /** @throws ImpossibleChange if a lineage exists already; then nothing is sold */
    sell: (buyer: Account, goods: readonly BoughtTransaction[], at: Instant): readonly Lineage[] => {
      const given = goods.flatMap(
        ({ originalTransactionIdentifier, transactionIdentifier }) =>
          originalTransactionIdentifier ?? transactionIdentifier ?? [],
      );
      if (new Set(given).size < given.length || given.some(ledger.hasSold))
        throw new ImpossibleChange("The store has already sold under one of these original transaction ids.");
      const key = keyOf(buyer);
      const its = { at, newIdentifier: () => newIdentifier(buyer.environment) };
      const sales = goods.map((each) => sold(each, key, its));
      ledger.keepAccount(key, { ...ledger.knownAccount(key), ...buyer });
      keep(sales, at);
      return sales.map(({ lineage }) => lineage);
    },
    /**
     * @returns the key of the account whose lineage was changed or made
     * @throws ImpossibleChange; then nothing has changed
     */
    change: (originalTransactionIdentifier: string, change: IosChange, at: Instant): string => {
      const lineage = ledger.lineage(originalTransactionIdentifier);
      if (lineage.sharedFrom !== null && !OF_MEMBERS.has(change.change))
        throw new ImpossibleChange(
          `The purchase is shared: what changes it happens to the purchaser's, ${lineage.sharedFrom}.`,
        );
      const changes = changesOf(lineage, change, at);
      keep(changes, at);
      return changes[0].lineage.account;
    },
    passNextEvent: (): void => {
      const next = ledger.nextEvent();
      if (next !== null) keep([withNextEvent(currentOf(ledger.lineage(next.key), next.at))], next.at);
    },
  };
};
