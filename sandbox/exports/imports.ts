import type { Store } from "../../lib/contract/schemas.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { Person } from "./persons.ts";
import { legacyReceipt } from "./receipt.ts";
import type { Row } from "./sheet.ts";

/** Rows of files that name each purchase: lists of tokens, imports of other services, a table of one's own. */

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
