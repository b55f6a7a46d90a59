import { paginateQuery, TransactGetCommand } from "@aws-sdk/lib-dynamodb";
import { referenceText, type Purchase, type PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Environment } from "../contract/schemas.ts";
import type { AssertedBy } from "../entitlements/entitlements.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import {
  accountClaimsItem,
  accountCustomerItem,
  claimsCounter,
  customerItem,
  decodeHoldings,
  identityItem,
  purchaseItem,
  tombstone,
} from "./items.ts";
import { createBatchReader, eachKeyOnce } from "./batch-reader.ts";
import { chunks } from "./chunks.ts";
import { ACCOUNT_CUSTOMERS, accountPartition, keys, keyText, type Key } from "./keys.ts";
import { decodeLines } from "./lines.ts";
import type { StoredCustomer, StoredPurchase } from "./records.ts";
import { parseItem, type Item, type Table } from "./table.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "./transactions.ts";

/** Who is known by a request's identities and purchases. */
export interface KnownFacts {
  /** The customer of each identity asked for, in the order asked; null: unknown. */
  readonly identities: readonly (CustomerId | null)[];
  /** By {@link referenceText}. */
  readonly purchases: ReadonlyMap<string, StoredPurchase>;
  /** Those, by {@link referenceText}, that belonged to a customer who was erased, and whose erasure still blocks them. */
  readonly erasedPurchases: ReadonlySet<string>;
  /** Whether an erasure still blocks one of the identities. */
  readonly erasedIdentity: boolean;
}

/** A customer and its holdings, as an account's read finds them. */
export interface AccountCustomer {
  readonly customer: CustomerId;
  readonly holdings: readonly Purchase[];
  readonly assertedBy: AssertedBy;
}

/**
 * Whom identifiers of customers lead to, aliases followed. One that is in neither map leads to a survivor whose item does
 * not show the merge yet, though it was read again and again.
 */
export interface FoundCustomers {
  /** By each identifier asked for: the customer that it leads to. Those that lead to one customer share its record. */
  readonly living: ReadonlyMap<CustomerId, StoredCustomer>;
  /** By each identifier that leads to nobody: the identifier at which its aliases end. */
  readonly gone: ReadonlyMap<CustomerId, CustomerId>;
}

/** Identities and purchases that belonged to nobody when they were read. */
export interface Unowned {
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly PurchaseReference[];
}

/** Each customer once, however many identifiers lead to it. */
export const eachOnce = (living: FoundCustomers["living"]): readonly StoredCustomer[] => [
  ...new Set(living.values()),
];

/** Customers and what they own: read here by key, written by `writeCustomerChange`. */
export interface CustomerTable {
  /** One strongly consistent read, in parallel batches of 100 keys. */
  findFacts(
    application: ApplicationId,
    identities: readonly IdentityReference[],
    purchases: readonly PurchaseReference[],
    moment: Instant,
  ): Promise<KnownFacts>;
  /**
   * One strongly consistent read of all of them together, and one more for each step of an alias. A batch of reads is no
   * snapshot: a survivor that an alias has seen in a later version is read again.
   */
  findCustomers(application: ApplicationId, identifiers: Iterable<CustomerId>): Promise<FoundCustomers>;
  /**
   * Whether customers are as they were read, and what was nobody's still is, once every transaction is seen whole of which
   * those reads have seen a part: one TransactGetItems for every hundred, or more where customers are large.
   */
  areUnchanged(
    application: ApplicationId,
    customers: readonly StoredCustomer[],
    unowned: Unowned,
  ): Promise<boolean>;
  /**
   * The customers linked to an account, in order of identifier: one strongly consistent Query. A Query is no snapshot:
   * while two customers merge it may see either or both, so those that another lists as absorbed are left out.
   */
  findAccount(application: ApplicationId, account: AccountId): Promise<readonly AccountCustomer[]>;
  /** Customers of an account that clients alone have claimed, counted with those of the environment. One read. */
  countClaims(application: ApplicationId, account: AccountId, environment: Environment): Promise<number>;
}

