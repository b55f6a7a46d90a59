import { DAY } from "../../../lib/duration.ts";
import { plusPeriod } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import {
  after,
  both,
  changed,
  endOf,
  having,
  INTENTS,
  latestOf,
  subscriptionOf,
  told,
  withEvent,
  type Current,
  type NoticeName,
  type Outcome,
  type Subscription,
} from "./lineage.ts";
import { AHEAD, expired, LAPSE, recovered, renewed, withPaidPeriod } from "./renewals.ts";

const WEEK = { months: 0, milliseconds: 7 * DAY };

type Standing = Subscription["standing"]["kind"];

/** Changes that only subscriptions have, with the standings that allow each. They happen to the lineages of family members too. */
const SUBSCRIPTION_CHANGES = {
  renew: ["active", "grace", "retry"],
  "renew-ahead": ["active"],
  cancel: ["active", "grace", "retry"],
  resume: ["active", "grace"],
  "fail-billing": ["active"],
  recover: ["active", "grace", "retry"],
  expire: ["active", "grace", "retry"],
  resubscribe: ["expired", "revoked"],
  upgrade: ["active", "grace"],
  downgrade: ["active", "grace"],
  "price-increase": ["active"],
  extend: ["active"],
  "fail-extension": ["active", "grace", "retry", "expired", "revoked"],
} as const satisfies Partial<Record<IosChange["change"], readonly Standing[]>>;
type SubscriptionChange = Extract<IosChange, { change: keyof typeof SUBSCRIPTION_CHANGES }>;

/** Changes of a renewal, which must be on. */
const OF_RENEWAL: ReadonlySet<IosChange["change"]> = new Set([
  "renew",
  "renew-ahead",
  "cancel",
  "fail-billing",
]);

/** A change of a subscription whose standing allows it. */
type Step<Name extends SubscriptionChange["change"]> = (
  current: Current,
  change: Extract<IosChange, { change: Name }>,
) => Outcome;

export const isSubscriptionChange = (change: IosChange): change is SubscriptionChange =>
  Object.hasOwn(SUBSCRIPTION_CHANGES, change.change);

const cancelled = ({ lineage, at }: Current): Outcome => {
  const off = having(lineage, { autoRenews: false });
  const disabled = changed(lineage, at, off, "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED");
  if (subscriptionOf(lineage).standing.kind !== "retry") return disabled;
  // Ends at once: the store does not retry a charge for a canceled renewal.
  return both(disabled, expired(disabled.lineage, at, INTENTS.voluntary));
};

/** A purchase now: a period of a new cadence. */
const boughtNow = (current: Current, fields: Partial<Subscription>, name: NoticeName): Outcome => {
  const { lineage, at } = current;
  const wanted = { ...current, lineage: { ...lineage, ...having(lineage, fields) } };
  return told(withPaidPeriod(wanted, { from: at, reason: "PURCHASE", keepsCadence: false }), name);
};

const resubscribed: Step<"resubscribe"> = (current, change) => {
  const { lineage, at } = current;
  const { next, servedSince } = subscriptionOf(lineage);
  const { productIdentifier = next.productIdentifier, period = next.period } = change;
  const servedUntil = latestOf(lineage).revocation?.at ?? endOf(lineage);
  const isLapsed = at - servedUntil >= LAPSE;
  const fields = { next: { productIdentifier, period }, servedSince: isLapsed ? at : servedSince };
  return boughtNow(current, fields, "SUBSCRIBED RESUBSCRIBE");
};

const upgraded: Step<"upgrade"> = (current, change) => {
  const { lineage, at } = current;
  const { productIdentifier, period = subscriptionOf(lineage).cadence.period } = change;
  const { event, purchaseDate } = latestOf(lineage);
  if (purchaseDate > at) throw new ImpossibleChange("The latest period has not begun.");
  const left = { ...lineage, ...withEvent(lineage, event, { isUpgraded: true }) };
  const fields = { next: { productIdentifier, period } };
  return boughtNow({ ...current, lineage: left }, fields, "DID_CHANGE_RENEWAL_PREF UPGRADE");
};

