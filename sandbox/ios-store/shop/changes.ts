import { DAY } from "../../../lib/duration.ts";
import { plusPeriod } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import {
  changed,
  endOf,
  INTENTS,
  latestOf,
  subscriptionOf,
  withEvent,
  type Current,
  type Lineage,
  type NoticeName,
  type Revocation,
  type SoldTransaction,
  type Subscription,
} from "./lineage.ts";
import { AHEAD, boughtNow, charged, expired, LAPSE } from "./renewals.ts";
import type { ChangeName, ChangesByName } from "./requests.ts";

/** The whole share of a refund, in thousandths of a per cent. */
const WHOLE = 100_000;

const namedTransaction = (
  { transactions }: Lineage,
  transactionIdentifier: string | undefined,
  allows: (revocation: Revocation | null) => boolean = () => true,
): SoldTransaction => {
  const found = transactions.findLast(
    (transaction) =>
      allows(transaction.revocation) &&
      (transactionIdentifier === undefined || transaction.transactionIdentifier === transactionIdentifier),
  );
  if (found === undefined) throw new ImpossibleChange("There is no transaction with which that is possible.");
  return found;
};

const isLatestPeriod = (lineage: Lineage, event: string): boolean =>
  lineage.subscription !== null && latestOf(lineage).event === event;

const standingAfter = (revocation: Revocation | null, { lineage, at }: Current): Subscription["standing"] => {
  if (revocation !== null) return { kind: "revoked" };
  return endOf(lineage) <= at ? { kind: "expired", intent: INTENTS.voluntary } : { kind: "active" };
};

/**
 * Sets or lifts the revocation of a purchase event, under each of its transaction ids. A subscription's standing follows
 * that of its latest event.
 */
const withRevocation = (
  current: Current,
  { event, transactionIdentifier }: SoldTransaction,
  revocation: Revocation | null,
  name: NoticeName,
): Current => {
  const { lineage } = current;
  const transactions = withEvent(lineage, event, { revocation });
  const subscription = isLatestPeriod(lineage, event)
    ? { standing: standingAfter(revocation, current), autoRenews: false }
    : undefined;
  return changed(current, { transactions, subscription }, name, { transactionIdentifier });
};

type Refund = ChangesByName["refund" | "refund-partly"];

const shareOf = (change: Refund, quantity: number): Pick<Revocation, "type" | "percentage"> => {
  if (change.change === "refund") return { type: "REFUND_FULL", percentage: WHOLE };
  const { refundedQuantity, percentage } = change;
  if ((refundedQuantity === undefined) === (percentage === undefined))
    throw new ImpossibleChange("A partial refund has a refundedQuantity or a percentage.");
  if (refundedQuantity !== undefined && refundedQuantity >= quantity)
    throw new ImpossibleChange(`The purchase has a quantity of ${quantity}; fewer can be refunded.`);
  const share = refundedQuantity === undefined ? (percentage ?? 0) / 100 : refundedQuantity / quantity;
  return { type: "REFUND_PRORATED", percentage: Math.round(share * WHOLE) };
};

const withRenewal = (current: Current, autoRenews: boolean): Current => {
  const subtype = autoRenews ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED";
  return changed(current, { subscription: { autoRenews } }, `DID_CHANGE_RENEWAL_STATUS ${subtype}`);
};

/** @throws ImpossibleChange */
const refunded = (current: Current, change: Refund): Current => {
  const { lineage, at } = current;
  const share = shareOf(change, lineage.quantity);
  const transaction = namedTransaction(
    lineage,
    change.transactionIdentifier,
    (revocation) => revocation === null || revocation.type === "REFUND_PRORATED",
  );
  const renews = lineage.subscription?.autoRenews === true && isLatestPeriod(lineage, transaction.event);
  const revocation = { at, reason: change.reason, ...share };
  // Before it refunds a subscription's latest period, the store turns the renewal off.
  return withRevocation(renews ? withRenewal(current, false) : current, transaction, revocation, "REFUND");
};

