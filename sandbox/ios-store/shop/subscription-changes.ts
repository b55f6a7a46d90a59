import { DAY } from "../../../lib/duration.ts";
import { plusPeriod } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import {
  after,
  endOf,
  INTENTS,
  latestOf,
  withTransactions,
  type Circumstances,
  type Lineage,
  type Subscription,
} from "./lineage.ts";
import { noticeOf, type Outcome } from "./notices.ts";
import { AHEAD, expired, LAPSE, recovered, renewed, withPaidPeriod } from "./renewals.ts";

const WEEK = { months: 0, milliseconds: 7 * DAY };

/** Changes that only subscriptions have. They happen to the lineages of family members too. */
const SUBSCRIPTION_CHANGES = [
  "renew",
  "renew-ahead",
  "cancel",
  "resume",
  "fail-billing",
  "recover",
  "expire",
  "resubscribe",
  "upgrade",
  "downgrade",
  "redeem-offer",
  "price-increase",
  "extend",
] as const satisfies readonly IosChange["change"][];
export type SubscriptionChange = Extract<IosChange, { change: (typeof SUBSCRIPTION_CHANGES)[number] }>;

const subscriptionChanges: ReadonlySet<string> = new Set(SUBSCRIPTION_CHANGES);
export const isSubscriptionChange = (change: IosChange): change is SubscriptionChange =>
  subscriptionChanges.has(change.change);

const requireStanding = (
  { standing }: Subscription,
  ...allowed: Subscription["standing"]["kind"][]
): void => {
  if (!allowed.includes(standing.kind))
    throw new ImpossibleChange(`The change is not possible for a subscription in ${standing.kind}.`);
};

const requireRenewal = ({ autoRenews }: Subscription): void => {
  if (!autoRenews) throw new ImpossibleChange("The subscription does not renew.");
};

