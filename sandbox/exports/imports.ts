import type { Row } from "./delimited.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { Person } from "./persons.ts";
import { legacyReceipt } from "./receipt.ts";

/** Files in the columns of Adapty's and Qonversion's imports, and a table of one's own. */

/** The rows of a person under each account that the file names. */
const accountsOf = ({ account, lie, otherAccount }: Person): readonly string[] => {
  if (account === null) return [];
  if (lie === "swapped-account") return [otherAccount ?? account];
  if (lie === "two-accounts") return [account, otherAccount ?? account];
  return lie === "repeated-rows" ? [account, account] : [account];
};

const receiptOf = ({ ios, app, product }: Person): string =>
  ios === null
    ? ""
    : legacyReceipt({
        bundleIdentifier: app,
        productIdentifier: product,
        transactionIdentifier: ios.transactionIdentifier,
        originalTransactionIdentifier: ios.originalTransactionIdentifier,
      });

type RowOf = (person: Person, account: string) => Row;

const adaptyApple: RowOf = ({ ios, lie }, account) => ({
  user_id: account,
  apple_original_transaction_id: lie === "no-token" ? "" : (ios?.originalTransactionIdentifier ?? ""),
});

const adaptyGoogle: RowOf = ({ android, lie, product, kind }, account) => ({
  user_id: account,
  google_product_id: product,
  google_purchase_token: lie === "no-token" ? "" : (android?.purchaseToken ?? ""),
  google_is_subscription: String(kind === "subscription"),
});

/** Every other row has the receipt, the others the original id. */
const qonversionApple: RowOf = (person, account) => {
  const isAskable = person.lie !== "no-token";
  const hasReceipt = person.number % 2 === 0;
  return {
    user_id: account,
    receipt: isAskable && hasReceipt ? receiptOf(person) : "",
    product_id: person.product,
    original_id: isAskable && !hasReceipt ? (person.ios?.originalTransactionIdentifier ?? "") : "",
  };
};

const qonversionGoogle: RowOf = ({ android, lie, product }, account) => ({
  user_id: account,
  purchase_token: lie === "no-token" ? "" : (android?.purchaseToken ?? ""),
  product_id: product,
  original_id: "",
});

/** One identifier a row: an iOS purchase's transaction id, original id or receipt, in turn. */
const tableIdentifier = (person: Person): Row => {
  const { ios, android, lie, number } = person;
  if (lie === "no-token") return {};
  if (android !== null)
    return lie === "order-id-only"
      ? { order_id: android.orderIdentifier }
      : { purchase_token: android.purchaseToken };
  if (ios === null) return {};
  if (number % 3 === 0) return { transaction_id: ios.transactionIdentifier };
  return number % 3 === 1
    ? { original_transaction_id: ios.originalTransactionIdentifier }
    : { receipt: receiptOf(person) };
};

const tableRow: RowOf = (person, account) => ({
  account,
  store: person.store,
  app: person.app,
  ...tableIdentifier(person),
  product: person.product,
  kind: person.kind,
  environment: person.environment,
  active: String(person.claim.isActive),
  ends_at: person.claim.endsAt === null ? "" : isoTime(person.claim.endsAt),
});

const isIos = ({ store }: Person): boolean => store === "ios-store";
/** Files of tokens have no row of a purchase that only an order id names. */
const hasToken = ({ store, lie }: Person): boolean => store === "android-store" && lie !== "order-id-only";

const fileOf = (
  name: string,
  columns: string,
  rowOf: RowOf,
  isWanted: (person: Person) => boolean = () => true,
) => ({
  name,
  columns: columns.split(" "),
  rowsOf: (persons: readonly Person[]): Row[] =>
    persons.filter(isWanted).flatMap((person) => accountsOf(person).map((account) => rowOf(person, account))),
});

export const IMPORT_FILES = {
  "adapty-import": [
    fileOf("adapty-apple", "user_id apple_original_transaction_id", adaptyApple, isIos),
    fileOf(
      "adapty-google",
      "user_id google_product_id google_purchase_token google_is_subscription",
      adaptyGoogle,
      hasToken,
    ),
  ],
  "qonversion-import": [
    fileOf("qonversion-apple", "user_id receipt product_id original_id", qonversionApple, isIos),
    fileOf("qonversion-google", "user_id purchase_token product_id original_id", qonversionGoogle, hasToken),
  ],
  table: [
    fileOf(
      "purchases",
      "account store app transaction_id original_transaction_id receipt purchase_token order_id product kind environment active ends_at",
      tableRow,
    ),
  ],
} as const;
