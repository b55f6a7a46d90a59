import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { newIdentifier } from "./app-store.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import { sharedWith } from "./family.ts";
import {
  accountSchema,
  after,
  latestOf,
  lineageSchema,
  type Account,
  type Lineage,
  type SoldTransaction,
} from "./lineage.ts";
import { createMemory } from "./memory.ts";
import { changed, type Notice, type Outcome } from "./notices.ts";
import {
  namedTransaction,
  refundedPartly,
  refundedWholly,
  refundReversed,
  revokedFromFamily,
} from "./refunds.ts";
import { withNextEvent } from "./renewals.ts";
import type { BoughtTransaction } from "./purchase.ts";
import { sold } from "./sell.ts";
import { changedSubscription, isSubscriptionChange } from "./subscription-changes.ts";

/** Accounts by key, and lineages, in the order in which they were made. */
export const savedShop = z.object({
  accounts: z.array(z.tuple([z.string(), accountSchema])),
  lineages: z.array(lineageSchema),
});
type SavedShop = z.output<typeof savedShop>;

/** Changes that a family member's own lineage allows. */
const OF_MEMBERS: ReadonlySet<IosChange["change"]> = new Set(["unshare", "restore", "rescind-consent"]);

export type Shop = ReturnType<typeof createShop>;

