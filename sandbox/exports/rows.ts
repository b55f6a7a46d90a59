import { Integer, type BaseBlock, type Sequence } from "asn1js";
import type { Store } from "../../lib/contract/schemas.ts";
import { DAY, HOUR } from "../../lib/duration.ts";
import { isoTime, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { der, octets, oid, sequence, setOf, tagged, utf8 } from "../ios-store/certificates.ts";
import type { Person } from "./persons.ts";
import { randomFrom } from "./plan.ts";

/** A row of named fields; empty text, or no field: it has no value. */
export type Row = Readonly<Record<string, string>>;

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

const attribute = (type: number, value: BaseBlock): Sequence =>
  sequence(new Integer({ value: type }), new Integer({ value: 1 }), octets(der(value)));
const textAttribute = (type: number, value: string): Sequence => attribute(type, utf8(value));

/** Types of a receipt's attributes. */
const BUNDLE = 2;
const IN_APP = 17;
const PRODUCT = 1702;
const TRANSACTION = 1703;
const ORIGINAL_TRANSACTION = 1705;

/**
 * A legacy app receipt with one purchase, in base64: PKCS #7 with Apple's attributes, and without signers, as nobody
 * verifies it: a receipt only names a transaction to ask about.
 *
 * @see https://developer.apple.com/documentation/appstorereceipts
 */
const legacyReceipt = (
  { app, product }: Pick<Person, "app" | "product">,
  { transactionIdentifier, originalTransactionIdentifier }: NonNullable<Person["ios"]>,
): string => {
  const inApp = setOf(
    textAttribute(PRODUCT, product),
    textAttribute(TRANSACTION, transactionIdentifier),
    textAttribute(ORIGINAL_TRANSACTION, originalTransactionIdentifier),
  );
  const attributes = setOf(textAttribute(BUNDLE, app), attribute(IN_APP, inApp));
  const content = sequence(oid(DATA), tagged(0, octets(der(attributes))));
  const signedData = sequence(new Integer({ value: 1 }), setOf(), content, setOf());
  return der(sequence(oid(SIGNED_DATA), tagged(0, signedData))).toString("base64");
};

/** Accounts under which a file names a person, each in a row. */
const accountsOf = ({ account, lie, otherAccount, aliases }: Person): readonly string[] => {
  const own = account ?? aliases.lastSeen;
  const other = otherAccount ?? own;
  if (lie === "swapped-account") return [other];
  if (lie === "two-accounts") return [own, other];
  return lie === "repeated-rows" ? [own, own] : [own];
};

/** Identifiers of the purchase. iOS purchases take turns: transaction id, original transaction id, receipt. */
const identifiersOf = (person: Person): Row => {
  const { ios, android, lie, number } = person;
  if (lie === "no-token") return {};
  if (lie === "order-id-only") return { order_id: android?.orderIdentifier ?? "" };
  if (android !== null)
    return { google_purchase_token: android.purchaseToken, purchase_token: android.purchaseToken };
  if (ios === null) return {};
  const original = ios.originalTransactionIdentifier;
  const asked = [
    { transaction_id: ios.transactionIdentifier, original_id: original },
    { original_transaction_id: original, original_id: original },
    { receipt: legacyReceipt(person, ios) },
  ][number % 3];
  return { apple_original_transaction_id: original, ...asked };
};

const rowOf = (person: Person, account: string): Row => ({
  ...identifiersOf(person),
  account,
  user_id: account,
  store: person.store,
  app: person.app,
  product: person.product,
  product_id: person.product,
  google_product_id: person.product,
  kind: person.kind,
  google_is_subscription: String(person.kind === "subscription"),
  environment: person.environment,
  active: String(person.claim.isActive),
  ends_at: person.claim.endsAt === null ? "" : isoTime(person.claim.endsAt),
});

const rowsIn =
  (store: Store) =>
  (person: Person): readonly Row[] =>
    person.store === store ? allRows(person) : [];

/** A row for each account of the person, with the columns of all files. */
export const allRows = (person: Person): readonly Row[] =>
  accountsOf(person).map((account) => rowOf(person, account));
export const appleRows = rowsIn("ios-store");
export const googleRows = rowsIn("android-store");

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