export const storedPurchase = (item: Item): StoredPurchase => {
  const parsed = parseItem(purchaseItem, item);
  const { customer, revision, acknowledgementDueSince = null, lines, ...purchase } = parsed;
  return {
    purchase: { ...purchase, lines: decodeLines(lines) },
    customer,
    revision,
    acknowledgementDueSince,
  };
};

export const storedCustomer = (item: Item): StoredCustomer => {
  const { customer: identifier, holdings, survivorVersion = 0, ...customer } = parseItem(customerItem, item);
  return { identifier, ...customer, survivorVersion, holdings: decodeHoldings(holdings) };
};

/** The customers of an account without those that another has absorbed. */
const accountCustomers = (items: readonly Item[]): readonly AccountCustomer[] => {
  const parsed = items.map((item) => parseItem(accountCustomerItem, item));
  const absorbed = new Set(parsed.flatMap((customer) => customer.absorbed));
  return parsed
    .filter(({ customer }) => !absorbed.has(customer))
    .map(({ customer, holdings, assertedBy }) => ({
      customer,
      holdings: decodeHoldings(holdings),
      assertedBy,
    }));
};

const isTombstone = (item: Item): boolean => "erasedUntil" in item;

type ReadCustomers = ReadonlyMap<CustomerId, StoredCustomer | null>;

/** Reads of a survivor that does not show a merge which its alias shows: the transaction is being applied. */
const MERGE_ATTEMPTS = 5;

/** A transaction reads at most 4 MB. Items are smaller than their customers as JSON. */
const BYTES_PER_TRANSACTION = 3_000_000;

const inTransactions = (customers: readonly StoredCustomer[]): readonly (readonly StoredCustomer[])[] => {
  const groups: StoredCustomer[][] = [];
  let bytes = Infinity;
  for (const customer of customers) {
    const size = Buffer.byteLength(JSON.stringify(customer));
    bytes += size;
    if (bytes > BYTES_PER_TRANSACTION || groups.at(-1)?.length === ITEMS_PER_TRANSACTION) {
      groups.push([]);
      bytes = size;
    }
    groups.at(-1)?.push(customer);
  }
  return groups;
};

const isBehind = (
  { survivorVersion }: StoredCustomer,
  survivor: StoredCustomer | null | undefined,
): boolean => survivor != null && survivor.version < survivorVersion;

const survivorsBehind = (read: ReadCustomers): ReadonlySet<CustomerId> =>
  new Set(
    [...read.values()].flatMap((customer) =>
      customer?.aliasOf != null && isBehind(customer, read.get(customer.aliasOf)) ? [customer.aliasOf] : [],
    ),
  );

/** Follows aliases among what was read. */
const ends = (asked: Iterable<CustomerId>, read: ReadCustomers): FoundCustomers => {
  const living = new Map<CustomerId, StoredCustomer>();
  const gone = new Map<CustomerId, CustomerId>();
  const follow = (from: CustomerId, identifier: CustomerId): void => {
    const customer = read.get(identifier);
    if (customer == null) gone.set(from, identifier);
    else if (customer.aliasOf === null) living.set(from, customer);
    else if (!isBehind(customer, read.get(customer.aliasOf))) follow(from, customer.aliasOf);
  };
  for (const identifier of asked) follow(identifier, identifier);
  return { living, gone };
};