/** Apple Accounts, and everything that they bought. Reports events, and neither signs nor sends anything. */
export const createShop = () => {
  const memory = createMemory();

  const account = (key: string): Account => {
    const found = memory.accounts.get(key);
    if (found === undefined) throw new Error(`There is no account ${key}.`);
    return found;
  };
  const circumstances = (key: string, at: Instant) => ({
    at,
    newIdentifier: () => newIdentifier(account(key).environment),
  });
  let revision = 0;
  /** Keeps a lineage; what is new or changed in it gets the next revisions. */
  const keepLineage = (lineage: Lineage): void => {
    const { originalTransactionIdentifier } = lineage;
    const before = memory.lineages.get(originalTransactionIdentifier)?.transactions;
    memory.keepLineage({
      ...lineage,
      transactions: lineage.transactions.map((transaction) =>
        before?.includes(transaction) ? transaction : { ...transaction, revision: ++revision },
      ),
    });
  };
  const keep = (outcome: Outcome): Outcome => {
    keepLineage(outcome.lineage);
    return outcome;
  };

  const keyOf = ({ environment, bundleIdentifier, appTransactionIdentifier }: Account): string => {
    // Without an identifier, two requests cannot be matched to one person.
    const person = appTransactionIdentifier ?? `unknown ${newIdentifier(environment)}`;
    return `${environment} ${bundleIdentifier} ${person}`;
  };

  const share = (
    lineage: Lineage,
    { appTransactionIdentifier }: Extract<IosChange, { change: "share-with-family" }>,
    at: Instant,
  ): Outcome => {
    const { bundleIdentifier, appAppleIdentifier, environment } = account(lineage.account);
    const member = {
      bundleIdentifier,
      appAppleIdentifier,
      environment,
      appTransactionIdentifier: appTransactionIdentifier ?? newIdentifier(environment),
    };
    const key = keyOf(member);
    if (key === lineage.account) throw new ImpossibleChange("Nobody shares with themselves.");
    const outcome = sharedWith(key, lineage, circumstances(lineage.account, at));
    if (!memory.accounts.has(key)) memory.keepAccount(key, member);
    return outcome;
  };

  /** Ends the sharing of what is shared with the members. */
  const revokedFrom = (members: readonly Lineage[], reason: 0 | 1, at: Instant): Outcome[] =>
    members.map((member) => revokedFromFamily(member, reason, circumstances(member.account, at)));

  const restored = (lineage: Lineage, at: Instant): Outcome => {
    if (lineage.type === "Consumable") throw new ImpossibleChange("A consumable cannot be restored.");
    const latest = latestOf(lineage);
    const { newIdentifier } = circumstances(lineage.account, at);
    const copy = {
      ...latest,
      transactionIdentifier: newIdentifier(),
      // A copy of a non-renewing purchase has the date of the restore; a subscription's, that of its period.
      purchaseDate: lineage.subscription === null ? at : latest.purchaseDate,
    };
    return {
      lineage: after(lineage, at, { transactions: [...lineage.transactions, copy] }),
      notices: [],
    };
  };

  /** A change of one lineage alone. */
  const changedAlone = (lineage: Lineage, change: IosChange, at: Instant): Outcome => {
    const its = circumstances(lineage.account, at);
    if (isSubscriptionChange(change)) {
      if (lineage.subscription === null)
        throw new ImpossibleChange("The change is possible for subscriptions only.");
      return changedSubscription({ lineage, subscription: lineage.subscription, ...its }, change);
    }
    switch (change.change) {
      case "refund":
        return refundedWholly(lineage, change, its);
      case "refund-partly":
        return refundedPartly(lineage, change, its);
      case "reverse-refund":
        return refundReversed(lineage, change, its);
      case "decline-refund": {
        const { transactionIdentifier } = namedTransaction(lineage, change.transactionIdentifier);
        return changed(lineage, at, {}, "REFUND_DECLINED", null, { transactionIdentifier });
      }
      case "consumption-request": {
        const { transactionIdentifier } = namedTransaction(lineage, change.transactionIdentifier);
        const about = { transactionIdentifier, consumptionRequestReason: change.reason };
        return changed(lineage, at, {}, "CONSUMPTION_REQUEST", null, about);
      }
      case "fail-extension":
        if (lineage.subscription === null)
          throw new ImpossibleChange("The change is possible for subscriptions only.");
        return changed(lineage, at, {}, "RENEWAL_EXTENSION", "FAILURE");
      case "rescind-consent":
        return changed(lineage, at, {}, "RESCIND_CONSENT", null);
      case "restore":
        return restored(lineage, at);
      case "share-with-family":
        return share(lineage, change, at);
      case "unshare":
        if (latestOf(lineage).revocation !== null)
          throw new ImpossibleChange("The purchase is no longer shared.");
        return revokedFromFamily(lineage, 0, its);
    }
  };

  /** Changes of a purchase for those with whom it is shared. */
  const changedForFamily = (
    { revocation }: SoldTransaction,
    change: IosChange,
    members: readonly Lineage[],
    at: Instant,
  ): Outcome[] => {
    if (isSubscriptionChange(change)) return members.map((member) => changedAlone(member, change, at));
    const isRefund = change.change === "refund" || change.change === "refund-partly";
    return isRefund && revocation !== null ? revokedFrom(members, revocation.reason, at) : [];
  };

  /**
   * Changes a lineage, and those of the family with it. The outcome's lineage is the changed one, or the one that was made.
   *
   * @throws ImpossibleChange; then nothing has changed
   */
  const change = (lineage: Lineage, change: IosChange, at: Instant): Outcome => {
    if (lineage.sharedFrom !== null && !OF_MEMBERS.has(change.change))
      throw new ImpossibleChange(
        `The purchase is shared: what changes it happens to the purchaser's, ${lineage.sharedFrom}.`,
      );
    const members = memory.membersOf(lineage);
    if (change.change === "unshare" && lineage.sharedFrom === null) {
      if (members.length === 0) throw new ImpossibleChange("The purchase is not shared.");
      return { lineage, notices: revokedFrom(members, 0, at).flatMap((outcome) => keep(outcome).notices) };
    }
    const outcome = changedAlone(lineage, change, at);
    const outcomes = [outcome, ...changedForFamily(latestOf(outcome.lineage), change, members, at)];
    return {
      lineage: outcome.lineage,
      notices: outcomes.flatMap((each) => keep(each).notices),
    };
  };

  return {
    /**
     * Sells each of the goods, in order, and remembers the account.
     *
     * @throws ImpossibleChange if a lineage exists already; then nothing is sold
     */
    sell: (buyer: Account, goods: readonly BoughtTransaction[], at: Instant): readonly Outcome[] => {
      const named = goods.flatMap(
        ({ originalTransactionIdentifier, transactionIdentifier }) =>
          originalTransactionIdentifier ?? transactionIdentifier ?? [],
      );
      if (new Set(named).size < named.length || named.some((identifier) => memory.lineages.has(identifier)))
        throw new ImpossibleChange("The store has sold under that original transaction id.");
      const key = keyOf(buyer);
      const its = { at, newIdentifier: () => newIdentifier(buyer.environment) };
      const outcomes = goods.map((each) => sold(each, key, its));
      memory.keepAccount(key, { ...memory.accounts.get(key), ...buyer });
      return outcomes.map(keep);
    },
    change,
    nextEventAt: (): Instant | null => memory.next()?.at ?? null,
    /** Runs the next event, at its moment. */
    passNextEvent: (): readonly Notice[] => {
      const due = memory.next();
      const lineage = due === null ? undefined : memory.lineages.get(due.key);
      if (due === null || lineage === undefined) throw new Error("No event is due.");
      return keep(withNextEvent(lineage, circumstances(lineage.account, due.at))).notices;
    },
    lineage: (originalTransactionIdentifier: string) => memory.lineages.get(originalTransactionIdentifier),
    account,
    accounts: (): readonly string[] => [...memory.accounts.keys()],
    accountsWith: memory.accountsWith,
    accountsNamed: memory.accountsNamed,
    lineagesOf: memory.lineagesOf,
    /** Replaces the whole state by a saved one. */
    restore: (saved: SavedShop): void => {
      memory.clear();
      for (const [key, entering] of saved.accounts) memory.keepAccount(key, entering);
      revision = saved.lineages
        .flatMap(({ transactions }) => transactions.map(({ revision = 0 }) => revision))
        .reduce((last, each) => Math.max(last, each), 0);
      for (const lineage of saved.lineages)
        memory.keepLineage({
          ...lineage,
          transactions: lineage.transactions.map((transaction) => ({
            ...transaction,
            revision: transaction.revision ?? ++revision,
          })),
        });
    },
    save: (): SavedShop => ({ accounts: [...memory.accounts], lineages: [...memory.lineages.values()] }),
  };
};
