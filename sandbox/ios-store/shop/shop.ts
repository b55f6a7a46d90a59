import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createDue } from "../../due.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { newIdentifier } from "./app-store.ts";
import type { IosChange } from "./change.ts";
import { revokedFromFamily, sharedWith } from "./family.ts";
import {
  accountSchema,
  after,
  changed,
  latestOf,
  lineageSchema,
  type Account,
  type Current,
  type Lineage,
  type Notice,
  type Outcome,
} from "./lineage.ts";
import { namedTransaction, refunded, refundReversed } from "./refunds.ts";
import { nextEventOf, withNextEvent } from "./renewals.ts";
import { sold, type BoughtTransaction } from "./purchase.ts";
import { changedSubscription, isSubscriptionChange } from "./subscription-changes.ts";

/** Accounts by key, and lineages, in the order in which they were made. */
export const savedShop = z.object({
  accounts: z.array(z.tuple([z.string(), accountSchema])),
  lineages: z.array(lineageSchema),
});
type SavedShop = z.output<typeof savedShop>;

/** Changes that a family member's own lineage allows. */
const OF_MEMBERS: ReadonlySet<IosChange["change"]> = new Set(["unshare", "restore", "rescind-consent"]);

const keyOf = ({ environment, bundleIdentifier, appTransactionIdentifier }: Account): string => {
  // Without an identifier, two requests cannot be matched to one person.
  const person = appTransactionIdentifier ?? `unknown ${newIdentifier(environment)}`;
  return `${environment} ${bundleIdentifier} ${person}`;
};

const restored = ({ lineage, at, newIdentifier }: Current): Outcome => {
  if (lineage.type === "Consumable") throw new ImpossibleChange("A consumable cannot be restored.");
  const latest = latestOf(lineage);
  const copy = {
    ...latest,
    transactionIdentifier: newIdentifier(),
    // A copy of a non-renewing purchase has the date of the restore; a subscription's, that of its period.
    purchaseDate: lineage.subscription === null ? at : latest.purchaseDate,
  };
  return { lineage: after(lineage, at, { transactions: [...lineage.transactions, copy] }), notices: [] };
};

/** Values by name: a look-up among 100,000 persons is as quick as among one. */
const createIndex = () => {
  const index = new Map<string, Set<string>>();
  return {
    add: (name: string, value: string): void => {
      const values = index.get(name);
      if (values === undefined) index.set(name, new Set([value]));
      else values.add(value);
    },
    of: (name: string): readonly string[] => [...(index.get(name) ?? [])],
    clear: () => index.clear(),
  };
};

export type Shop = ReturnType<typeof createShop>;

