import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { SUBSCRIPTION_GROUP } from "../shop/app-store.ts";
import type { Lineage, SoldTransaction } from "../shop/lineage.ts";
import { PAGE, pageTokenOf, queryName, readPageToken } from "./page-token.ts";
import { signedDateOf, storeTransaction } from "../shop/payloads.ts";
import { appFields, hasTransaction, type Person } from "./persons.ts";
import { ServerApiError, type ServerApiErrorName } from "./errors.ts";
import type { JwsSigner } from "../signing.ts";

interface Sold {
  readonly lineage: Lineage;
  readonly transaction: SoldTransaction;
}

const PRODUCT_TYPES = {
  AUTO_RENEWABLE: "Auto-Renewable Subscription",
  NON_RENEWABLE: "Non-Renewing Subscription",
  CONSUMABLE: "Consumable",
  NON_CONSUMABLE: "Non-Consumable",
} as const satisfies Record<string, Lineage["type"]>;

const isProductType = (name: string): name is keyof typeof PRODUCT_TYPES =>
  Object.hasOwn(PRODUCT_TYPES, name);

/** A parameter with a fixed set of values; undefined: not given. */
const wordOf = (
  query: URLSearchParams,
  name: string,
  words: readonly string[],
  error: ServerApiErrorName,
): string | undefined => {
  const given = query.getAll(name);
  if (given.length > 1 || given.some((word) => !words.includes(word))) throw new ServerApiError(error);
  return given[0];
};

const instantOf = (query: URLSearchParams, name: string, error: ServerApiErrorName): Instant | undefined => {
  const given = query.getAll(name);
  if (given.length === 0) return undefined;
  const instant = Number(given[0]);
  if (given.length > 1 || !/^\d+$/.test(given[0] ?? "") || !isInstant(instant))
    throw new ServerApiError(error);
  return instant;
};

/** A repeatable parameter, any value of which may match; none given: all match. */
const anyOf = (query: URLSearchParams, name: string, error: ServerApiErrorName): string[] => {
  const given = query.getAll(name);
  if (given.includes("")) throw new ServerApiError(error);
  return given;
};

const filterOf = (query: URLSearchParams): ((sold: Sold) => boolean) => {
  const from = instantOf(query, "startDate", "InvalidStartDateError") ?? 0;
  const until = instantOf(query, "endDate", "InvalidEndDateError") ?? Infinity;
  if (from >= until) throw new ServerApiError("StartDateAfterEndDateError");
  const products = anyOf(query, "productId", "InvalidProductIdError");
  const groups = anyOf(query, "subscriptionGroupIdentifier", "InvalidSubscriptionGroupIdentifierError");
  const types = query.getAll("productType").map((name) => {
    if (!isProductType(name)) throw new ServerApiError("InvalidProductTypeError");
    return PRODUCT_TYPES[name];
  });
  const ownership = wordOf(
    query,
    "inAppOwnershipType",
    ["PURCHASED", "FAMILY_SHARED"],
    "InvalidInAppOwnershipTypeError",
  );
  const revoked = wordOf(query, "revoked", ["true", "false"], "InvalidRevokedError");
  return ({ lineage: { type, sharedFrom }, transaction: { purchaseDate, productIdentifier, revocation } }) =>
    purchaseDate >= from &&
    purchaseDate < until &&
    (products.length === 0 || products.includes(productIdentifier)) &&
    (types.length === 0 || types.includes(type)) &&
    (groups.length === 0 || (type === PRODUCT_TYPES.AUTO_RENEWABLE && groups.includes(SUBSCRIPTION_GROUP))) &&
    (ownership === undefined || (ownership === "FAMILY_SHARED") === (sharedFrom !== null)) &&
    (revoked === undefined || (revoked === "true") === (revocation !== null));
};

const revisionOf = ({ transaction }: Sold): number => transaction.revision ?? 0;

const withoutRevision = (query: URLSearchParams): (readonly [string, string])[] =>
  [...query].filter(([name]) => name !== "revision");

const soldTo = ({ lineages }: Person): Sold[] =>
  lineages.flatMap((lineage) => lineage.transactions.map((transaction) => ({ lineage, transaction })));

const signed = (
  { account }: Person,
  { lineage, transaction }: Sold,
  at: Instant,
  signer: JwsSigner,
): string => storeTransaction(account, lineage, transaction, signedDateOf(lineage, at), signer);

/**
 * Answers Get Transaction History: pages in the order of the last changes. A revision of an ascending history stays good: it
 * continues with what is new or has changed.
 *
 * @param of identifier that the request names
 * @throws ServerApiError
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
 */
export const transactionHistory = (
  person: Person,
  of: string,
  query: URLSearchParams,
  at: Instant,
  signer: JwsSigner,
) => {
  const isWanted = filterOf(query);
  const isDescending =
    wordOf(query, "sort", ["ASCENDING", "DESCENDING"], "InvalidSortError") === "DESCENDING";
  const name = queryName(of, withoutRevision(query));
  const revision = query.get("revision");
  const after = revision === null ? (isDescending ? "Infinity" : "0") : readPageToken(revision, name);
  if (after === null) throw new ServerApiError("InvalidRequestRevisionError");
  const left = soldTo(person)
    .filter(isWanted)
    .filter((sold) => (isDescending ? revisionOf(sold) < Number(after) : revisionOf(sold) > Number(after)))
    .toSorted((one, other) => (isDescending ? -1 : 1) * (revisionOf(one) - revisionOf(other)));
  const page = left.slice(0, PAGE);
  const last = page.at(-1);
  return {
    ...appFields(person.account),
    revision: pageTokenOf(last === undefined ? after : String(revisionOf(last)), name),
    hasMore: left.length > page.length,
    signedTransactions: page.map((sold) => signed(person, sold, at, signer)),
  };
};

/**
 * Answers Get Transaction Info. An original id names the transaction with that id, or else the first of its lineage.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info
 */
export const transactionInfo = (person: Person, of: string, at: Instant, signer: JwsSigner) => {
  const candidates = soldTo(person).filter(({ lineage }) => hasTransaction(lineage, of));
  const sold =
    candidates.find(({ transaction }) => transaction.transactionIdentifier === of) ?? candidates[0];
  if (sold === undefined) throw new ServerApiError("TransactionIdNotFoundError");
  return { signedTransactionInfo: signed(person, sold, at, signer) };
};
