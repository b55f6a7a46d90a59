import type { Audited } from "../../administration/acts/audit.ts";
import { chunks, partsWithin } from "../../chunks.ts";
import {
  CLAIMS_PER_ACCOUNT,
  type CustomerChange,
  type PurchaseWrite,
} from "../../customers/storing/fact-store.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { DAY } from "../../duration.ts";
import { sameHoldings } from "../../entitlements/holdings.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { auditWrites } from "../applications/audit.ts";
import { absent, versionUnchanged } from "../dynamodb/conditions.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import {
  check,
  deletion,
  ITEMS_PER_TRANSACTION,
  put,
  transact,
  update,
  type Write,
} from "../dynamodb/writes.ts";
import { keys } from "../keys.ts";
import { lookWrite } from "../telling/change-items.ts";
import { claimsDifferences, claimsWrite, countsThatEnd } from "./claims.ts";
import { encodeHoldings, type accountCustomerItem, type customerItem, type transferItem } from "./items.ts";
import { identityWrite, ownerAttribute, purchaseWrites } from "./owned-items.ts";

/** Lifetime of an absorbed customer's account item, for a Query that began before the merge. Readers skip it. */
const ABSORBED_KEPT_MILLISECONDS = DAY;

/** Customers of the change that are linked to a different account than the result. */
const leaving = ({ before, absorbed, after }: CustomerChange) =>
  [...(before === null ? [] : [before]), ...absorbed].flatMap(({ link, ...customer }) =>
    link === null || link.account === after.link?.account ? [] : [{ ...customer, link }],
  );

/** Absorbed customers with items in the survivor's account; readers skip these. */
const absorbedBeside = ({ before, absorbed, after }: CustomerChange): readonly CustomerId[] => {
  const account = after.link?.account;
  if (account === undefined) return [];
  const staying = absorbed.filter(({ link }) => link?.account === account);
  return [
    ...(before?.link?.account === account ? before.absorbed : []),
    ...staying.flatMap(({ identifier, absorbed }) => [identifier, ...absorbed]),
  ];
};

const customerWrite = (
  change: CustomerChange,
  /** 0: the customer is new. */
  versionBefore: number,
  holdings: readonly Purchase[],
  unsettled: boolean,
): Write => {
  const { identifier, environment, createdAt, link, hasPurchased } = change.after;
  return update(
    keys.customer(change.application, identifier),
    {
      customer: identifier,
      environment,
      createdAt,
      version: versionBefore + 1,
      link,
      holdings: encodeHoldings(holdings),
      hasPurchased,
      absorbed: absorbedBeside(change),
      unsettled,
      aliasOf: null,
      survivorVersion: 0,
    } satisfies Attributes<typeof customerItem>,
    versionBefore === 0 ? absent : versionUnchanged(versionBefore),
  );
};

const accountWrite = (change: CustomerChange, holdings: readonly Purchase[]): Write[] => {
  const { identifier: customer, link } = change.after;
  if (link === null) return [];
  const attributes = {
    customer,
    holdings: encodeHoldings(holdings),
    assertedBy: link.assertedBy,
    absorbed: absorbedBeside(change),
  } satisfies Attributes<typeof accountCustomerItem>;
  return [update(keys.accountCustomer(change.application, link.account, customer), attributes)];
};

const aliasWrite = (
  { application, after }: CustomerChange,
  { identifier, version }: StoredCustomer,
  survivorVersion: number,
): Write => {
  const attributes = {
    version: version + 1,
    link: null,
    holdings: encodeHoldings([]),
    absorbed: [],
    unsettled: false,
    aliasOf: after.identifier,
    survivorVersion,
    ...ownerAttribute(application, after.identifier),
  } satisfies Partial<Attributes<typeof customerItem>>;
  return update(keys.customer(application, identifier), attributes, versionUnchanged(version));
};

/** Expires absorbed customers' account items. Written together with the survivor's item that lists them, never before. */
const absorbedItems = ({ application, after, absorbed, moment }: CustomerChange): Write[] =>
  absorbed.flatMap(({ identifier, link, unsettled }) =>
    link === null || link.account !== after.link?.account || unsettled
      ? []
      : [
          update(
            keys.accountCustomer(application, link.account, identifier),
            expiry(moment + ABSORBED_KEPT_MILLISECONDS),
          ),
        ],
  );

/** Makes an account that a transaction writes to due for a look, if the application tells changes. */
const looksAt = (
  { application, after, moment, tellsChanges }: CustomerChange,
  account: AccountId | undefined,
  customers: readonly CustomerId[],
  version: number,
): Write[] => {
  if (!tellsChanges || account === undefined) return [];
  const cause = { customer: after.identifier, version, customers, erased: false };
  return [lookWrite(application, { account, dueAt: moment, cause })];
};

/** Records an operator's change in the audit, and a move by a link in the transfers. */
const recordWrites = (change: CustomerChange, audit: Audited | undefined): Write[] => {
  const { application, moment } = change;
  if (audit !== undefined) return auditWrites(application, audit);
  return leaving(change).map(({ identifier: customer, link }) =>
    put(keys.transfer(application, moment, customer), {
      customer,
      moment,
      because: link.assertedBy === "client" ? "claim-gave-way" : "policy",
    } satisfies Attributes<typeof transferItem>),
  );
};

