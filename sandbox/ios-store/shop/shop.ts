import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { newIdentifier } from "./app-store.ts";
import type { ChangesByName, IosChange } from "./change.ts";
import { changedLineage, isOfSubscriptions } from "./changes.ts";
import type { Current, Notice } from "./current.ts";
import { createLedger } from "./ledger.ts";
import { latestOf, type Account, type Lineage } from "./lineage.ts";
import type { BoughtTransaction } from "./purchase.ts";
import { revokedFromFamily } from "./refunds.ts";
import { withNextEvent } from "./renewals.ts";
import { sharedWith, sold } from "./sale.ts";

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
  /** Keeps what has changed, and publishes its notices. */
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

  /** Changes of a lineage: of its own, then of those that are shared from it. The first is the changed or the new one. */
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
        throw new ImpossibleChange("The store has sold under that original transaction id.");
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
      if (next !== null) keep([withNextEvent(currentOf(next.lineage, next.at))], next.at);
    },
  };
};