/** Apple Accounts, and everything that they bought. Reports events, and neither signs nor sends anything. */
export const createShop = () => {
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
  const keepLineage = (lineage: Lineage): void => {
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
  const keep = (outcome: Outcome): Outcome => {
    keepLineage(outcome.lineage);
    return outcome;
  };

  const found = (identifiers: readonly string[]): Lineage[] =>
    identifiers.flatMap((identifier) => lineages.get(identifier) ?? []);
  /** Lineages that are still shared from one. */
  const membersOf = ({ originalTransactionIdentifier }: Lineage): readonly Lineage[] =>
    found(shared.of(originalTransactionIdentifier)).filter((member) => latestOf(member).revocation === null);

  const current = (lineage: Lineage, at: Instant): Current => {
    const { environment } = account(lineage.account);
    return { lineage, at, newIdentifier: () => newIdentifier(environment) };
  };

  const share = (
    now: Current,
    { appTransactionIdentifier }: Extract<IosChange, { change: "share-with-family" }>,
  ): Outcome => {
    const { bundleIdentifier, appAppleIdentifier, environment } = account(now.lineage.account);
    const member = {
      bundleIdentifier,
      appAppleIdentifier,
      environment,
      appTransactionIdentifier: appTransactionIdentifier ?? now.newIdentifier(),
    };
    const key = keyOf(member);
    if (key === now.lineage.account) throw new ImpossibleChange("Nobody shares with themselves.");
    const outcome = sharedWith(key, now);
    if (!accounts.has(key)) keepAccount(key, member);
    return outcome;
  };

  /** A change of one lineage alone. */
  const changedAlone = (lineage: Lineage, change: IosChange, at: Instant): Outcome => {
    const now = current(lineage, at);
    if (isSubscriptionChange(change)) return changedSubscription(now, change);
    switch (change.change) {
      case "refund":
      case "refund-partly":
        return refunded(now, change);
      case "reverse-refund":
        return refundReversed(now, change.transactionIdentifier);
      case "decline-refund": {
        const { transactionIdentifier } = namedTransaction(lineage, change.transactionIdentifier);
        return changed(lineage, at, {}, "REFUND_DECLINED", { transactionIdentifier });
      }
      case "consumption-request": {
        const { transactionIdentifier } = namedTransaction(lineage, change.transactionIdentifier);
        const about = { transactionIdentifier, consumptionRequestReason: change.reason };
        return changed(lineage, at, {}, "CONSUMPTION_REQUEST", about);
      }
      case "rescind-consent":
        return changed(lineage, at, {}, "RESCIND_CONSENT");
      case "restore":
        return restored(now);
      case "share-with-family":
        return share(now, change);
      case "unshare":
        if (latestOf(lineage).revocation !== null)
          throw new ImpossibleChange("The purchase is no longer shared.");
        return revokedFromFamily(lineage, 0, at);
    }
  };

  /** Changes of the lineages that are shared from one, after its own. */
  const changedForFamily = (
    lineage: Lineage,
    change: IosChange,
    members: readonly Lineage[],
    at: Instant,
  ): Outcome[] => {
    // Apple tells the purchaser alone of a failed extension.
    if (change.change === "fail-extension") return [];
    if (isSubscriptionChange(change)) return members.map((member) => changedAlone(member, change, at));
    const { revocation } = latestOf(lineage);
    const isRefund = change.change === "refund" || change.change === "refund-partly";
    return isRefund && revocation !== null
      ? members.map((member) => revokedFromFamily(member, revocation.reason, at))
      : [];
  };

  return {
    /**
     * Sells each of the goods, in order, and remembers the account.
     *
     * @throws ImpossibleChange if a lineage exists already; then nothing is sold
     */
    sell: (buyer: Account, goods: readonly BoughtTransaction[], at: Instant): readonly Outcome[] => {
      const given = goods.flatMap(
        ({ originalTransactionIdentifier, transactionIdentifier }) =>
          originalTransactionIdentifier ?? transactionIdentifier ?? [],
      );
      if (new Set(given).size < given.length || found(given).length > 0)
        throw new ImpossibleChange("The store has sold under that original transaction id.");
      const key = keyOf(buyer);
      const its = { at, newIdentifier: () => newIdentifier(buyer.environment) };
      const outcomes = goods.map((each) => sold(each, key, its));
      keepAccount(key, { ...accounts.get(key), ...buyer });
      return outcomes.map(keep);
    },
    /**
     * Changes a lineage, and those of the family with it. The outcome's lineage is the changed one, or the one that was made.
     *
     * @throws ImpossibleChange; then nothing has changed
     */
    change: (lineage: Lineage, change: IosChange, at: Instant): Outcome => {
      if (lineage.sharedFrom !== null && !OF_MEMBERS.has(change.change))
        throw new ImpossibleChange(
          `The purchase is shared: what changes it happens to the purchaser's, ${lineage.sharedFrom}.`,
        );
      const members = membersOf(lineage);
      if (change.change === "unshare" && lineage.sharedFrom === null) {
        if (members.length === 0) throw new ImpossibleChange("The purchase is not shared.");
        const revoked = members.map((member) => keep(revokedFromFamily(member, 0, at)));
        return { lineage, notices: revoked.flatMap(({ notices }) => notices) };
      }
      const outcome = changedAlone(lineage, change, at);
      const outcomes = [outcome, ...changedForFamily(outcome.lineage, change, members, at)];
      return {
        lineage: outcome.lineage,
        notices: outcomes.flatMap((each) => keep(each).notices),
      };
    },
    nextEventAt: (): Instant | null => due.first()?.at ?? null,
    /** Runs the next event, at its moment. */
    passNextEvent: (): readonly Notice[] => {
      const next = due.first();
      const lineage = next === null ? undefined : lineages.get(next.key);
      if (next === null || lineage === undefined) throw new Error("No event is due.");
      return keep(withNextEvent(current(lineage, next.at))).notices;
    },
    lineage: (originalTransactionIdentifier: string) => lineages.get(originalTransactionIdentifier),
    account,
    accounts: (): readonly string[] => [...accounts.keys()],
    /** Accounts that an id or original id of a transaction names, or the id of an app transaction. */
    accountsNamed: named.of,
    lineagesOf: (key: string): readonly Lineage[] => found(bought.of(key)),
    /** Replaces the whole state by a saved one. */
    restore: (saved: SavedShop): void => {
      for (const each of [accounts, lineages, bought, shared, named, due]) each.clear();
      revision = 0;
      for (const [key, entering] of saved.accounts) keepAccount(key, entering);
      const kept = saved.lineages.flatMap(({ transactions }) => transactions.map((one) => one.revision ?? 0));
      revision = Math.max(0, ...kept);
      for (const lineage of saved.lineages) {
        // Known before it is kept, so that its transactions keep their revisions.
        lineages.set(lineage.originalTransactionIdentifier, lineage);
        keepLineage(lineage);
      }
    },
    save: (): SavedShop => ({ accounts: [...accounts], lineages: [...lineages.values()] }),
  };
};