const downgraded: Step<"downgrade"> = ({ lineage, at }, change) => {
  const { cadence } = subscriptionOf(lineage);
  const { productIdentifier, period = cadence.period } = change;
  // Choosing a product for the next period turns the renewal on.
  const planned = having(lineage, {
    next: { productIdentifier, period },
    autoRenews: true,
  });
  const subtype = productIdentifier === latestOf(lineage).productIdentifier ? "" : " DOWNGRADE";
  return changed(lineage, at, planned, `DID_CHANGE_RENEWAL_PREF${subtype}`);
};

const ended: Step<"expire"> = ({ lineage, at }, change) => {
  const { standing } = subscriptionOf(lineage);
  const { reason = standing.kind === "active" ? "voluntary" : "billing-retry" } = change;
  const transactions = lineage.transactions.map((transaction) =>
    transaction.expiresDate !== null && transaction.expiresDate > at
      ? { ...transaction, expiresDate: Math.max(at, transaction.purchaseDate) }
      : transaction,
  );
  return expired({ ...lineage, transactions }, at, INTENTS[reason]);
};

const extended: Step<"extend"> = ({ lineage, at }, { period = WEEK }) => {
  const { cadence } = subscriptionOf(lineage);
  const expiresDate = plusPeriod(endOf(lineage), period);
  const extension = {
    ...withEvent(lineage, latestOf(lineage).event, { expiresDate }),
    ...having(lineage, { cadence: { ...cadence, from: expiresDate, periods: 0 }, chargedAheadAt: null }),
  };
  return changed(lineage, at, extension, "RENEWAL_EXTENDED");
};

/** @throws ImpossibleChange */
const requirePossible = (
  { standing: { kind }, autoRenews }: Subscription,
  change: SubscriptionChange,
): void => {
  const allowed: readonly Standing[] = SUBSCRIPTION_CHANGES[change.change];
  if (!allowed.includes(kind))
    throw new ImpossibleChange(`The change is not possible for a subscription in ${kind}.`);
  if (OF_RENEWAL.has(change.change) && !autoRenews)
    throw new ImpossibleChange("The subscription does not renew.");
};

/** @throws ImpossibleChange */
export const changedSubscription = (current: Current, change: SubscriptionChange): Outcome => {
  const { lineage, at } = current;
  const subscription = subscriptionOf(lineage);
  requirePossible(subscription, change);
  const isActive = subscription.standing.kind === "active";
  const silently = (fields: Partial<Subscription>): Outcome => ({
    lineage: after(lineage, at, having(lineage, fields)),
    notices: [],
  });
  const notified = (fields: Partial<Subscription>, name: NoticeName): Outcome =>
    changed(lineage, at, having(lineage, fields), name);
  switch (change.change) {
    case "renew":
      return isActive ? renewed(current) : recovered(current);
    case "renew-ahead":
      return silently({ chargedAheadAt: Math.max(at, endOf(lineage) - AHEAD) });
    case "cancel":
      return cancelled(current);
    case "resume":
      if (subscription.autoRenews) throw new ImpossibleChange("The subscription renews already.");
      return notified({ autoRenews: true }, "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED");
    case "fail-billing":
      return silently({ billingFails: true });
    case "recover":
      if (!isActive) return recovered(current);
      if (!subscription.billingFails) throw new ImpossibleChange("No charge fails.");
      return silently({ billingFails: false });
    case "expire":
      return ended(current, change);
    case "resubscribe":
      return resubscribed(current, change);
    case "upgrade":
      return upgraded(current, change);
    case "downgrade":
      return downgraded(current, change);
    case "price-increase":
      return notified(
        { priceIncrease: change.consent },
        `PRICE_INCREASE ${change.consent === "pending" ? "PENDING" : "ACCEPTED"}`,
      );
    case "extend":
      return extended(current, change);
    case "fail-extension":
      return notified({}, "RENEWAL_EXTENSION FAILURE");
  }
};
