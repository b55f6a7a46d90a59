import * as z from "zod";
import { bundleOrPackageOf, type StoredCustomer } from "../../../lib/customers/storing/records.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import {
  storeRegistrationItem,
  androidStoreItem,
  applicationItem,
  catalogItem,
  destinationItem,
  iosStoreItem,
} from "../../../lib/table/applications/application-items.ts";
import { credentialItem, credentialIndexItem } from "../../../lib/table/applications/credentials.ts";
import { forwardItem } from "../../../lib/table/telling/delivery-queue.ts";
import {
  customerItem,
  identityItem,
  purchaseItem,
  tombstoneItem,
  transferItem,
} from "../../../lib/table/customers/items.ts";
import { askItem } from "../../../lib/table/queues/asks.ts";
import { accountClaimsItem } from "../../../lib/table/customers/claims.ts";
import { partitions } from "../../../lib/table/keys.ts";
import { notificationItem } from "../../../lib/table/queues/notifications.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";

export type StoredItem = Readonly<Record<string, unknown>>;

const applicationPartitionItem = z.discriminatedUnion("kind", [
  applicationItem(),
  iosStoreItem(),
  androidStoreItem(),
  catalogItem(),
  credentialIndexItem(),
  destinationItem(),
]);

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const PARTITION = new RegExp(
  `^APPLICATION#(?<application>${UUID})(?:#(?<kind>CUSTOMER|IDENTITY|PURCHASE|ACCOUNT|AUDIT|TRANSFERS|ASK|CHANGED|TOLD|CHANGES|DESTINATION|FORWARD)(?:#(?<rest>.+))?)?$`,
  "s",
);

const auditItem = () => z.object({ action: z.string(), customer: z.nullable(z.string()) });

export interface Customer extends StoredCustomer {
  readonly key: string;
}

export const text = (value: unknown): string => JSON.stringify(value);
export const keyOf = (item: StoredItem): string => text([item["pk"], item["sk"]]);
export const referenceOf = ({
  store,
  environment,
  key,
}: Pick<Purchase, "store" | "environment" | "key">): string => `${store}#${environment}#${key}`;

/** What does not hold, each in a sentence. */
export class Violations {
  readonly found: string[] = [];

  readonly check = (holds: boolean, violation: string): void => {
    if (!holds) this.found.push(violation);
  };

  /** Checks of one item: the sentences begin with its key. A malformed item has no further ones. */
  of(item: StoredItem, checks: (checked: CheckedItem) => void): void {
    try {
      checks({
        check: (holds, violation) => this.check(holds, `${keyOf(item)} ${violation}`),
        parse: (schema) => z.parse(schema(), item),
      });
    } catch (error) {
      if (!(error instanceof z.core.$ZodError)) throw error;
      this.found.push(`${keyOf(item)} is not of its shape: ${error.message}`);
    }
  }
}

interface CheckedItem {
  check(holds: boolean, violation: string): void;
  /** @throws ZodError */
  parse<Schema extends z.core.$ZodType>(schema: () => Schema): z.output<Schema>;
}

/** An item of an application. */
interface Placed extends CheckedItem {
  readonly item: StoredItem;
  readonly sk: string;
  /** What follows the kind in its partition key. */
  readonly rest: string;
  readonly tenant: Tenant;
  readonly index: Index;
}

/** Bundles, packages and credentials, by the application that has them on either side. */
const createIndex = () => ({
  registrations: new Map<string, string>(),
  configurations: Array.of<readonly [store: string, application: string]>(),
  credentials: new Map<string, string>(),
  listed: Array.of<readonly [credential: string, application: string]>(),
});
type Index = ReturnType<typeof createIndex>;

