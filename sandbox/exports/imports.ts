import { isoTime } from "../../lib/entitlements/time.ts";
import type { Person } from "./persons.ts";
import { legacyReceipt } from "./receipt.ts";
import type { Row } from "./sheet.ts";

/** Files in the columns of Adapty's and Qonversion's imports, and a table of one's own. */

/** Accounts under which the file names a person, each in a row. */
const accountsOf = ({ account, lie, otherAccount }: Person): readonly string[] => {
  if (account === null) return [];
  if (lie === "swapped-account") return [otherAccount ?? account];
  if (lie === "two-accounts") return [account, otherAccount ?? account];
  return lie === "repeated-rows" ? [account, account] : [account];
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

/** A row with the columns of all files. */
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

const rowsOf =
  (isNamed: (person: Person) => boolean) =>
  (person: Person): readonly Row[] =>
    isNamed(person) ? accountsOf(person).map((account) => rowOf(person, account)) : [];

const ofAll = rowsOf(() => true);
const ofApple = rowsOf(({ store }) => store === "ios-store");
/** Files of tokens have no row of a purchase that only an order id names. */
const ofGoogle = rowsOf(({ store, lie }) => store === "android-store" && lie !== "order-id-only");

export const IMPORT_FILES = {
  "adapty-import": [
    { name: "adapty-apple", columns: "user_id apple_original_transaction_id", rowsOf: ofApple },
    {
      name: "adapty-google",
      columns: "user_id google_product_id google_purchase_token google_is_subscription",
      rowsOf: ofGoogle,
    },
  ],
  "qonversion-import": [
    { name: "qonversion-apple", columns: "user_id receipt product_id original_id", rowsOf: ofApple },
    { name: "qonversion-google", columns: "user_id purchase_token product_id original_id", rowsOf: ofGoogle },
  ],
  table: [
    {
      name: "purchases",
      columns: `account store app transaction_id original_transaction_id receipt purchase_token order_id
        product kind environment active ends_at`,
      rowsOf: ofAll,
    },
  ],
} as const;
