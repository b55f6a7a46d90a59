import { DAY } from "../../../lib/duration.ts";
import { plusPeriod } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { ChangeName, ChangesByName } from "./change.ts";
import { changed, notified, withEvent, type Current, type NoticeName } from "./current.ts";
import { endOf, latestOf, subscriptionOf, type Subscription } from "./lineage.ts";
import { renewalDisabled } from "./refunds.ts";
import { boughtNow, charged, expired, LAPSE } from "./renewals.ts";

const WEEK = { months: 0, milliseconds: 7 * DAY };

/** A change of one lineage; throws ImpossibleChange. */
export type Step<Name extends ChangeName> = (current: Current, change: ChangesByName[Name]) => Current;

export const silently = (current: Current, subscription: Partial<Subscription>): Current =>
  changed(current, { subscription });
export const openly = (current: Current, subscription: Partial<Subscription>, name: NoticeName): Current =>
  notified(silently(current, subscription), name);

export const cancelled: Step<"cancel"> = (current) => {
  const disabled = renewalDisabled(current);
  // Ends at once: the store does not retry a charge for a canceled renewal.
  return subscriptionOf(current.lineage).standing.kind === "retry"
    ? expired(disabled, "voluntary")
    : disabled;
};

export const resumed: Step<"resume"> = (current) => {
  if (subscriptionOf(current.lineage).autoRenews)
    throw new ImpossibleChange("The subscription renews already.");
  return openly(current, { autoRenews: true }, "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED");
};

export const recovered: Step<"recover"> = (current) => {
  const { standing, billingFails } = subscriptionOf(current.lineage);
  if (standing.kind !== "active") return charged(current);
  if (!billingFails) throw new ImpossibleChange("No charge fails.");
  return silently(current, { billingFails: false });
};

export const ended: Step<"expire"> = (current, change) => {
  const { lineage, at } = current;
  const { standing } = subscriptionOf(lineage);
  const { reason = standing.kind === "active" ? "voluntary" : "billing-retry" } = change;
  const transactions = lineage.transactions.map((transaction) =>
    transaction.expiresDate !== null && transaction.expiresDate > at
      ? { ...transaction, expiresDate: Math.max(at, transaction.purchaseDate) }
      : transaction,
  );
  return expired(current, reason, transactions);
};

export const resubscribed: Step<"resubscribe"> = (current, change) => {
  const { lineage, at } = current;
  const { next, servedSince } = subscriptionOf(lineage);
  const { productIdentifier = next.productIdentifier, period = next.period } = change;
  const servedUntil = latestOf(lineage).revocation?.at ?? endOf(lineage);
  const isLapsed = at - servedUntil >= LAPSE;
  const fields = { next: { productIdentifier, period }, servedSince: isLapsed ? at : servedSince };
  return boughtNow(current, fields, "SUBSCRIBED RESUBSCRIBE");
};

export const upgraded: Step<"upgrade"> = (current, change) => {
  const { lineage, at } = current;
  const { productIdentifier, period = subscriptionOf(lineage).cadence.period } = change;
  const { event, purchaseDate } = latestOf(lineage);
  if (purchaseDate > at) throw new ImpossibleChange("The latest period has not begun.");
  const previous = { ...lineage, transactions: withEvent(lineage, event, { isUpgraded: true }) };
  const next = { productIdentifier, period };
  return boughtNow({ ...current, lineage: previous }, { next }, "DID_CHANGE_RENEWAL_PREF UPGRADE");
};

export const downgraded: Step<"downgrade"> = (current, { productIdentifier, period }) => {
  const { lineage } = current;
  const next = { productIdentifier, period: period ?? subscriptionOf(lineage).cadence.period };
  const subtype = productIdentifier === latestOf(lineage).productIdentifier ? "" : " DOWNGRADE";
  // Choosing a product for the next period turns the renewal on.
  return openly(current, { next, autoRenews: true }, `DID_CHANGE_RENEWAL_PREF${subtype}`);
};

export const extended: Step<"extend"> = (current, { period = WEEK }) => {
  const { lineage } = current;
  const { cadence } = subscriptionOf(lineage);
  const expiresDate = plusPeriod(endOf(lineage), period);
  const extension = {
    transactions: withEvent(lineage, latestOf(lineage).event, { expiresDate }),
    subscription: { cadence: { ...cadence, from: expiresDate, periods: 0 }, chargedAheadAt: null },
  };
  return notified(changed(current, extension), "RENEWAL_EXTENDED");
};
