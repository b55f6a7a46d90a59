import { chunks, partsWithin } from "../../chunks.ts";
import type { CustomerTable } from "../../customers/storing/fact-store.ts";
import type { AccountCustomer, FoundCustomers, StoredCustomer } from "../../customers/storing/records.ts";
import { referenceText } from "../../entitlements/purchase.ts";
import type { ApplicationId, CustomerId } from "../../identifiers.ts";
import { pause as briefly } from "../../pause.ts";
import { eachKeyOnce, queryItems, readItems, readTogether, readUnparsed } from "../dynamodb/reads.ts";
import { keyIn, parseItem, parseItems, type Item, type Table } from "../dynamodb/table.ts";
import { BYTES_PER_TRANSACTION, ITEMS_PER_TRANSACTION } from "../dynamodb/writes.ts";
import { keys, keyText, partitions, prefixes } from "../keys.ts";
import { accountClaimsItem, claimsCounter } from "./claims.ts";
import { accountCustomerItem, customerItem, identityItem, purchaseItem, tombstoneItem } from "./items.ts";

/** Customers of an account, without those that another has absorbed. */
const accountCustomers = (items: readonly Item[]): readonly AccountCustomer[] => {
  const parsed = parseItems(accountCustomerItem, items);
  const absorbed = new Set(parsed.flatMap((customer) => customer.absorbed));
  return parsed
    .filter(({ customer }) => !absorbed.has(customer))
    .map(({ customer, holdings, assertedBy }) => ({ customer, holdings, assertedBy }));
};

const isTombstone = (item: Item): boolean => "erasedUntil" in item;

type ReadCustomers = ReadonlyMap<CustomerId, StoredCustomer | null>;

/** Reads of a survivor that does not show the merge that its alias shows: the transaction is still being applied. */
const MERGE_ATTEMPTS = 5;

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
  const { pause = briefly } = table;

  /** Reads customers into the map, aliases followed; null: no such item. */
  const readCustomers = async (
    application: ApplicationId,
    identifiers: Iterable<CustomerId>,
    read: Map<CustomerId, StoredCustomer | null>,
  ): Promise<void> => {
    for (let wanted = [...identifiers]; wanted.length > 0;) {
      const found = await readUnparsed(
        table,
        wanted.map((identifier) => keys.customer(application, identifier)),
      );
      const next = new Set<CustomerId>();
      for (const [index, identifier] of wanted.entries()) {
        const item = found[index];
        const customer = item === undefined ? null : parseItem(customerItem, item);
        read.set(identifier, customer);
        if (customer?.aliasOf != null) next.add(customer.aliasOf);
      }
      wanted = [...next].filter((identifier) => !read.has(identifier));
    }
  };

  return {
    findFacts: async (application, identities, purchases, moment) => {
      const identityKeys = identities.map((identity) => keys.identity(application, identity));
      const purchaseKeys = purchases.map((purchase) => keys.purchase(application, purchase));
      const found = await readUnparsed(table, [...identityKeys, ...purchaseKeys]);
      const identityItems = found.slice(0, identities.length);
      const purchaseItems = found.slice(identities.length);
      const isErased = (item: Item | undefined): boolean =>
        item !== undefined && isTombstone(item) && parseItem(tombstoneItem, item).erasedUntil > moment;
      const isLiving = (item: Item | undefined): item is Item => item !== undefined && !isTombstone(item);
      const stored = parseItems(purchaseItem, purchaseItems.filter(isLiving));
      return {
        erasedPurchases: new Set(
          purchases.filter((_, index) => isErased(purchaseItems[index])).map(referenceText),
        ),
        erasedIdentity: identityItems.some(isErased),
        identities: identityItems.map((item) => {
          if (!isLiving(item)) return null;
          return { item: keyText(keyIn(item)), ...parseItem(identityItem, item) };
        }),
        purchases: new Map(stored.map((one) => [referenceText(one.purchase), one])),
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
      const limits = [ITEMS_PER_TRANSACTION, BYTES_PER_TRANSACTION];
      const bytesOf = (customer: StoredCustomer) => Buffer.byteLength(JSON.stringify(customer));
      const asRead = partsWithin(customers, limits, (one) => [1, bytesOf(one)]).map((some) =>
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
      const checked = [...asRead, ...chunks(unowned, ITEMS_PER_TRANSACTION)].map(async (group) => {
        const wanted = group.map(({ key }) => key);
        const items = await readTogether(table, wanted, "pk, version, erasedUntil");
        return items !== null && group.every(({ isAsRead }, index) => isAsRead(items[index]));
      });
      return (await Promise.all(checked)).every((isAsRead) => isAsRead);
    },

    findAccount: async (application, account) => {
      const pk = partitions.account(application, account);
      return accountCustomers(await queryItems(table, { pk, sortKeyPrefix: prefixes.customer }));
    },

    countClaims: async (application, account, environment) => {
      const key = keys.accountClaims(application, account);
      const [counts] = await readItems(table, [key], accountClaimsItem);
      return counts?.[claimsCounter(environment)] ?? 0;
    },
  };
};