/** @throws ImpossibleChange */
const refundReversed = (current: Current, change: ChangesByName["reverse-refund"]): Current => {
  const transaction = namedTransaction(
    current.lineage,
    change.transactionIdentifier,
    (revocation) => revocation !== null && revocation.type !== "FAMILY_REVOKE",
  );
  return withRevocation(current, transaction, null, "REFUND_REVERSED");
};

/** Revokes a shared purchase from a family member. */
export const revokedFromFamily = (current: Current, reason: Revocation["reason"]): Current => {
  const { lineage, at } = current;
  const revocation = { at, reason, type: "FAMILY_REVOKE", percentage: null } as const;
  return withRevocation(current, latestOf(lineage), revocation, "REVOKE");
};

type Standings = readonly Subscription["standing"]["kind"][];

interface Rule<Name extends ChangeName> {
  /** @throws ImpossibleChange */
  readonly step: (current: Current, change: ChangesByName[Name]) => Current;
  /** Standings of a subscription that allow the change; unset: it is possible for every purchase. */
  readonly in?: Standings;
  /** The renewal must be on. */
  readonly whileRenewing?: true;
}

const PAID: Standings = ["active", "grace"];
const RUNNING: Standings = ["active", "grace", "retry"];

const WEEK = { months: 0, milliseconds: 7 * DAY };

/** Changes of one lineage. */
type LineageChange = Exclude<ChangeName, "share-with-family">;