/** Items for one purchase at most: the purchase, and its old and new place in the queue. */
const itemsOf = ({ ask, move }: PurchaseWrite): number =>
  1 + (move === null ? 0 : Number(move.from !== null) + Number(ask !== null));

/**
 * Deletes absorbed customers' items from an account before the customer that lists them leaves it: without the list,
 * readers would count them. Safe to interrupt: readers skip listed ones.
 */
export const absorbedDeletions = (
  application: ApplicationId,
  customers: readonly Pick<StoredCustomer, "link" | "absorbed">[],
): Write[][] =>
  chunks(
    customers.flatMap(({ link, absorbed }) =>
      link === null
        ? []
        : absorbed.map((customer) => deletion(keys.accountCustomer(application, link.account, customer))),
    ),
    ITEMS_PER_TRANSACTION,
  );

/** The customer, its account item and the look at the account take three places in each transaction. */
const ROOM_PER_TRANSACTION = ITEMS_PER_TRANSACTION - 3;

/** Writes of the first transaction beside the customer and its purchases. */
const writesAround = (change: CustomerChange, ending: ReadonlySet<AccountId>, audit?: Audited): Write[] => {
  const { application, before, absorbed, identities, claimsLimit = CLAIMS_PER_ACCOUNT } = change;
  const gone = leaving(change);
  const version = (before?.version ?? 0) + 1;
  return [
    ...gone.map(({ link, identifier }) =>
      deletion(keys.accountCustomer(application, link.account, identifier)),
    ),
    ...absorbed.map((other) => aliasWrite(change, other, version)),
    ...claimsDifferences(change).map((one) => claimsWrite(application, one, claimsLimit, ending)),
    ...identities.map((identity) => identityWrite(change, identity, version)),
    ...recordWrites(change, audit),
    ...[...Map.groupBy(gone, ({ link }) => link.account)].flatMap(([account, left]) => {
      const customers = left.map(({ identifier }) => identifier);
      return looksAt(change, account, customers, version);
    }),
  ];
};

/**
 * A change's transactions, in the order to send them; most take one. Each writes the holdings of all purchases stored so
 * far, and repeating the request completes an interrupted change. A customer that moves leaves its old account first, and
 * is `unsettled` until the last transaction writes it into the new one: no Query finds it in both.
 *
 * @param ending accounts whose claims reach zero with the change
 * @param audit entry of an operator's change; unset: none, and moves are recorded as transfers
 */
export const transactionsOf = (
  change: CustomerChange,
  ending: ReadonlySet<AccountId>,
  audit?: Audited,
): Write[][] => {
  const { application, before, after, absorbed, purchases } = change;
  const gone = leaving(change);
  const moves = gone.length > 0 && after.link !== null;
  const around = [...writesAround(change, ending, audit), ...(moves ? [] : absorbedItems(change))];
  if (around.length > ROOM_PER_TRANSACTION)
    throw new RangeError("The change of one customer exceeds the items of one transaction.");

  let version = before?.version ?? 0;
  let written = 0;
  let held: readonly Purchase[] | null = null;
  const customer = (holdings: readonly Purchase[], unsettled: boolean): Write =>
    customerWrite(change, version++, holdings, unsettled);
  /** The customer's item in its account, and the look that sees it. */
  const inAccount = (holdings: readonly Purchase[]): Write[] => {
    const customers = [after.identifier, ...absorbed.map(({ identifier }) => identifier)];
    return [...accountWrite(change, holdings), ...looksAt(change, after.link?.account, customers, version)];
  };
  const parts = partsWithin(purchases, [ROOM_PER_TRANSACTION], (one) => [itemsOf(one)], [around.length]);
  const steps = parts.map((part): Write[] => {
    const known = held;
    written += part.length;
    held = written === purchases.length ? after.holdings : change.holdingsWith(purchases.slice(0, written));
    const isKnown = known !== null && sameHoldings(known, held);
    const ofCustomer = isKnown
      ? [check(keys.customer(application, after.identifier), versionUnchanged(version))]
      : [customer(held, moves), ...(moves ? [] : inAccount(held))];
    return [
      ...ofCustomer,
      ...(known === null ? around : []),
      ...part.flatMap((purchase) => purchaseWrites(change, purchase)),
    ];
  });
  if (moves)
    steps.push([customer(after.holdings, false), ...inAccount(after.holdings), ...absorbedItems(change)]);
  return [...absorbedDeletions(application, gone), ...steps];
};

/** Implements `WriteCustomerChange`. */
export const writeCustomerChange = async (
  table: Table,
  change: CustomerChange,
  audit?: Audited,
): Promise<"written" | "conflict"> => {
  const ending = await countsThatEnd(table, change.application, claimsDifferences(change));
  for (const items of transactionsOf(change, ending, audit)) {
    const { outcome } = await transact(table, items);
    if (outcome === "conflict") return outcome;
  }
  return "written";
};
