import type { Audited } from "../../administration/acts/audit-entry.ts";
import type { CustomerChange, PurchaseWrite } from "../../customers/storing/customer-change.ts";
import type { Link, StoredCustomer, Transfer } from "../../customers/storing/records.ts";
import { epochSeconds } from "../../duration.ts";
import type { IdentityReference } from "../../entitlements/proven-purchase.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { AccountId, CustomerId } from "../../identifiers.ts";
import { askAttributes, askWrites } from "../queues/asks.ts";
import { auditWrite } from "../applications/audit-write.ts";
import { CLAIMS_PER_ACCOUNT } from "../../customers/storing/fact-store.ts";
import { claimsDifferences, claimsWrite } from "./claims.ts";
import {
  absent,
  revisionUnchanged,
  unowned,
  unownedOrErased,
  versionUnchanged,
  type Condition,
} from "../dynamodb/conditions.ts";
import {
  encodeHoldings,
  type accountCustomerItem,
  type customerItem,
  type identityItem,
  type purchaseItem,
  type transferItem,
} from "./items.ts";
import { TABLE } from "../dynamodb/key.ts";
import { keys, partitions } from "../keys.ts";
import { linesCodec } from "./lines.ts";
import { lookWrite } from "../telling/looks.ts";
import { renewalCodec } from "./renewals.ts";
import type { Attributes } from "../dynamodb/table.ts";
import { check, put, setAttributes, type TransactItem } from "../dynamodb/writes.ts";

/**
 * Lifetime of an absorbed customer's account item. Readers skip it; it stays for a Query that began before the merge
 * and has not reached the survivor's item yet.
 */
const ABSORBED_KEPT_SECONDS = 24 * 3600;

/** Customers of the change that are linked to a different account than the result. */
export const leaving = ({ before, absorbed, after }: CustomerChange): readonly StoredCustomer[] =>
  [...(before === null ? [] : [before]), ...absorbed].filter(
    ({ link }) => link !== null && link.account !== after.link?.account,
  );

/** Absorbed customers with items left in the survivor's account; readers skip these. */
const absorbedBeside = ({ before, absorbed, after }: CustomerChange): readonly CustomerId[] => {
  const account = after.link?.account;
  if (account === undefined) return [];
  const staying = absorbed.filter(({ link }) => link?.account === account);
  return [
    ...(before?.link?.account === account ? before.absorbed : []),
    ...staying.flatMap(({ identifier, absorbed }) => [identifier, ...absorbed]),
  ];
};

const transferOf = ({ moment }: CustomerChange, customer: CustomerId, link: Link | null): Transfer => ({
  customer,
  moment,
  because: link?.assertedBy === "client" ? "claim-gave-way" : "policy",
});

/** Owner attribute: the customer's partition, under which the index lists the item. */
type Owned = Readonly<Record<typeof TABLE.ownerAttribute, string>>;

/** The customer's version after the first of the change's transactions, which writes identities and aliases. */
export const firstVersion = ({ before }: CustomerChange): number => (before?.version ?? 0) + 1;

/** A customer as one of a change's transactions writes it. */
export interface WrittenCustomer {
  readonly holdings: readonly Purchase[];
  /** Version before the transaction; 0: the customer is new. */
  readonly from: number;
  readonly to: number;
  /** Whether a later transaction links it to its new account. */
  readonly unsettled: boolean;
}

export const customerWrite = (
  table: string,
  change: CustomerChange,
  { holdings, from, to, unsettled }: WrittenCustomer,
): TransactItem => {
  const { application, after } = change;
  return setAttributes(
    table,
    keys.customer(application, after.identifier),
    {
      customer: after.identifier,
      environment: after.environment,
      createdAt: after.createdAt,
      version: to,
      link: after.link,
      holdings: encodeHoldings(holdings),
      hasPurchased: after.hasPurchased,
      absorbed: absorbedBeside(change),
      unsettled,
      aliasOf: null,
    } satisfies Attributes<typeof customerItem>,
    from === 0 ? absent : versionUnchanged(from),
  );
};

/** Checks that the customer is unchanged since the previous transaction. */
export const unmoved = (
  table: string,
  { application, after }: CustomerChange,
  version: number,
): TransactItem => check(table, keys.customer(application, after.identifier), versionUnchanged(version));

export const accountWrite = (
  table: string,
  change: CustomerChange,
  holdings: readonly Purchase[],
): TransactItem[] => {
  const { application, after } = change;
  if (after.link === null) return [];
  return [
    setAttributes(table, keys.accountCustomer(application, after.link.account, after.identifier), {
      customer: after.identifier,
      holdings: encodeHoldings(holdings),
      assertedBy: after.link.assertedBy,
      absorbed: absorbedBeside(change),
    } satisfies Attributes<typeof accountCustomerItem>),
  ];
};

