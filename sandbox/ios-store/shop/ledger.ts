import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createDue } from "../../due.ts";
import { UnknownPurchase } from "../../impossible-change.ts";
import { accountSchema, lineageSchema, type Account, type Lineage } from "./lineage.ts";
import { nextEventOf } from "./renewals.ts";

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

/** Apple Accounts, and everything that they bought. */
export const createLedger = () => {
  /** In the order in which they were first kept, as are the lineages. */
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
    /** @throws UnknownPurchase */
    lineage: (originalTransactionIdentifier: string): Lineage => {
      const sold = lineages.get(originalTransactionIdentifier);
      if (sold === undefined) throw new UnknownPurchase();
      return sold;
    },
    hasSold: (originalTransactionIdentifier: string): boolean => lineages.has(originalTransactionIdentifier),
    lineagesOf: (key: string): readonly Lineage[] => found(bought.of(key)),
    /** Lineages that were shared from one. */
    membersOf: ({ originalTransactionIdentifier }: Lineage): readonly Lineage[] =>
      found(shared.of(originalTransactionIdentifier)),
    nextEventAt: (): Instant | null => due.first()?.at ?? null,
    nextEvent: (): { readonly lineage: Lineage; readonly at: Instant } | null => {
      const next = due.first();
      const lineage = next === null ? undefined : lineages.get(next.key);
      return next === null || lineage === undefined ? null : { lineage, at: next.at };
    },
    /** Replaces the whole state by a saved one. */
    restore: (saved: SavedShop): void => {
      for (const each of [accounts, lineages, bought, shared, named, due]) each.clear();
      for (const [key, kept] of saved.accounts) keepAccount(key, kept);
      const revisions = saved.lineages.flatMap(({ transactions }) =>
        transactions.map((transaction) => transaction.revision ?? 0),
      );
      revision = Math.max(0, ...revisions);
      for (const lineage of saved.lineages) {
        // Known before it is kept, so that its transactions keep their revisions.
        lineages.set(lineage.originalTransactionIdentifier, lineage);
        keep(lineage);
      }
    },
    save: (): SavedShop => ({ accounts: [...accounts], lineages: [...lineages.values()] }),
  };
};
