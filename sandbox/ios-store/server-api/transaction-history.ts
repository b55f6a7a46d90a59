import type { Instant } from "../../../lib/entitlements/time.ts";
import type { Lineage, SoldTransaction } from "../shop/lineage.ts";
import { PAGE, pageTokenOf, queryName, readPageToken } from "./page-token.ts";
import { signedDateOf, storeTransaction } from "../shop/payloads.ts";
import { appFields, type Person } from "./persons.ts";
import { ServerApiError } from "./errors.ts";
import type { JwsSigner } from "../signing.ts";

interface Sold {
  readonly lineage: Lineage;
  readonly transaction: SoldTransaction;
}

const SORTS: ReadonlySet<string> = new Set(["ASCENDING", "DESCENDING"]);

const revisionOf = ({ transaction }: Sold): number => transaction.revision ?? 0;

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
 * continues with what is new or has changed. The store does not have Apple's filters.
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
  if ([...query.keys()].some((name) => name !== "sort" && name !== "revision"))
    throw new ServerApiError("GeneralBadRequestError");
  const sort = query.get("sort") ?? "ASCENDING";
  if (!SORTS.has(sort)) throw new ServerApiError("InvalidSortError");
  const isDescending = sort === "DESCENDING";
  const name = queryName(of, isDescending);
  const revision = query.get("revision");
  const after = revision === null ? (isDescending ? "Infinity" : "0") : readPageToken(revision, name);
  if (after === null) throw new ServerApiError("InvalidRequestRevisionError");
  const left = soldTo(person)
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
 * @throws ServerApiError if the identifier is an app transaction's
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info
 */
export const transactionInfo = (person: Person, of: string, at: Instant, signer: JwsSigner) => {
  const all = soldTo(person);
  const sold =
    all.find(({ transaction }) => transaction.transactionIdentifier === of) ??
    all.find(({ lineage }) => lineage.originalTransactionIdentifier === of);
  if (sold === undefined) throw new ServerApiError("TransactionIdNotFoundError");
  return { signedTransactionInfo: signed(person, sold, at, signer) };
};