export const aliasWrite = (
  table: string,
  change: CustomerChange,
  { identifier, version }: StoredCustomer,
): TransactItem => {
  const { application, after } = change;
  return setAttributes(
    table,
    keys.customer(application, identifier),
    {
      version: version + 1,
      link: null,
      holdings: encodeHoldings([]),
      absorbed: [],
      unsettled: false,
      aliasOf: after.identifier,
      survivorVersion: firstVersion(change),
      [TABLE.ownerAttribute]: partitions.customer(application, after.identifier),
    } satisfies Partial<Attributes<typeof customerItem>> & Owned,
    versionUnchanged(version),
  );
};

/**
 * Expires absorbed customers' account items instead of deleting them: a Query may see one before the survivor's item
 * that lists it. Written together with that item, never before.
 */
export const absorbedItems = (
  table: string,
  { application, after, absorbed, moment }: CustomerChange,
): TransactItem[] =>
  absorbed.flatMap(({ identifier, link, unsettled }) =>
    link === null || link.account !== after.link?.account || unsettled
      ? []
      : [
          setAttributes(table, keys.accountCustomer(application, link.account, identifier), {
            [TABLE.timeToLiveAttribute]: epochSeconds(moment) + ABSORBED_KEPT_SECONDS,
          }),
        ],
  );

export const claimsWrites = (
  table: string,
  change: CustomerChange,
  ending: ReadonlySet<AccountId>,
): TransactItem[] =>
  claimsDifferences(change).map((difference) =>
    claimsWrite(table, change.application, difference, {
      limit: change.claimsLimit ?? CLAIMS_PER_ACCOUNT,
      ends: ending.has(difference.account),
    }),
  );

const free = ({ moment, liftsErasures }: CustomerChange): Condition =>
  liftsErasures ? unownedOrErased : unowned(moment);

export const identityWrite = (
  table: string,
  change: CustomerChange,
  identity: IdentityReference,
): TransactItem => {
  const { application, after } = change;
  const attributes = {
    customer: after.identifier,
    customerVersion: firstVersion(change),
    [TABLE.ownerAttribute]: partitions.customer(application, after.identifier),
  } satisfies Attributes<typeof identityItem> & Owned;
  return put(table, keys.identity(application, identity), attributes, free(change));
};

const purchaseWrite = (
  table: string,
  change: CustomerChange,
  { purchase, revision, acknowledgement, ask, bundleOrPackage }: PurchaseWrite,
): TransactItem => {
  const { application, after } = change;
  const key = keys.purchase(application, purchase);
  const { renewal, ...facts } = purchase;
  const attributes = {
    customer: after.identifier,
    [TABLE.ownerAttribute]: partitions.customer(application, after.identifier),
    revision: revision + 1,
    ...facts,
    lines: linesCodec.encode(facts.lines),
    ...(renewal !== null && { renewal: renewalCodec.encode(renewal) }),
    ...(bundleOrPackage !== null && { bundleOrPackage }),
  } satisfies Attributes<typeof purchaseItem> & Owned;
  if (revision === 0) {
    const due = {
      ...(acknowledgement !== null && { acknowledgement }),
      ...(ask !== null && askAttributes(ask)),
    };
    return put(table, key, { ...attributes, ...due }, free(change));
  }
  const due = { acknowledgement: acknowledgement ?? undefined, ...askAttributes(ask) };
  return setAttributes(table, key, { ...attributes, ...due }, revisionUnchanged(revision));
};

/** Items for a purchase and its place in the queue. */
export const purchaseWrites = (
  table: string,
  change: CustomerChange,
  written: PurchaseWrite,
): TransactItem[] => {
  const { purchase, ask, acknowledgement, bundleOrPackage, move } = written;
  if (move === null || bundleOrPackage === null) return [purchaseWrite(table, change, written)];
  const { from, source } = move;
  const to = ask === null || source === null ? null : { ask, source, acknowledgement };
  return [
    purchaseWrite(table, change, written),
    ...askWrites(table, change.application, purchase, bundleOrPackage, { from, to }),
  ];
};

/** Makes an account that a transaction writes to due for a look, if the application tells changes. */
export const looksAt = (
  table: string,
  { application, after, moment, tellsChanges }: CustomerChange,
  account: AccountId | undefined,
  customers: readonly CustomerId[],
  version: number,
): TransactItem[] =>
  tellsChanges && account !== undefined
    ? [
        lookWrite(table, application, {
          account,
          dueAt: moment,
          cause: { customer: after.identifier, version, customers, erased: false },
        }),
      ]
    : [];

/** Records an operator's change in the audit, and a move by a link in the transfers. */
export const recordWrites = (
  table: string,
  change: CustomerChange,
  audit: Audited | undefined,
): TransactItem[] =>
  audit !== undefined
    ? [auditWrite(table, change.application, audit)]
    : leaving(change).map(({ identifier, link }) =>
        put(
          table,
          keys.transfer(change.application, change.moment, identifier),
          transferOf(change, identifier, link) satisfies Attributes<typeof transferItem>,
        ),
      );