/** What the items of one application say. */
const newTenant = (application: string) => ({
  application,
  customers: new Map<string, Customer>(),
  /** Counted claims of clients, by account. */
  claims: new Map<string, z.output<ReturnType<typeof accountClaimsItem>>>(),
  accounts: Array.of<{ readonly account: string; readonly sk: string; readonly item: StoredItem }>(),
  identities: Array.of<{ readonly key: string; readonly customer: string }>(),
  /** `ask`: the question, as text; null: none. */
  purchases: Array.of<{
    readonly key: string;
    readonly customer: string;
    readonly purchase: Purchase;
    readonly ask: string | null;
  }>(),
  /** Questions in the queues. */
  asks: new Set<string>(),
  /** References of purchases that were erased. */
  erasedPurchases: new Set<string>(),
  /** Looks, changes and deliveries. */
  telling: Array.of<StoredItem>(),
});
export type Tenant = ReturnType<typeof newTenant>;

const checkOwner = ({ check, item, tenant }: Placed, customer: string): void =>
  check(
    item["owner"] === `APPLICATION#${tenant.application}#CUSTOMER#${customer}`,
    `is in the index under ${String(item["owner"])}, and belongs to ${customer}`,
  );

const readTombstone = ({ check, parse, item, tenant, rest }: Placed, kind: string): void => {
  check(kind === "IDENTITY" || kind === "PURCHASE", "is a tombstone of what leaves none");
  parse(tombstoneItem);
  const names = text(Object.keys(item).sort());
  check(names === text(["erasedUntil", "pk", "sk", "timeToLive"]), "is a tombstone, and keeps more");
  if (kind === "PURCHASE") tenant.erasedPurchases.add(rest);
};

const readConfiguration = ({ check, parse, item, sk, tenant, index }: Placed): void => {
  const { application } = tenant;
  parse(() => applicationPartitionItem);
  const { kind } = item;
  if (kind === "application") check(item["identifier"] === application, "names another application");
  if (kind === "ios-store" || kind === "android-store") index.configurations.push([sk, application]);
  if (kind !== "credential-index") return;
  check(item["application"] === application, "names another application");
  index.listed.push([String(item["keyIdentifier"]), application]);
};

const readCustomer = (placed: Placed): void => {
  const { check, parse, item, sk, rest, tenant } = placed;
  const customer = parse(customerItem);
  check(sk === "CUSTOMER", "has an unknown sort key");
  check(customer.identifier === rest, `says it is ${customer.identifier}`);
  check(customer.version > 0, `has the version ${customer.version}`);
  tenant.customers.set(rest, { ...customer, key: keyOf(item) });
  if (customer.aliasOf === null) check(!("owner" in item), "lives, and is in the index as an alias");
  else checkOwner(placed, customer.aliasOf);
};

const readIdentity = (placed: Placed): void => {
  const { check, parse, item, sk, tenant } = placed;
  const { customer } = parse(identityItem);
  check(sk === "IDENTITY", "has an unknown sort key");
  tenant.identities.push({ key: keyOf(item), customer });
  checkOwner(placed, customer);
};

const readPurchase = (placed: Placed): void => {
  const { check, parse, item, sk, rest, tenant } = placed;
  const { purchase, customer, ask, acknowledgement, bundleOrPackage } = parse(purchaseItem);
  const reference = referenceOf(purchase);
  check(sk === "PURCHASE", "has an unknown sort key");
  check(rest === reference, `is of ${reference}`);
  check(acknowledgement === null || ask !== null, "waits for an acknowledgement, and nothing is due");
  tenant.purchases.push({
    key: keyOf(item),
    customer,
    purchase,
    ask: ask && text([reference, bundleOrPackage, ask.at, ask.because, acknowledgement]),
  });
  checkOwner(placed, customer);
};

const readAsk = ({ check, parse, sk, rest, tenant }: Placed): void => {
  if (sk === "STATE" || sk === "SWEEP") return;
  const { environment, key, ask, source, acknowledgement } = parse(askItem);
  const place = bundleOrPackageOf(source);
  check(
    rest === `${source.store}#${place}#${environment}` && sk === `${isoTime(ask.at)}#${key}`,
    "is in another queue than its purchase",
  );
  const reference = referenceOf({ store: source.store, environment, key });
  tenant.asks.add(text([reference, place, ask.at, ask.because, acknowledgement]));
};

