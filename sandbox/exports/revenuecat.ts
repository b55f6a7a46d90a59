import { DAY, HOUR } from "../../lib/duration.ts";
import { isoTime, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import type { Person } from "./persons.ts";
import { randomFrom } from "./random.ts";
import type { Row } from "./sheet.ts";

/** UTC, in whole seconds. */
const time = (instant: Instant | null): string =>
  instant === null ? "" : isoTime(instant).slice(0, 19).replace("T", " ");

const newestRow = (person: Person, at: Instant): Row => {
  const { claim, aliases, ios, android, lie, kind, product, basePlan, number } = person;
  const account = lie === "swapped-account" ? person.otherAccount : null;
  const order = android?.orderIdentifier ?? "";
  return {
    rc_original_app_user_id: account ?? aliases.original,
    rc_last_seen_app_user_id_alias: account ?? aliases.lastSeen,
    country: "GB",
    product_identifier: basePlan === undefined ? product : `${product}:${basePlan}`,
    product_display_name: 'Premium, "all in"',
    start_time: time(plusPeriod(claim.endsAt ?? at, { months: -1, milliseconds: 0 })),
    end_time: time(claim.endsAt),
    effective_end_time: time(claim.endsAt),
    store: ios === null ? "play_store" : "app_store",
    is_auto_renewable: String(kind === "subscription"),
    is_trial_period: "false",
    is_sandbox: String(person.environment === "sandbox"),
    refunded_at: time(claim.refundedAt),
    original_store_transaction_id: lie === "no-token" ? "" : (ios?.originalTransactionIdentifier ?? order),
    store_transaction_id: lie === "no-token" ? "" : (ios?.transactionIdentifier ?? order),
    entitlement_identifiers: '["premium"]',
    renewal_number: kind === "subscription" ? "1" : "",
    // A note on every fiftieth person spans lines.
    custom_subscriber_attributes:
      number % 50 === 0 ? JSON.stringify({ note: `says "hello", number ${number}` }, null, 2) : "{}",
    platform: ios === null ? "android" : "iOS",
    updated_at: time(at - HOUR),
  };
};

/** The same transaction as it was a month ago: under another alias, with another end. */
const olderRow = (row: Row, person: Person, at: Instant): Row => {
  const random = randomFrom(person.number);
  const end = person.claim.isActive ? time(at - 20 * DAY) : time(at + 20 * DAY);
  return {
    ...row,
    rc_last_seen_app_user_id_alias:
      person.lie === "alias-chain" ? `$RCAnonymousID:${random.hex(32)}` : random.uuid(),
    end_time: end,
    effective_end_time: end,
    refunded_at: "",
    updated_at: time(at - 30 * DAY),
  };
};

/** The lineage's first transaction, under another account. */
const rowOfOther = (row: Row, { ios, otherAccount }: Person): Row => ({
  ...row,
  rc_original_app_user_id: otherAccount ?? "",
  rc_last_seen_app_user_id_alias: otherAccount ?? "",
  store_transaction_id: ios?.originalTransactionIdentifier ?? "",
});

/**
 * Rows of RevenueCat's Scheduled Data Export of transactions.
 *
 * @see https://www.revenuecat.com/docs/integrations/scheduled-data-exports/transactions
 */
export const revenueCatRows = (person: Person, at: Instant): readonly Row[] => {
  const { lie, number } = person;
  const row = newestRow(person, at);
  const others: Row[] = [];
  if (lie === "repeated-rows" || lie === "alias-chain") others.push(olderRow(row, person, at));
  if (lie === "two-accounts") others.push(rowOfOther(row, person));
  // A file is in no order: the newest row may come first.
  return number % 2 === 0 ? [row, ...others] : [...others, row];
};