const RULES: { readonly [Name in LineageChange]: Rule<Name> } = {
  renew: { in: RUNNING, whileRenewing: true, step: charged },
  "renew-ahead": {
    in: ["active"],
    whileRenewing: true,
    step: (current) => {
      const chargedAheadAt = Math.max(current.at, endOf(current.lineage) - AHEAD);
      return changed(current, { subscription: { chargedAheadAt } });
    },
  },
  cancel: {
    in: RUNNING,
    whileRenewing: true,
    step: (current) => {
      const disabled = withRenewal(current, false);
      // Ends at once: the store does not retry a charge for a canceled renewal.
      return subscriptionOf(current.lineage).standing.kind === "retry"
        ? expired(disabled, "voluntary")
        : disabled;
    },
  },
  resume: {
    in: PAID,
    step: (current) => {
      if (subscriptionOf(current.lineage).autoRenews)
        throw new ImpossibleChange("The subscription renews already.");
      return withRenewal(current, true);
    },
  },
  "fail-billing": {
    in: ["active"],
    whileRenewing: true,
    step: (current) => changed(current, { subscription: { billingFails: true } }),
  },
  recover: {
    in: RUNNING,
    step: (current) => {
      const { standing, billingFails } = subscriptionOf(current.lineage);
      if (standing.kind !== "active") return charged(current);
      if (!billingFails) throw new ImpossibleChange("No charge fails.");
      return changed(current, { subscription: { billingFails: false } });
    },
  },
  expire: {
    in: RUNNING,
    step: (current, change) => {
      const { lineage, at } = current;
      const { standing } = subscriptionOf(lineage);
      const { reason = standing.kind === "active" ? "voluntary" : "billing-retry" } = change;
      const transactions = lineage.transactions.map((transaction) =>
        transaction.expiresDate !== null && transaction.expiresDate > at
          ? { ...transaction, expiresDate: Math.max(at, transaction.purchaseDate) }
          : transaction,
      );
      return expired(current, reason, transactions);
    },
  },
  resubscribe: {
    in: ["expired", "revoked"],
    step: (current, change) => {
      const { lineage, at } = current;
      const { next, servedSince } = subscriptionOf(lineage);
      const { productIdentifier = next.productIdentifier, period = next.period } = change;
      const servedUntil = latestOf(lineage).revocation?.at ?? endOf(lineage);
      const isLapsed = at - servedUntil >= LAPSE;
      const fields = { next: { productIdentifier, period }, servedSince: isLapsed ? at : servedSince };
      return boughtNow(current, fields, "SUBSCRIBED RESUBSCRIBE");
    },
  },
  upgrade: {
    in: PAID,
    step: (current, change) => {
      const { lineage, at } = current;
      const { productIdentifier, period = subscriptionOf(lineage).cadence.period } = change;
      const { event, purchaseDate } = latestOf(lineage);
      if (purchaseDate > at) throw new ImpossibleChange("The latest period has not begun.");
      const previous = { ...lineage, transactions: withEvent(lineage, event, { isUpgraded: true }) };
      const next = { productIdentifier, period };
      return boughtNow({ ...current, lineage: previous }, { next }, "DID_CHANGE_RENEWAL_PREF UPGRADE");
    },
  },
  downgrade: {
    in: PAID,
    step: (current, change) => {
      const { lineage } = current;
      const { productIdentifier, period = subscriptionOf(lineage).cadence.period } = change;
      const subtype = productIdentifier === latestOf(lineage).productIdentifier ? "" : " DOWNGRADE";
      // Choosing a product for the next period turns the renewal on.
      const subscription = { next: { productIdentifier, period }, autoRenews: true };
      return changed(current, { subscription }, `DID_CHANGE_RENEWAL_PREF${subtype}`);
    },
  },
  "price-increase": {
    in: ["active"],
    step: (current, { consent }) => {
      const subtype = consent === "pending" ? "PENDING" : "ACCEPTED";
      return changed(current, { subscription: { priceIncrease: consent } }, `PRICE_INCREASE ${subtype}`);
    },
  },
  extend: {
    in: ["active"],
    step: (current, { period = WEEK }) => {
      const { lineage } = current;
      const { cadence } = subscriptionOf(lineage);
      const expiresDate = plusPeriod(endOf(lineage), period);
      const transactions = withEvent(lineage, latestOf(lineage).event, { expiresDate });
      const subscription = {
        cadence: { ...cadence, from: expiresDate, periods: 0 },
        chargedAheadAt: null,
      };
      return changed(current, { transactions, subscription }, "RENEWAL_EXTENDED");
    },
  },
  refund: { step: refunded },
  "refund-partly": { step: refunded },
  "reverse-refund": { step: refundReversed },
  "consumption-request": {
    step: (current, change) => {
      const { transactionIdentifier } = namedTransaction(current.lineage, change.transactionIdentifier);
      const about = { transactionIdentifier, consumptionRequestReason: change.reason };
      return changed(current, {}, "CONSUMPTION_REQUEST", about);
    },
  },
  unshare: {
    step: (current) => {
      if (latestOf(current.lineage).revocation !== null)
        throw new ImpossibleChange("The purchase is no longer shared.");
      return revokedFromFamily(current, 0);
    },
  },
  restore: {
    step: (current) => {
      const { lineage, at, newIdentifier } = current;
      if (lineage.type === "Consumable") throw new ImpossibleChange("A consumable cannot be restored.");
      const latest = latestOf(lineage);
      // A copy of a non-renewing purchase has the date of the restore; a subscription's, that of its period.
      const purchaseDate = lineage.subscription === null ? at : latest.purchaseDate;
      const copy = { ...latest, transactionIdentifier: newIdentifier(), purchaseDate };
      return changed(current, { transactions: [...lineage.transactions, copy] });
    },
  },
  "rescind-consent": { step: (current) => changed(current, {}, "RESCIND_CONSENT") },
};

/** Whether a change happens to the lineages of family members too. */
export const isOfSubscriptions = (name: LineageChange): boolean => RULES[name].in !== undefined;

/** @throws ImpossibleChange */
const requireAllowed = (lineage: Lineage, { in: allowed, whileRenewing }: Rule<never>): void => {
  if (allowed === undefined) return;
  const { standing, autoRenews } = subscriptionOf(lineage);
  if (!allowed.includes(standing.kind))
    throw new ImpossibleChange(`The change is not possible for a subscription in ${standing.kind}.`);
  if (whileRenewing === true && !autoRenews) throw new ImpossibleChange("The subscription does not renew.");
};

/** @throws ImpossibleChange */
export const changedLineage = <Name extends LineageChange>(
  current: Current,
  name: Name,
  change: ChangesByName[Name],
): Current => {
  const rule: Rule<Name> = RULES[name];
  requireAllowed(current.lineage, rule);
  return rule.step(current, change);
};