const cancelled = (lineage: Lineage, subscription: Subscription, { at }: Circumstances): Outcome => {
  requireStanding(subscription, "active", "grace", "retry");
  requireRenewal(subscription);
  const off = { ...subscription, autoRenews: false };
  const disabled = after(lineage, at, { subscription: off });
  const notice = noticeOf(disabled, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED");
  if (subscription.standing.kind !== "retry") return { lineage: disabled, notices: [notice] };
  // Ends at once: the store does not retry a charge for a canceled renewal.
  const { lineage: over, notices } = expired(disabled, off, INTENTS.voluntary, at);
  return { lineage: over, notices: [notice, ...notices] };
};

const resubscribed = (
  lineage: Lineage,
  subscription: Subscription,
  change: Extract<IosChange, { change: "resubscribe" }>,
  circumstances: Circumstances,
): Outcome => {
  requireStanding(subscription, "expired", "revoked");
  const { at } = circumstances;
  const { productIdentifier = subscription.next.productIdentifier, period = subscription.next.period } =
    change;
  const servedUntil = latestOf(lineage).revocation?.at ?? endOf(lineage);
  const again = withPaidPeriod(
    lineage,
    {
      ...subscription,
      next: { productIdentifier, period },
      offerIdentifier: change.offerIdentifier ?? null,
    },
    {
      from: at,
      reason: "PURCHASE",
      keepsCadence: false,
      servedSince: at - servedUntil < LAPSE ? subscription.servedSince : at,
    },
    circumstances,
  );
  return { lineage: again, notices: [noticeOf(again, "SUBSCRIBED", "RESUBSCRIBE")] };
};

const upgraded = (
  lineage: Lineage,
  subscription: Subscription,
  change: Extract<IosChange, { change: "upgrade" }>,
  circumstances: Circumstances,
): Outcome => {
  requireStanding(subscription, "active", "grace");
  const { at } = circumstances;
  const { productIdentifier, period = subscription.cadence.period, offerIdentifier = null } = change;
  const { event, purchaseDate } = latestOf(lineage);
  if (purchaseDate > at) throw new ImpossibleChange("The latest period has not begun.");
  const left = withTransactions(
    lineage,
    (transaction) => transaction.event === event,
    (transaction) => ({ ...transaction, isUpgraded: true }),
  );
  const upgrade = withPaidPeriod(
    { ...lineage, ...left },
    { ...subscription, next: { productIdentifier, period }, offerIdentifier },
    { from: at, reason: "PURCHASE", keepsCadence: false },
    circumstances,
  );
  const type = offerIdentifier === null ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED";
  return { lineage: upgrade, notices: [noticeOf(upgrade, type, "UPGRADE")] };
};

const downgraded = (
  lineage: Lineage,
  subscription: Subscription,
  change: Extract<IosChange, { change: "downgrade" }>,
  { at }: Circumstances,
): Outcome => {
  requireStanding(subscription, "active", "grace");
  const { productIdentifier, period = subscription.cadence.period, offerIdentifier = null } = change;
  const planned = after(lineage, at, {
    // Choosing a product for the next period turns the renewal on.
    subscription: { ...subscription, next: { productIdentifier, period }, autoRenews: true, offerIdentifier },
  });
  const type = offerIdentifier === null ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED";
  const subtype = productIdentifier === latestOf(lineage).productIdentifier ? null : "DOWNGRADE";
  return { lineage: planned, notices: [noticeOf(planned, type, subtype)] };
};

const ended = (
  lineage: Lineage,
  subscription: Subscription,
  change: Extract<IosChange, { change: "expire" }>,
  { at }: Circumstances,
): Outcome => {
  requireStanding(subscription, "active", "grace", "retry");
  const { reason = subscription.standing.kind === "active" ? "voluntary" : "billing-retry" } = change;
  return expired(
    lineage,
    subscription,
    INTENTS[reason],
    at,
    withTransactions(
      lineage,
      ({ expiresDate }) => expiresDate !== null && expiresDate > at,
      (transaction) => ({ ...transaction, expiresDate: Math.max(at, transaction.purchaseDate) }),
    ),
  );
};

const extended = (
  lineage: Lineage,
  subscription: Subscription,
  change: Extract<IosChange, { change: "extend" }>,
  { at }: Circumstances,
): Outcome => {
  requireStanding(subscription, "active");
  const { event } = latestOf(lineage);
  const expiresDate = plusPeriod(endOf(lineage), change.period ?? WEEK);
  const extension = after(lineage, at, {
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
  });
  return { lineage: extension, notices: [noticeOf(extension, "RENEWAL_EXTENDED", null)] };
};

/** @throws ImpossibleChange */
export const changedSubscription = (
  lineage: Lineage,
  subscription: Subscription,
  change: SubscriptionChange,
  circumstances: Circumstances,
): Outcome => {
  const { at } = circumstances;
  const silently = (fields: Partial<Subscription>): Outcome => ({
    lineage: after(lineage, at, { subscription: { ...subscription, ...fields } }),
    notices: [],
  });
  switch (change.change) {
    case "renew":
      requireStanding(subscription, "active", "grace", "retry");
      requireRenewal(subscription);
      return subscription.standing.kind === "active"
        ? renewed(lineage, subscription, null, circumstances)
        : recovered(lineage, subscription, circumstances);
    case "renew-ahead":
      requireStanding(subscription, "active");
      requireRenewal(subscription);
      return silently({ chargedAheadAt: Math.max(at, endOf(lineage) - AHEAD) });
    case "cancel":
      return cancelled(lineage, subscription, circumstances);
    case "resume": {
      requireStanding(subscription, "active", "grace");
      if (subscription.autoRenews) throw new ImpossibleChange("The subscription renews already.");
      const resumed = after(lineage, at, { subscription: { ...subscription, autoRenews: true } });
      const notice = noticeOf(resumed, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED");
      return { lineage: resumed, notices: [notice] };
    }
    case "fail-billing":
      requireStanding(subscription, "active");
      requireRenewal(subscription);
      return silently({ billingFails: true });
    case "recover":
      requireStanding(subscription, "active", "grace", "retry");
      if (subscription.standing.kind !== "active") return recovered(lineage, subscription, circumstances);
      if (!subscription.billingFails) throw new ImpossibleChange("No charge fails.");
      return silently({ billingFails: false });
    case "expire":
      return ended(lineage, subscription, change, circumstances);
    case "resubscribe":
      return resubscribed(lineage, subscription, change, circumstances);
    case "upgrade":
      return upgraded(lineage, subscription, change, circumstances);
    case "downgrade":
      return downgraded(lineage, subscription, change, circumstances);
    case "redeem-offer": {
      requireStanding(subscription, "active", "grace");
      const { offerIdentifier } = change;
      const redeemed = after(lineage, at, { subscription: { ...subscription, offerIdentifier } });
      return { lineage: redeemed, notices: [noticeOf(redeemed, "OFFER_REDEEMED", null)] };
    }
    case "price-increase": {
      requireStanding(subscription, "active");
      const { consent } = change;
      const asked = after(lineage, at, { subscription: { ...subscription, priceIncrease: consent } });
      const subtype = consent === "pending" ? "PENDING" : "ACCEPTED";
      return { lineage: asked, notices: [noticeOf(asked, "PRICE_INCREASE", subtype)] };
    }
    case "extend":
      return extended(lineage, subscription, change, circumstances);
  }
};
