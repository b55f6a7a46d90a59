import type { Audited } from "../administration/audit-entry.ts";
import type { CustomerChange, PurchaseWrite } from "../customers/customer-change.ts";
import { CLAIMS_PER_ACCOUNT } from "../customers/fact-store.ts";
import type { Link, StoredCustomer, Transfer } from "../customers/records.ts";
import { epochSeconds } from "../duration.ts";
import { sameHoldings } from "../entitlements/holdings.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import { auditWrite } from "./audit-write.ts";
import { chunks } from "./chunks.ts";
import { claimsWrite, countsThatEnd, type ClaimsDifference } from "./claims.ts";
import {
  absent,
  revisionUnchanged,
  unowned,
  unownedOrErased,
  versionUnchanged,
  type Condition,
} from "./conditions.ts";
import {
  accountCustomerItem,
  acknowledgementItem,
  claimsCounter,
  customerItem,
  encodeHoldings,
  identityItem,
  purchaseItem,
  transferItem,
} from "./items.ts";
import { acknowledgementKey, customerPartition, keys, TABLE, transferKey } from "./keys.ts";
import { encodeLines } from "./lines.ts";
import { lookWrite } from "./looks.ts";
import { refreshWrites } from "./refreshes.ts";
import { encodeRenewal } from "./renewals.ts";
import type { Attributes, Table, TimeToLive } from "./table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "./transactions.ts";
import { check, deletion, put, setAttributes, type TransactItem } from "./writes.ts";

/**
 * Lifetime of an absorbed customer's account item. Readers skip it; it stays for a Query that began before the merge
 * and has not reached the survivor's item yet.
 */
const ABSORBED_KEPT_SECONDS = 24 * 3600;

/** What a write takes beside its change. */
export interface WriteTerms {
  /** Unset: {@link CLAIMS_PER_ACCOUNT}. */
  readonly claimsPerAccount?: number;
  /** Audit entry of an operator's change; unset: none, and moves are recorded as transfers. */
  readonly audit?: Audited;
}

/** Customers of the change that are linked to a different account than the result. */
const leaving = ({ before, absorbed, after }: CustomerChange): readonly StoredCustomer[] =>
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
const firstVersion = ({ before }: CustomerChange): number => (before?.version ?? 0) + 1;

/** A customer as one of a change's transactions writes it. */
interface WrittenCustomer {
  readonly holdings: readonly Purchase[];
  /** Version before the transaction; 0: the customer is new. */
  readonly from: number;
  readonly to: number;
  /** Whether a later transaction links it to its new account. */
  readonly unsettled: boolean;
}

const customerWrite = (
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
const unmoved = (table: string, { application, after }: CustomerChange, version: number): TransactItem =>
  check(table, keys.customer(application, after.identifier), versionUnchanged(version));

const accountWrite = (
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

const aliasWrite = (
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
      holdings: [],
      absorbed: [],
      unsettled: false,
      aliasOf: after.identifier,
      survivorVersion: firstVersion(change),
      [TABLE.ownerAttribute]: customerPartition(application, after.identifier),
    } satisfies Partial<Attributes<typeof customerItem>> & Owned,
    versionUnchanged(version),
  );
};

/**
 * Expires absorbed customers' account items instead of deleting them: a Query may see one before the survivor's item
 * that lists it. Written together with that item, never before.
 */
