import { pause as briefly } from "../../pause.ts";
import { TransactGetCommand } from "@aws-sdk/lib-dynamodb";
import type {
  AccountCustomer,
  CustomerTable,
  FoundCustomers,
} from "../../customers/storing/customer-table.ts";
import type { StoredCustomer, StoredPurchase } from "../../customers/storing/records.ts";
import { referenceText } from "../../entitlements/purchase.ts";
import type { ApplicationId, CustomerId } from "../../identifiers.ts";
import { createBatchReader, eachKeyOnce } from "../dynamodb/batch-reader.ts";
import { chunks } from "../../chunks.ts";
import {
  accountClaimsItem,
  accountCustomerItem,
  claimsCounter,
  customerItem,
  decodeHoldings,
  identityItem,
  purchaseItem,
  tombstoneItem,
} from "./items.ts";
import { type Key, keyText } from "../dynamodb/key.ts";
import { keys, partitions, prefixes } from "../keys.ts";
import { linesCodec } from "./lines.ts";
import { queryItems } from "../dynamodb/query.ts";
import { renewalCodec } from "./renewals.ts";
import { parseItem, type Item, type Table } from "../dynamodb/table.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "../dynamodb/transactions.ts";

export const storedPurchase = (item: Item): StoredPurchase => {
  const parsed = parseItem(purchaseItem, item);
  const {
    customer,
    revision,
    acknowledgement = null,
    askAt,
    askBecause,
    bundleOrPackage = null,
    lines,
    renewal,
    ...purchase
  } = parsed;
  return {
    purchase: {
      ...purchase,
      lines: linesCodec.decode(lines),
      renewal: renewal === undefined ? null : renewalCodec.decode(renewal),
    },
    customer,
    revision,
    acknowledgement,
    ask: askAt === undefined || askBecause === undefined ? null : { at: askAt, because: askBecause },
    bundleOrPackage,
  };
};

export const storedCustomer = (item: Item): StoredCustomer => {
  const { customer: identifier, holdings, survivorVersion = 0, ...customer } = parseItem(customerItem, item);
  return { identifier, ...customer, survivorVersion, holdings: decodeHoldings(holdings) };
};

/** Customers of an account, without those that another has absorbed. */
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

/** Reads of a survivor that does not show the merge that its alias shows: the transaction is still being applied. */
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

/** Follows aliases among the customers that were read. */
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

export const createCustomerTable = (table: Table): CustomerTable => {
  const { client, name, pause = briefly } = table;
  const getAll = createBatchReader(table);

  /** Reads customers into the map, aliases followed; null: no such item. */
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
        return item !== undefined && isTombstone(item) && parseItem(tombstoneItem, item).erasedUntil > moment;
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
          if (item === undefined) return null;
          const { customer, customerVersion = 0 } = parseItem(identityItem, item);
          return { item: keyText(key), customer, customerVersion };
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
      const unowned = eachKeyOnce([
        ...identities.map((identity) => keys.identity(application, identity)),
        ...purchases.map((purchase) => keys.purchase(application, purchase)),
      ]).map((key) => ({
        key,
        isAsRead: (item: Item | undefined) => item === undefined || isTombstone(item),
      }));

      const groups = [...asRead, ...chunks(unowned, ITEMS_PER_TRANSACTION)];
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
      const items = await queryItems(table, {
        pk: partitions.account(application, account),
        sortKeyPrefix: prefixes.customer,
      });
      return accountCustomers(items);
    },

    countClaims: async (application, account, environment) => {
      const found = await getAll([keys.accountClaims(application, account)]);
      const [item] = found.values();
      return (item && parseItem(accountClaimsItem, item)[claimsCounter(environment)]) ?? 0;
    },
  };
};
