import { createDue, type DueEvent } from "../../due.ts";
import { latestOf, type Account, type Lineage } from "./lineage.ts";
import { nextEventOf } from "./renewals.ts";

/** Accounts and lineages, with indexes: a look-up among 100,000 persons is as quick as among one. */
export interface Memory {
  keepAccount(key: string, account: Account): void;
  keepLineage(lineage: Lineage): void;
  /** In the order in which they were first kept. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly lineages: ReadonlyMap<string, Lineage>;
  lineagesOf(account: string): readonly Lineage[];
  /** Lineages that are still shared from one. */
  membersOf(lineage: Lineage): readonly Lineage[];
  /** Accounts that have a transaction with the id or original id. */
  accountsWith(transactionIdentifier: string): readonly string[];
  /** Accounts of an app transaction's id. */
  accountsNamed(appTransactionIdentifier: string): readonly string[];
  /** Lineage with the next event; its key is the original transaction id. */
  next(): DueEvent | null;
  clear(): void;
}

type Index = Map<string, Set<string>>;

const add = (index: Index, name: string, value: string): void => {
  const values = index.get(name);
  if (values === undefined) index.set(name, new Set([value]));
  else values.add(value);
};

export const createMemory = (): Memory => {
  const accounts = new Map<string, Account>();
  const lineages = new Map<string, Lineage>();
  const bought: Index = new Map();
  const shared: Index = new Map();
  const buyers: Index = new Map();
  const named: Index = new Map();
  const due = createDue();

  const found = (identifiers: ReadonlySet<string> | undefined): Lineage[] =>
    [...(identifiers ?? [])].flatMap((identifier) => lineages.get(identifier) ?? []);

  return {
    accounts,
    lineages,
    keepAccount: (key, account) => {
      accounts.set(key, account);
      if (account.appTransactionIdentifier !== null) add(named, account.appTransactionIdentifier, key);
    },
    keepLineage: (lineage) => {
      const { originalTransactionIdentifier, account, sharedFrom, transactions } = lineage;
      lineages.set(originalTransactionIdentifier, lineage);
      add(bought, account, originalTransactionIdentifier);
      add(buyers, originalTransactionIdentifier, account);
      for (const { transactionIdentifier } of transactions) add(buyers, transactionIdentifier, account);
      if (sharedFrom !== null) add(shared, sharedFrom, originalTransactionIdentifier);
      due.set(originalTransactionIdentifier, nextEventOf(lineage));
    },
    lineagesOf: (account) => found(bought.get(account)),
    membersOf: ({ originalTransactionIdentifier }) =>
      found(shared.get(originalTransactionIdentifier)).filter(
        (member) => latestOf(member).revocation === null,
      ),
    accountsWith: (identifier) => [...(buyers.get(identifier) ?? [])],
    accountsNamed: (identifier) => [...(named.get(identifier) ?? [])],
    next: due.first,
    clear: () => {
      for (const index of [accounts, lineages, bought, shared, buyers, named, due]) index.clear();
    },
  };
};
