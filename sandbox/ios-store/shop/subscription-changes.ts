import { DAY } from "../../../lib/duration.ts";
import { plusPeriod } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import { after, endOf, INTENTS, latestOf, withTransactions, type Subscription } from "./lineage.ts";
import { changed, noticeOf, type Outcome } from "./notices.ts";
import { AHEAD, expired, LAPSE, recovered, renewed, withPaidPeriod, type Current } from "./renewals.ts";

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
  "redeem-offer": ["active", "grace"],
  "price-increase": ["active"],
  extend: ["active"],
} as const satisfies Partial<Record<IosChange["change"], readonly Standing[]>>;
type SubscriptionChange = Extract<IosChange, { change: keyof typeof SUBSCRIPTION_CHANGES }>;

/** A change of a subscription whose standing allows it. */
type Step<Name extends SubscriptionChange["change"]> = (
  current: Current,
  change: Extract<IosChange, { change: Name }>,
) => Outcome;

export const isSubscriptionChange = (change: IosChange): change is SubscriptionChange =>
  Object.hasOwn(SUBSCRIPTION_CHANGES, change.change);

const requireRenewal = ({ autoRenews }: Subscription): void => {
  if (!autoRenews) throw new ImpossibleChange("The subscription does not renew.");
};

const cancelled: Step<"cancel"> = ({ lineage, subscription, at }) => {
  requireRenewal(subscription);
  const off = { ...subscription, autoRenews: false };
  const disabled = changed(
    lineage,
    at,
    { subscription: off },
    "DID_CHANGE_RENEWAL_STATUS",
    "AUTO_RENEW_DISABLED",
  );
  if (subscription.standing.kind !== "retry") return disabled;
  // Ends at once: the store does not retry a charge for a canceled renewal.
  const over = expired({ lineage: disabled.lineage, subscription: off, at }, INTENTS.voluntary);
  return { lineage: over.lineage, notices: [...disabled.notices, ...over.notices] };
};

const resubscribed: Step<"resubscribe"> = (current, change) => {
  const { lineage, subscription, at } = current;
  const { productIdentifier = subscription.next.productIdentifier, period = subscription.next.period } =
    change;
  const next = { productIdentifier, period };
  const servedUntil = latestOf(lineage).revocation?.at ?? endOf(lineage);
  const again = withPaidPeriod(
    { ...current, subscription: { ...subscription, next, offerIdentifier: change.offerIdentifier ?? null } },
    {
      from: at,
      reason: "PURCHASE",
      keepsCadence: false,
      servedSince: at - servedUntil < LAPSE ? subscription.servedSince : at,
    },
  );
  return { lineage: again, notices: [noticeOf(again, "SUBSCRIBED", "RESUBSCRIBE")] };
};

const upgraded: Step<"upgrade"> = (current, change) => {
  const { lineage, subscription, at } = current;
  const { productIdentifier, period = subscription.cadence.period, offerIdentifier = null } = change;
  const { event, purchaseDate } = latestOf(lineage);
  if (purchaseDate > at) throw new ImpossibleChange("The latest period has not begun.");
  const left = withTransactions(
    lineage,
    (transaction) => transaction.event === event,
    (transaction) => ({ ...transaction, isUpgraded: true }),
  );
  const upgrade = withPaidPeriod(
    {
      ...current,
      lineage: { ...lineage, ...left },
      subscription: { ...subscription, next: { productIdentifier, period }, offerIdentifier },
    },
    { from: at, reason: "PURCHASE", keepsCadence: false },
  );
  const type = offerIdentifier === null ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED";
  return { lineage: upgrade, notices: [noticeOf(upgrade, type, "UPGRADE")] };
};

const downgraded: Step<"downgrade"> = ({ lineage, subscription, at }, change) => {
  const { productIdentifier, period = subscription.cadence.period, offerIdentifier = null } = change;
  // Choosing a product for the next period turns the renewal on.
  const planned = { ...subscription, next: { productIdentifier, period }, autoRenews: true, offerIdentifier };
  const type = offerIdentifier === null ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED";
  const subtype = productIdentifier === latestOf(lineage).productIdentifier ? null : "DOWNGRADE";
  return changed(lineage, at, { subscription: planned }, type, subtype);
};

const ended: Step<"expire"> = (current, change) => {
  const { lineage, subscription, at } = current;
  const { reason = subscription.standing.kind === "active" ? "voluntary" : "billing-retry" } = change;
  const shortened = withTransactions(
    lineage,
    ({ expiresDate }) => expiresDate !== null && expiresDate > at,
    (transaction) => ({ ...transaction, expiresDate: Math.max(at, transaction.purchaseDate) }),
  );
  return expired(current, INTENTS[reason], shortened);
};

const extended: Step<"extend"> = ({ lineage, subscription, at }, change) => {
  const { event } = latestOf(lineage);
  const expiresDate = plusPeriod(endOf(lineage), change.period ?? WEEK);
  const extension = {
    ...withTransactions(
      lineage,
      (transaction) => transaction.event === event,
      (transaction) => ({ ...transaction, expiresDate }),
    ),
    subscription: {
      ...subscription,
      cadence: { ...subscription.cadence, from: expiresDate, periods: 0 },
      chargedAheadAt: null,
    },
  };
  return changed(lineage, at, extension, "RENEWAL_EXTENDED", null);
};

/** @throws ImpossibleChange */
export const changedSubscription = (current: Current, change: SubscriptionChange): Outcome => {
  const { lineage, subscription, at } = current;
  const { kind } = subscription.standing;
  const allowed: readonly Standing[] = SUBSCRIPTION_CHANGES[change.change];
  if (!allowed.includes(kind))
    throw new ImpossibleChange(`The change is not possible for a subscription in ${kind}.`);
  const having = (fields: Partial<Subscription>) => ({ subscription: { ...subscription, ...fields } });
  const silently = (fields: Partial<Subscription>): Outcome => ({
    lineage: after(lineage, at, having(fields)),
    notices: [],
  });
  switch (change.change) {
    case "renew":
      requireRenewal(subscription);
      return kind === "active" ? renewed(current) : recovered(current);
    case "renew-ahead":
      requireRenewal(subscription);
      return silently({ chargedAheadAt: Math.max(at, endOf(lineage) - AHEAD) });
    case "cancel":
      return cancelled(current, change);
    case "resume":
      if (subscription.autoRenews) throw new ImpossibleChange("The subscription renews already.");
      return changed(
        lineage,
        at,
        having({ autoRenews: true }),
        "DID_CHANGE_RENEWAL_STATUS",
        "AUTO_RENEW_ENABLED",
      );
    case "fail-billing":
      requireRenewal(subscription);
      return silently({ billingFails: true });
    case "recover":
      if (kind !== "active") return recovered(current);
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
    case "redeem-offer": {
      const { offerIdentifier } = change;
      return changed(lineage, at, having({ offerIdentifier }), "OFFER_REDEEMED", null);
    }
    case "price-increase": {
      const { consent } = change;
      const subtype = consent === "pending" ? "PENDING" : "ACCEPTED";
      return changed(lineage, at, having({ priceIncrease: consent }), "PRICE_INCREASE", subtype);
    }
    case "extend":
      return extended(current, change);
  }
};