const absorbedItems = (
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

/** The claims counter that a customer's link counts in; null without a link, or for a credential's. */
export const claimOf = (
  customer: { link: Link | null; environment: StoredCustomer["environment"] } | null,
) =>
  customer?.link?.assertedBy === "client"
    ? { account: customer.link.account, counter: claimsCounter(customer.environment) }
    : null;

const claimsDifferences = ({ before, absorbed, after }: CustomerChange): readonly ClaimsDifference[] => {
  const differences = new Map<string, ClaimsDifference>();
  const count = (claim: ReturnType<typeof claimOf>, by: number): void => {
    if (claim === null) return;
    const name = JSON.stringify([claim.account, claim.counter]);
    differences.set(name, { ...claim, by: (differences.get(name)?.by ?? 0) + by });
  };
  for (const customer of [before, ...absorbed]) count(claimOf(customer), -1);
  count(claimOf(after), 1);
  return [...differences.values()].filter(({ by }) => by !== 0);
};

const claimsWrites = (
  table: string,
  change: CustomerChange,
  claimsPerAccount: number,
  ending: ReadonlySet<AccountId>,
): TransactItem[] =>
  claimsDifferences(change).map((difference) =>
    claimsWrite(table, change.application, difference, {
      limit: change.claimsPerAccount,
      ends: ending.has(difference.account),
    }),
  );

const free = ({ moment, liftsErasures }: CustomerChange): Condition =>
  liftsErasures ? unownedOrErased : unowned(moment);

const identityWrite = (table: string, change: CustomerChange, identity: IdentityReference): TransactItem => {
  const { application, after } = change;
  const attributes = {
    customer: after.identifier,
    customerVersion: firstVersion(change),
    [TABLE.ownerAttribute]: customerPartition(application, after.identifier),
  } satisfies Attributes<typeof identityItem> & Owned;
  return put(table, keys.identity(application, identity), attributes, free(change));
};

const purchaseWrite = (
  table: string,
  change: CustomerChange,
  { purchase, revision, acknowledgementDueSince, refreshAt, bundleIdentifier }: PurchaseWrite,
): TransactItem => {
  const { application, after } = change;
  const key = keys.purchase(application, purchase);
  const { renewal, ...facts } = purchase;
  const attributes = {
    customer: after.identifier,
    [TABLE.ownerAttribute]: customerPartition(application, after.identifier),
    revision: revision + 1,
    ...facts,
    lines: encodeLines(facts.lines),
    ...(renewal !== null && { renewal: encodeRenewal(renewal) }),
    ...(bundleIdentifier !== null && { bundleIdentifier }),
  } satisfies Attributes<typeof purchaseItem> & Owned;
  if (revision === 0) {
    const due = {
      ...(acknowledgementDueSince !== null && { acknowledgementDueSince }),
      ...(refreshAt !== null && { refreshAt }),
    };
    return put(table, key, { ...attributes, ...due }, free(change));
  }
  return setAttributes(
    table,
    key,
    {
      ...attributes,
      acknowledgementDueSince: acknowledgementDueSince ?? undefined,
      refreshAt: refreshAt ?? undefined,
    },
    revisionUnchanged(revision),
  );
};

/** Items for a purchase and its refresh. */
const purchaseWrites = (table: string, change: CustomerChange, written: PurchaseWrite): TransactItem[] => [
  purchaseWrite(table, change, written),
  ...(written.refresh === null
    ? []
    : refreshWrites(table, change.application, written.purchase, written.refresh)),
];

/** Makes an account that a transaction writes to due for a look, if the application tells changes. */
const looksAt = (
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

/** Items for one purchase: the purchase, and its old and new refresh. */
const itemsOf = ({ refresh }: PurchaseWrite): number =>
  1 + (refresh === null ? 0 : Number(refresh.from !== null) + Number(refresh.to !== null));

/** Divides purchases into parts whose items fit: `firstRoom` for the first part, `room` for each other one. */
const inParts = (
  purchases: readonly PurchaseWrite[],
  firstRoom: number,
  room: number,
): readonly (readonly PurchaseWrite[])[] => {
  const parts: PurchaseWrite[][] = [[]];
  let left = firstRoom;
  for (const purchase of purchases) {
    if (itemsOf(purchase) > left) {
      parts.push([]);
      left = room;
    }
    left -= itemsOf(purchase);
    parts.at(-1)?.push(purchase);
  }
  return parts;
};

const KEPT_AFTER_DEADLINE_SECONDS = 30 * 24 * 3600;

const acknowledgementWrites = (
  table: string,
  { application, acknowledgements: { due, done } }: CustomerChange,
): TransactItem[] => [
  ...due.map(({ purchase, ...acknowledgement }) =>
    put(table, acknowledgementKey(application, purchase, acknowledgement.dueSince), {
      ...acknowledgement,
      // No other store has its purchases acknowledged.
      store: "android-store",
      environment: purchase.environment,
      key: purchase.key,
      // The token expires even if nobody ever runs the queue.
      [TABLE.timeToLiveAttribute]: epochSeconds(acknowledgement.deadline) + KEPT_AFTER_DEADLINE_SECONDS,
    } satisfies Attributes<typeof acknowledgementItem> & TimeToLive),
  ),
  ...done.map(({ purchase, dueSince }) =>
    deletion(table, acknowledgementKey(application, purchase, dueSince)),
  ),
];

/** Records an operator's change in the audit, and a move by a link in the transfers. */
const recordWrites = (table: string, change: CustomerChange, audit: Audited | undefined): TransactItem[] =>
  audit !== undefined
    ? [auditWrite(table, change.application, audit)]
    : leaving(change).map(({ identifier, link }) =>
        put(
          table,
          transferKey(change.application, change.moment, identifier),
          transferOf(change, identifier, link) satisfies Attributes<typeof transferItem>,
        ),
      );

/**
 * Deletes absorbed customers' items from an account before the customer that lists them leaves it: without the list,
 * readers would count them. Safe to interrupt: readers skip listed ones.
 */
export const absorbedDeletions = (
  table: string,
  application: ApplicationId,
  customers: readonly StoredCustomer[],
): TransactItem[][] =>
  chunks(
    customers.flatMap(({ link, absorbed }) =>
      link === null
        ? []
        : absorbed.map((customer) =>
            deletion(table, keys.accountCustomer(application, link.account, customer)),
          ),
    ),
    ITEMS_PER_TRANSACTION,
  );

/** The customer, its account item and the look at the account take three places in each transaction. */
const ROOM_PER_TRANSACTION = ITEMS_PER_TRANSACTION - 3;

/**
 * A change's transactions, in the order to send them. Most changes take one. A larger one starts with the customer, its
 * link, its identities and as many purchases as fit, and continues with the other purchases. Each transaction writes
 * the holdings of all purchases stored so far, so that the holdings never lag behind if the change is interrupted;
 * repeating the request completes it.
 *
 * A change that moves a customer removes it from the old account first, and writes its item in the new one in a last
 * transaction, so that no two Queries find it in both accounts. Until then it is `unsettled`.
 *
 * @param ending accounts whose claims reach zero with the change
 */
export const transactionsOf = (
  table: string,
  change: CustomerChange,
  ending: ReadonlySet<AccountId>,
  { claimsPerAccount = CLAIMS_PER_ACCOUNT, audit }: WriteTerms = {},
): TransactItem[][] => {
  const { application, before, after, absorbed, identities, purchases } = change;
  const gone = leaving(change);
  const moves = gone.length > 0 && after.link !== null;
  const around = [
    ...gone.flatMap(({ link, identifier }) =>
      link === null ? [] : [deletion(table, keys.accountCustomer(application, link.account, identifier))],
    ),
    ...absorbed.map((other) => aliasWrite(table, change, other)),
    ...claimsWrites(table, change, claimsPerAccount, ending),
    ...identities.map((identity) => identityWrite(table, change, identity)),
    ...acknowledgementWrites(table, change),
    ...recordWrites(table, change, audit),
    ...[...Map.groupBy(gone, ({ link }) => link?.account)].flatMap(([account, left]) =>
      looksAt(
        table,
        change,
        account,
        left.map(({ identifier }) => identifier),
        firstVersion(change),
      ),
    ),
    ...(moves ? [] : absorbedItems(table, change)),
  ];
  const room = ROOM_PER_TRANSACTION - around.length;
  if (room < 0) throw new RangeError("The change of one customer exceeds the items of one transaction.");
  const parts = inParts(purchases, room, ROOM_PER_TRANSACTION);

  let version = before?.version ?? 0;
  let written = 0;
  let held: readonly Purchase[] | null = null;
  const customer = (written: Pick<WrittenCustomer, "holdings" | "unsettled">): TransactItem =>
    customerWrite(table, change, { ...written, from: version, to: ++version });
  const staying = (): TransactItem[] =>
    looksAt(
      table,
      change,
      after.link?.account,
      [after.identifier, ...absorbed.map(({ identifier }) => identifier)],
      version,
    );
  const holdingsAfter = (part: readonly PurchaseWrite[]): readonly Purchase[] => {
    written += part.length;
    return written === purchases.length ? after.holdings : change.holdingsWith(purchases.slice(0, written));
  };
  const steps = parts.map((part): TransactItem[] => {
    const known = held;
    held = holdingsAfter(part);
    const isKnown = known !== null && sameHoldings(known, held);
    return [
      ...(isKnown
        ? [unmoved(table, change, version)]
        : [
            customer({ holdings: held, unsettled: moves }),
            ...(moves ? [] : [...accountWrite(table, change, held), ...staying()]),
          ]),
      ...(known === null ? around : []),
      ...part.flatMap((purchase) => purchaseWrites(table, change, purchase)),
    ];
  });
  if (moves)
    steps.push([
      customer({ holdings: after.holdings, unsettled: false }),
      ...accountWrite(table, change, after.holdings),
      ...staying(),
      ...absorbedItems(table, change),
    ]);
  return [...absorbedDeletions(table, application, gone), ...steps];
};

/** Implements `WriteCustomerChange`. */
export const writeCustomerChange = async (
  table: Table,
  change: CustomerChange,
  terms: WriteTerms = {},
): Promise<"written" | "conflict"> => {
  const ending = await countsThatEnd(table, change.application, claimsDifferences(change));
  for (const items of transactionsOf(table.name, change, ending, terms)) {
    const { outcome } = await transact(table, items);
    if (outcome === "conflict") return outcome;
  }
  return "written";
};
