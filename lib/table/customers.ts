import { paginateQuery } from "@aws-sdk/lib-dynamodb";
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
import { createBatchReader } from "./batch-reader.ts";
import { ACCOUNT_CUSTOMERS, accountPartition, keys, keyText, type Key } from "./keys.ts";
import { decodeLines } from "./lines.ts";
import type { StoredCustomer, StoredPurchase } from "./records.ts";
import { parseItem, type Item, type Table } from "./table.ts";

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
   * The living customers behind the identifiers, aliases followed. One strongly consistent read, and one more for each
   * step of an alias. Null where one of them is gone: erased, or unreadable by anyone.
   */
  findCustomers(
    application: ApplicationId,
    identifiers: Iterable<CustomerId>,
  ): Promise<readonly StoredCustomer[] | null>;
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
  const { customer: identifier, holdings, ...customer } = parseItem(customerItem, item);
  return { identifier, ...customer, holdings: decodeHoldings(holdings) };
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

export const createCustomerTable = (
  table: Table,
  pause: (attempt: number) => Promise<void>,
): CustomerTable => {
  const { client, name } = table;
  const getAll = createBatchReader(table, pause);

  return {
    findFacts: async (application, identities, purchases, moment) => {
      const identityKeys = identities.map((identity) => keys.identity(application, identity));
      const purchaseKeys = purchases.map((purchase) => keys.purchase(application, purchase));
      const found = await getAll([...identityKeys, ...purchaseKeys]);
      const isErased = (key: Key): boolean => {
        const item = found.get(keyText(key));
        return item !== undefined && "erasedUntil" in item && parseItem(tombstone, item).erasedUntil > moment;
      };
      const living = (key: Key): Item | undefined => {
        const item = found.get(keyText(key));
        return item !== undefined && "erasedUntil" in item ? undefined : item;
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
      const living = new Map<CustomerId, StoredCustomer>();
      const asked = new Set<CustomerId>();
      let wanted = [...new Set(identifiers)];
      while (wanted.length > 0) {
        for (const identifier of wanted) asked.add(identifier);
        const found = await getAll(wanted.map((identifier) => keys.customer(application, identifier)));
        if (found.size < wanted.length) return null;
        const next = new Set<CustomerId>();
        for (const item of found.values()) {
          const customer = storedCustomer(item);
          if (customer.aliasOf === null) living.set(customer.identifier, customer);
          else if (!asked.has(customer.aliasOf)) next.add(customer.aliasOf);
        }
        wanted = [...next];
      }
      return [...living.values()];
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
