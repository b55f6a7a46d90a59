import { DAY, HOUR } from "../../lib/duration.ts";
import { isoTime, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import type { Row } from "./delimited.ts";
import type { Person } from "./persons.ts";
import { randomFrom } from "./random.ts";

/**
 * RevenueCat's Scheduled Data Export of transactions, and its list of Google tokens.
 *
 * @see https://www.revenuecat.com/docs/integrations/scheduled-data-exports/transactions
 */
export const EXPORT_COLUMNS = `
  rc_original_app_user_id rc_last_seen_app_user_id_alias country product_identifier
  product_display_name start_time end_time grace_period_end_time effective_end_time store
  is_auto_renewable is_trial_period is_sandbox refunded_at original_store_transaction_id
  store_transaction_id entitlement_identifiers renewal_number custom_subscriber_attributes platform
  updated_at`
  .trim()
  .split(/\s+/);

export const TOKEN_COLUMNS = ["user_id", "google_purchase_token", "google_product_id"] as const;

/** Notation of older exports (`t`, `f`, `{premium}`) and of those since version 4 (`true`, `false`, `["premium"]`). */
export type Notation = "letters" | "words";

/** UTC, in whole seconds. */
const time = (instant: Instant | null): string =>
  instant === null ? "" : isoTime(instant).slice(0, 19).replace("T", " ");

const identifiersOf = ({ ios, android, lie }: Person): readonly [original: string, own: string] => {
  if (lie === "no-token") return ["", ""];
  if (ios !== null) return [ios.originalTransactionIdentifier, ios.transactionIdentifier];
  return [android?.orderIdentifier ?? "", android?.orderIdentifier ?? ""];
};

/** A note on every fiftieth person spans lines. */
const attributesOf = ({ number }: Person): string =>
  number % 50 === 0 ? JSON.stringify({ note: `says "hello", number ${number}` }, null, 2) : "{}";

const newestRow = (person: Person, at: Instant, notation: Notation): Row => {
  const { claim, aliases, store, kind, product, basePlan } = person;
  const flag = (value: boolean): string => (notation === "words" ? String(value) : value ? "t" : "f");
  const [original, own] = identifiersOf(person);
  const isSubscription = kind === "subscription";
  const account = person.lie === "swapped-account" ? person.otherAccount : null;
  return {
    rc_original_app_user_id: account ?? aliases.original,
    rc_last_seen_app_user_id_alias: account ?? aliases.lastSeen,
    country: "GB",
    product_identifier: basePlan === undefined ? product : `${product}:${basePlan}`,
    product_display_name: 'Premium, "all in"',
    start_time: time(plusPeriod(claim.endsAt ?? at, { months: -1, milliseconds: 0 })),
    end_time: time(claim.endsAt),
    effective_end_time: time(claim.endsAt),
    store: store === "ios-store" ? "app_store" : "play_store",
    is_auto_renewable: flag(isSubscription),
    is_trial_period: flag(false),
    is_sandbox: flag(person.environment === "sandbox"),
    refunded_at: time(claim.refundedAt),
    original_store_transaction_id: original,
    store_transaction_id: own,
    entitlement_identifiers: notation === "words" ? '["premium"]' : "{premium}",
    renewal_number: isSubscription ? "1" : "",
    custom_subscriber_attributes: attributesOf(person),
    platform: store === "ios-store" ? "iOS" : "android",
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

export const exportRows = function* (
  persons: Iterable<Person>,
  at: Instant,
  notation: Notation,
): Generator<Row> {
  for (const person of persons) {
    const row = newestRow(person, at, notation);
    const { lie, number } = person;
    const older = lie === "repeated-rows" || lie === "alias-chain" ? [olderRow(row, person, at)] : [];
    const others = lie === "two-accounts" ? [rowOfOther(row, person)] : [];
    // A file is in no order: the newest row may come first.
    yield* number % 2 === 0 ? [row, ...older, ...others] : [...older, ...others, row];
  }
};

export const tokenRows = function* (persons: Iterable<Person>): Generator<Row> {
  for (const { android, lie, otherAccount, aliases, product } of persons) {
    if (android === null || lie === "order-id-only") continue;
    const row = {
      user_id: (lie === "swapped-account" ? otherAccount : null) ?? aliases.lastSeen,
      google_purchase_token: lie === "no-token" ? "" : android.purchaseToken,
      google_product_id: product,
    };
    yield* lie === "repeated-rows" ? [row, row] : [row];
  }
};