const readAccount = ({ check, parse, item, sk, rest, tenant }: Placed): void => {
  check(!("owner" in item), "is in the index of owners");
  if (sk !== "CLAIMS") {
    tenant.accounts.push({ account: rest, sk, item });
    return;
  }
  const counts = parse(accountClaimsItem);
  tenant.claims.set(rest, counts);
  check(
    Object.values(counts).some((count) => count !== undefined && count > 0),
    "counts no claims, and names the account",
  );
};

const readTelling = ({ item, tenant }: Placed): void => void tenant.telling.push(item);

/** By the kind in the partition key; of no kind: the application's own items. */
const READERS: Readonly<Record<string, (placed: Placed) => void>> = {
  "": readConfiguration,
  CUSTOMER: readCustomer,
  IDENTITY: readIdentity,
  PURCHASE: readPurchase,
  ASK: readAsk,
  ACCOUNT: readAccount,
  CHANGED: readTelling,
  TOLD: readTelling,
  CHANGES: readTelling,
  DESTINATION: readTelling,
  FORWARD: ({ parse, sk }) => {
    if (sk !== "HEALTH") parse(forwardItem);
  },
  TRANSFERS: ({ parse }) => void parse(transferItem),
  AUDIT: ({ parse }) => void parse(auditItem),
};

/** An item of no application's partition. */
const readOther = (
  { check, parse }: CheckedItem,
  { pk, sk }: StoredItem,
  { registrations, credentials }: Index,
  except: ReadonlySet<string>,
): void => {
  const partition = String(pk);
  if (partition.startsWith("STORE#") && sk === "STORE") {
    const { application } = parse(storeRegistrationItem);
    if (!except.has(application)) registrations.set(partition, application);
  } else if (partition.startsWith("CREDENTIAL#") && sk === "CREDENTIAL") {
    const { application, keyIdentifier } = parse(credentialItem);
    if (!except.has(application)) credentials.set(keyIdentifier, application);
  } else if (partition === partitions.notifications) {
    const { application, store, environment, bundleOrPackage } = parse(notificationItem);
    const own = `${application}#${store}#${environment}#${bundleOrPackage}`;
    check(except.has(application) || sk === own, "names another store or application");
  } else check(partition === "APPLICATIONS", "is of no known kind");
};

/** The items of a table by application, each checked for its shape and its key. */
export const tenantsIn = (
  violations: Violations,
  items: readonly StoredItem[],
  except: ReadonlySet<string>,
): Tenant[] => {
  const tenants = new Map<string, Tenant>();
  const index = createIndex();
  for (const item of items)
    violations.of(item, (checked) => {
      const { groups } = PARTITION.exec(String(item["pk"])) ?? {};
      if (groups === undefined) return readOther(checked, item, index, except);
      const { application = "", kind = "", rest = "" } = groups;
      if (except.has(application)) return;
      const tenant = tenants.get(application) ?? newTenant(application);
      tenants.set(application, tenant);
      const placed: Placed = { ...checked, item, sk: String(item["sk"]), rest, tenant, index };
      if ("erasedUntil" in item) readTombstone(placed, kind);
      else READERS[kind]?.(placed);
    });
  const agree = (owners: ReadonlyMap<string, string>, stated: Index["listed"]): void => {
    for (const [name, application] of [...owners, ...stated])
      violations.check(
        owners.get(name) === application && stated.some(([one, by]) => one === name && by === application),
        `${name} is of ${owners.get(name) ?? "nobody"}, and ${application} disagrees`,
      );
  };
  agree(index.registrations, index.configurations);
  agree(index.credentials, index.listed);
  return [...tenants.values()];
};
