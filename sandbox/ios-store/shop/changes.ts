import { ImpossibleChange } from "../../impossible-change.ts";
import type { ChangeName, ChangesByName } from "./change.ts";
import { changed, notified, type Current } from "./current.ts";
import { endOf, latestOf, subscriptionOf, type Lineage, type Subscription } from "./lineage.ts";
import { namedTransaction, refunded, refundReversed, revokedFromFamily } from "./refunds.ts";
import { AHEAD, charged } from "./renewals.ts";
import {
  cancelled,
  downgraded,
  ended,
  extended,
  openly,
  recovered,
  resubscribed,
  resumed,
  silently,
  upgraded,
  type Step,
} from "./subscription-changes.ts";

type Standing = Subscription["standing"]["kind"];

interface Rule<Name extends ChangeName> {
  readonly step: Step<Name>;
  /** Standings of a subscription that allow the change; unset: it is possible for every purchase. */
  readonly in?: readonly Standing[];
  /** The renewal must be on. */
  readonly whileRenewing?: true;
}

const restored: Step<"restore"> = (current) => {
  const { lineage, at, newIdentifier } = current;
  if (lineage.type === "Consumable") throw new ImpossibleChange("A consumable cannot be restored.");
  const latest = latestOf(lineage);
  // A copy of a non-renewing purchase has the date of the restore; a subscription's, that of its period.
  const purchaseDate = lineage.subscription === null ? at : latest.purchaseDate;
  const copy = { ...latest, transactionIdentifier: newIdentifier(), purchaseDate };
  return changed(current, { transactions: [...lineage.transactions, copy] });
};

const consumptionRequested: Step<"consumption-request"> = (current, change) => {
  const { transactionIdentifier } = namedTransaction(current.lineage, change.transactionIdentifier);
  const about = { transactionIdentifier, consumptionRequestReason: change.reason };
  return notified(changed(current), "CONSUMPTION_REQUEST", about);
};

const unshared: Step<"unshare"> = (current) => {
  if (latestOf(current.lineage).revocation !== null)
    throw new ImpossibleChange("The purchase is no longer shared.");
  return revokedFromFamily(current, 0);
};

const PAID: readonly Standing[] = ["active", "grace"];
const RUNNING: readonly Standing[] = ["active", "grace", "retry"];

/** Changes of one lineage. */
type LineageChange = Exclude<ChangeName, "share-with-family">;

const RULES: { readonly [Name in LineageChange]: Rule<Name> } = {
  renew: { in: RUNNING, whileRenewing: true, step: charged },
  "renew-ahead": {
    in: ["active"],
    whileRenewing: true,
    step: (current) =>
      silently(current, { chargedAheadAt: Math.max(current.at, endOf(current.lineage) - AHEAD) }),
  },
  cancel: { in: RUNNING, whileRenewing: true, step: cancelled },
  resume: { in: PAID, step: resumed },
  "fail-billing": {
    in: ["active"],
    whileRenewing: true,
    step: (current) => silently(current, { billingFails: true }),
  },
  recover: { in: RUNNING, step: recovered },
  expire: { in: RUNNING, step: ended },
  resubscribe: { in: ["expired", "revoked"], step: resubscribed },
  upgrade: { in: PAID, step: upgraded },
  downgrade: { in: PAID, step: downgraded },
  "price-increase": {
    in: ["active"],
    step: (current, { consent }) => {
      const subtype = consent === "pending" ? "PENDING" : "ACCEPTED";
      return openly(current, { priceIncrease: consent }, `PRICE_INCREASE ${subtype}`);
    },
  },
  extend: { in: ["active"], step: extended },
  refund: { step: refunded },
  "refund-partly": { step: refunded },
  "reverse-refund": { step: refundReversed },
  "consumption-request": { step: consumptionRequested },
  unshare: { step: unshared },
  restore: { step: restored },
  "rescind-consent": { step: (current) => notified(changed(current), "RESCIND_CONSENT") },
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
