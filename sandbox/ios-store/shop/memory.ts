import { createDue } from "../../due.ts";
import { latestOf, type Account, type Lineage } from "./lineage.ts";
import { nextEventOf } from "./renewals.ts";

type Index = Map<string, Set<string>>;

const add = (index: Index, name: string, value: string): void => {
  const values = index.get(name);
  if (values === undefined) index.set(name, new Set([value]));
  else values.add(value);
};

/** Accounts and lineages, with indexes: a look-up among 100,000 persons is as quick as among one. */
export const createMemory = () => {
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
    /** In the order in which they were first kept, as are the lineages. */
    accounts,
    lineages,
    keepAccount: (key: string, account: Account): void => {
      accounts.set(key, account);
      if (account.appTransactionIdentifier !== null) add(named, account.appTransactionIdentifier, key);
    },
    keepLineage: (lineage: Lineage): void => {
      const { originalTransactionIdentifier, account, sharedFrom, transactions } = lineage;
      lineages.set(originalTransactionIdentifier, lineage);
      add(bought, account, originalTransactionIdentifier);
      add(buyers, originalTransactionIdentifier, account);
      for (const { transactionIdentifier } of transactions) add(buyers, transactionIdentifier, account);
      if (sharedFrom !== null) add(shared, sharedFrom, originalTransactionIdentifier);
      due.set(originalTransactionIdentifier, nextEventOf(lineage));
    },
    lineagesOf: (account: string): readonly Lineage[] => found(bought.get(account)),
    /** Lineages that are still shared from one. */
    membersOf: ({ originalTransactionIdentifier }: Lineage): readonly Lineage[] =>
      found(shared.get(originalTransactionIdentifier)).filter(
        (member) => latestOf(member).revocation === null,
      ),
    /** Accounts that have a transaction with the id or original id. */
    accountsWith: (identifier: string): readonly string[] => [...(buyers.get(identifier) ?? [])],
    /** Accounts of an app transaction's id. */
    accountsNamed: (identifier: string): readonly string[] => [...(named.get(identifier) ?? [])],
    /** Lineage with the next event; its key is the original transaction id. */
    next: due.first,
    clear: (): void => {
      for (const index of [accounts, lineages, bought, shared, buyers, named, due]) index.clear();
    },
  };
};
