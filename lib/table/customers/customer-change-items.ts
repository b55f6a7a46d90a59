import type { Audited } from "../../administration/acts/audit.ts";
import {
  type CustomerChange,
  type PurchaseWrite,
  CLAIMS_PER_ACCOUNT,
} from "../../customers/storing/fact-store.ts";
import type { Link, StoredCustomer, Transfer } from "../../customers/storing/records.ts";
import { DAY } from "../../duration.ts";
import type { IdentityReference, Purchase } from "../../entitlements/purchase.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { auditWrites } from "../applications/audit.ts";
import {
  absent,
  revisionUnchanged,
  unowned,
  unownedOrErased,
  versionUnchanged,
  type Condition,
} from "../dynamodb/conditions.ts";
import { keys, partitions, TABLE } from "../keys.ts";
import { expiry, type Attributes } from "../dynamodb/table.ts";
import { check, put, update, type Write } from "../dynamodb/writes.ts";
import { askAttributes, askWrites } from "../queues/asks.ts";
import { lookWrite } from "../telling/change-items.ts";
import { claimsDifferences, claimsWrite } from "./claims.ts";
import {
  encodeHoldings,
  linesCodec,
  renewalCodec,
  type accountCustomerItem,
  type customerItem,
  type identityItem,
  type purchaseItem,
  type transferItem,
} from "./items.ts";

/** Lifetime of an absorbed customer's account item, for a Query that began before the merge. Readers skip it. */
const ABSORBED_KEPT_MILLISECONDS = DAY;

/** Customers of the change that are linked to a different account than the result. */
export const leaving = ({ before, absorbed, after }: CustomerChange): readonly StoredCustomer[] =>
  [...(before === null ? [] : [before]), ...absorbed].filter(
    ({ link }) => link !== null && link.account !== after.link?.account,
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

const transferOf = ({ moment }: CustomerChange, customer: CustomerId, link: Link | null): Transfer => ({
  customer,
  moment,
  because: link?.assertedBy === "client" ? "claim-gave-way" : "policy",
});

/** Owner attribute: the customer's partition, under which the index lists the item. */
const ownedBy = (
  application: ApplicationId,
  { identifier }: Pick<StoredCustomer, "identifier">,
): Readonly<Record<typeof TABLE.ownerAttribute, string>> => ({
  [TABLE.ownerAttribute]: partitions.customer(application, identifier),
});

/** The customer's version after the first of the change's transactions, which writes identities and aliases. */
export const firstVersion = ({ before }: CustomerChange): number => (before?.version ?? 0) + 1;

/** A customer as one of a change's transactions writes it. */
interface WrittenCustomer {
  readonly holdings: readonly Purchase[];
  /** Version before the transaction; 0: the customer is new. */
  readonly from: number;
  readonly to: number;
  /** Whether a later transaction links it to its new account. */
  readonly unsettled: boolean;
}

export const customerWrite = (
  change: CustomerChange,
  { holdings, from, to, unsettled }: WrittenCustomer,
): Write => {
  const { identifier, environment, createdAt, link, hasPurchased } = change.after;
  return update(
    keys.customer(change.application, identifier),
    {
      customer: identifier,
      environment,
      createdAt,
      version: to,
      link,
      holdings: encodeHoldings(holdings),
      hasPurchased,
      absorbed: absorbedBeside(change),
      unsettled,
      aliasOf: null,
    } satisfies Attributes<typeof customerItem>,
    from === 0 ? absent : versionUnchanged(from),
  );
};

/** Checks that the customer is unchanged since the previous transaction. */
export const unmoved = ({ application, after }: CustomerChange, version: number): Write =>
  check(keys.customer(application, after.identifier), versionUnchanged(version));

export const accountWrite = (change: CustomerChange, holdings: readonly Purchase[]): Write[] => {
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

export const aliasWrite = (change: CustomerChange, { identifier, version }: StoredCustomer): Write => {
  const { application, after } = change;
  const attributes = {
    version: version + 1,
    link: null,
    holdings: encodeHoldings([]),
    absorbed: [],
    unsettled: false,
    aliasOf: after.identifier,
    survivorVersion: firstVersion(change),
    ...ownedBy(application, after),
  } satisfies Partial<Attributes<typeof customerItem>>;
  return update(keys.customer(application, identifier), attributes, versionUnchanged(version));
};

/** Expires absorbed customers' account items. Written together with the survivor's item that lists them, never before. */
export const absorbedItems = ({ application, after, absorbed, moment }: CustomerChange): Write[] =>
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

export const claimsWrites = (change: CustomerChange, ending: ReadonlySet<AccountId>): Write[] =>
  claimsDifferences(change).map((difference) =>
    claimsWrite(change.application, difference, change.claimsLimit ?? CLAIMS_PER_ACCOUNT, ending),
  );

const free = ({ moment, liftsErasures }: CustomerChange): Condition =>
  liftsErasures ? unownedOrErased : unowned(moment);

export const identityWrite = (change: CustomerChange, identity: IdentityReference): Write => {
  const { application, after } = change;
  const attributes = {
    customer: after.identifier,
    customerVersion: firstVersion(change),
    ...ownedBy(application, after),
  } satisfies Attributes<typeof identityItem>;
  return put(keys.identity(application, identity), attributes, free(change));
};

const purchaseWrite = (
  change: CustomerChange,
  { purchase, revision, acknowledgement, ask, bundleOrPackage }: PurchaseWrite,
): Write => {
  const { application, after } = change;
  const key = keys.purchase(application, purchase);
  const { renewal, ...facts } = purchase;
  const attributes = {
    customer: after.identifier,
    ...ownedBy(application, after),
    revision: revision + 1,
    ...facts,
    lines: linesCodec.encode(facts.lines),
    ...(renewal !== null && { renewal: renewalCodec.encode(renewal) }),
    ...(bundleOrPackage !== null && { bundleOrPackage }),
  } satisfies Attributes<typeof purchaseItem>;
  if (revision === 0) {
    const due = {
      ...(acknowledgement !== null && { acknowledgement }),
      ...(ask !== null && askAttributes(ask)),
    };
    return put(key, { ...attributes, ...due }, free(change));
  }
  const due = { acknowledgement: acknowledgement ?? undefined, ...askAttributes(ask) };
  return update(key, { ...attributes, ...due }, revisionUnchanged(revision));
};

/** Items for a purchase and its place in the queue. */
export const purchaseWrites = (change: CustomerChange, written: PurchaseWrite): Write[] => {
  const { purchase, ask, acknowledgement, bundleOrPackage, move } = written;
  const stored = purchaseWrite(change, written);
  if (move === null || bundleOrPackage === null) return [stored];
  const { from, source } = move;
  const to = ask === null || source === null ? null : { ask, source, acknowledgement };
  return [stored, ...askWrites(change.application, purchase, bundleOrPackage, { from, to })];
};

/** Makes an account that a transaction writes to due for a look, if the application tells changes. */
export const looksAt = (
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
export const recordWrites = (change: CustomerChange, audit: Audited | undefined): Write[] =>
  audit !== undefined
    ? auditWrites(change.application, audit)
    : leaving(change).map(({ identifier, link }) =>
        put(
          keys.transfer(change.application, change.moment, identifier),
          transferOf(change, identifier, link) satisfies Attributes<typeof transferItem>,
        ),
      );