export const createCustomerTable = (
  table: Table,
  pause: (attempt: number) => Promise<void>,
): CustomerTable => {
  const { client, name } = table;
  const getAll = createBatchReader(table, pause);

  /** Reads customers, and all that their aliases lead to, into the map; null: there is no such item. */
  const readCustomers = async (
    application: ApplicationId,
    identifiers: Iterable<CustomerId>,
    read: Map<CustomerId, StoredCustomer | null>,
  ): Promise<void> => {
    for (let wanted = [...identifiers]; wanted.length > 0;) {
      const found = await getAll(wanted.map((identifier) => keys.customer(application, identifier)));
      const customers = wanted.map((identifier) => {
        const item = found.get(keyText(keys.customer(application, identifier)));
        return [identifier, item === undefined ? null : storedCustomer(item)] as const;
      });
      for (const [identifier, customer] of customers) read.set(identifier, customer);
      const next = customers.flatMap(([, customer]) => customer?.aliasOf ?? []);
      wanted = [...new Set(next)].filter((identifier) => !read.has(identifier));
    }
  };

  return {
    findFacts: async (application, identities, purchases, moment) => {
      const identityKeys = identities.map((identity) => keys.identity(application, identity));
      const purchaseKeys = purchases.map((purchase) => keys.purchase(application, purchase));
      const found = await getAll([...identityKeys, ...purchaseKeys]);
      const isErased = (key: Key): boolean => {
        const item = found.get(keyText(key));
        return item !== undefined && isTombstone(item) && parseItem(tombstone, item).erasedUntil > moment;
      };
      const living = (key: Key): Item | undefined => {
        const item = found.get(keyText(key));
        return item !== undefined && isTombstone(item) ? undefined : item;
      };
      return {
        erasedPurchases: new Set(
          purchases.filter((purchase) => isErased(keys.purchase(application, purchase))).map(referenceText),
        ),
        erasedIdentity: identityKeys.some(isErased),
        identities: identityKeys.map((key) => {
          const item = living(key);
          return item === undefined ? null : parseItem(identityItem, item).customer;
        }),
        purchases: new Map(
          purchaseKeys.flatMap((key) => {
            const item = living(key);
            if (item === undefined) return [];
            const stored = storedPurchase(item);
            return [[referenceText(stored.purchase), stored]];
          }),
        ),
      };
    },

    findCustomers: async (application, identifiers) => {
      const asked = new Set(identifiers);
      const read = new Map<CustomerId, StoredCustomer | null>();
      await readCustomers(application, asked, read);
      for (let attempt = 2; attempt <= MERGE_ATTEMPTS; attempt += 1) {
        const late = survivorsBehind(read);
        if (late.size === 0) break;
        await pause(attempt);
        await readCustomers(application, late, read);
      }
      return ends(asked, read);
    },

    areUnchanged: async (application, customers, { identities, purchases }) => {
      const asRead = inTransactions(customers).map((some) =>
        some.map(({ identifier, version }) => ({
          key: keys.customer(application, identifier),
          isAsRead: (item: Item | undefined) => item?.["version"] === version,
        })),
      );
      const nobodys = eachKeyOnce([
        ...identities.map((identity) => keys.identity(application, identity)),
        ...purchases.map((purchase) => keys.purchase(application, purchase)),
      ]).map((key) => ({
        key,
        isAsRead: (item: Item | undefined) => item === undefined || isTombstone(item),
      }));

      const groups = [...asRead, ...chunks(nobodys, ITEMS_PER_TRANSACTION)];
      const checked = await Promise.all(
        groups.map(async (group): Promise<boolean> => {
          const TransactItems = group.map(({ key }) => ({
            Get: {
              TableName: name,
              Key: { ...key },
              ProjectionExpression: "pk, version, erasedUntil",
            },
          }));
          try {
            const { Responses = [] } = await client.send(new TransactGetCommand({ TransactItems }));
            return group.every(({ isAsRead }, index) => isAsRead(Responses[index]?.Item));
          } catch (error) {
            if (isConflict(error)) return false;
            throw error;
          }
        }),
      );
      return checked.every((isAsRead) => isAsRead);
    },

    findAccount: async (application, account) => {
      const items: Item[] = [];
      const pages = paginateQuery(
        { client },
        {
          TableName: name,
          KeyConditionExpression: "pk = :pk AND begins_with(sk, :customers)",
          ExpressionAttributeValues: {
            ":pk": accountPartition(application, account),
            ":customers": ACCOUNT_CUSTOMERS,
          },
          ConsistentRead: true,
        },
      );
      for await (const page of pages) items.push(...(page.Items ?? []));
      return accountCustomers(items);
    },

    countClaims: async (application, account, environment) => {
      const found = await getAll([keys.accountClaims(application, account)]);
      const [item] = found.values();
      return (item && parseItem(accountClaimsItem, item)[claimsCounter(environment)]) ?? 0;
    },
  };
};
