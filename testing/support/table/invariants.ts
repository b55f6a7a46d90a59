import * as z from "zod";
import type { Catalog } from "../../../lib/entitlements/catalog.ts";
import { bundleOrPackageOf } from "../../../lib/customers/asking/ask.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { HELD_PER_ENTITLEMENT } from "../../../lib/entitlements/holdings.ts";
import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { timelineOf } from "../../../lib/entitlements/timeline.ts";
import { customerId } from "../../../lib/identifiers.ts";
import {
  androidStoreItem,
  applicationItem,
  catalogItem,
  credentialIndexItem,
  credentialItem,
  destinationItem,
  iosStoreItem,
  storeRegistrationItem,
} from "../../../lib/table/applications/application-items.ts";
import { forwardItem } from "../../../lib/table/telling/forwards.ts";
import {
  accountClaimsItem,
  accountCustomerItem,
  askItem,
  claimsCounter,
  customerItem,
  decodeHoldings,
  identityItem,
  purchaseItem,
  tombstoneItem,
  transferItem,
} from "../../../lib/table/customers/items.ts";
import { partitions } from "../../../lib/table/keys.ts";
import { linesCodec } from "../../../lib/table/customers/lines.ts";
import { notificationItem } from "../../../lib/table/queues/notification-times.ts";
import { renewalCodec } from "../../../lib/table/customers/renewals.ts";
import { tellingViolations } from "./telling-invariants.ts";

/**
 * Invariants of a whole table between two requests, whatever has happened to it: each identity has one owner, both sides
 * of a link agree, copies equal their originals. Checks every item.
 */
export interface InvariantOptions {
  /** The catalog of an application. If it is given, mapped consumables must be held. */
  readonly catalogOf?: (application: string) => Catalog | undefined;
  /**
   * Whether moves may be unfinished: the customer is in no account then, and the items of absorbed customers stay as long
   * as their survivor.
   */
  readonly crashedMoves?: boolean;
  /** Applications whose items a test has changed by hand. */
  readonly except?: ReadonlySet<string>;
}

type StoredItem = Readonly<Record<string, unknown>>;

/** Above this size, well below the bound of holdings, purchases may be missing from the holdings. */
const BOUNDED_FROM_BYTES = 150_000;

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

interface Customer extends Omit<z.output<ReturnType<typeof customerItem>>, "holdings"> {
  readonly key: string;
  readonly holdings: readonly Purchase[];
}

/** The items of one application. */
interface Tenant {
  readonly application: string;
  readonly customers: Map<string, Customer>;
  /** Counted claims of clients, by account. */
  readonly claims: Map<string, z.output<ReturnType<typeof accountClaimsItem>>>;
  readonly accounts: { readonly account: string; readonly sk: string; readonly item: StoredItem }[];
  readonly identities: { readonly key: string; readonly customer: string }[];
  readonly purchases: {
    readonly key: string;
    readonly customer: string;
    readonly purchase: Purchase;
    /** The question, as text; null: none. */
    readonly ask: string | null;
  }[];
  /** Questions in the queues. */
  readonly asks: Set<string>;
  /** References of purchases that were erased. */
  readonly erasedPurchases: Set<string>;
  /** Customers that an operator has erased. */
  readonly erased: Set<string>;
  /** Looks, changes and deliveries. */
  readonly telling: StoredItem[];
}

const text = (value: unknown): string => JSON.stringify(value);
const keyOf = (item: StoredItem): string => text([item["pk"], item["sk"]]);
const referenceOf = ({ store, environment, key }: Pick<Purchase, "store" | "environment" | "key">): string =>
  `${store}#${environment}#${key}`;

const lineText = (line: Line): string => text(Object.entries(line).sort(([a], [b]) => (a < b ? -1 : 1)));
const linesText = (lines: readonly Line[]): string => text(lines.map(lineText).sort());

/** The lines that may grant: none if replaced without a time, and only the selected ones of a one-time purchase. */
const linesThatGrant = ({ lines, replacedBy, replacedAt, selectedProducts }: Purchase): readonly Line[] =>
  lines
    .filter(() => replacedBy === null || replacedAt !== null)
    .filter(
      ({ productIdentifier }) => selectedProducts === null || selectedProducts.includes(productIdentifier),
    );

/** A catalog that maps each product. */
const EVERYTHING_SOLD: Catalog = {
  displayNames: new Map(),
  products: [],
  productOf: (store, { productIdentifier }) => ({
    store,
    productIdentifier,
    basePlanIdentifier: null,
    purchaseOptionIdentifier: null,
    grants: ["anything"],
    accessDuration: null,
  }),
  sellsIn: () => true,
};

const NOBODY = customerId("");

/** Whether a purchase gives anything at any time: a period that never ran does not. */
const grantsEver = (purchase: Purchase, catalog: Catalog): boolean =>
  timelineOf([{ customerIdentifier: NOBODY, assertedBy: null, purchase }], { catalog, renewalLeeway: 0 })
    .length > 0;

const isRepeatable = ({ nature }: Line): boolean => nature === "non_renewing" || nature === "consumable";

class Violations {
  readonly found: string[] = [];

  check(holds: boolean, violation: string): void {
    if (!holds) this.found.push(violation);
  }

  parse<Schema extends z.core.$ZodType>(schema: () => Schema, item: StoredItem): z.output<Schema> | null {
    const parsed = z.safeParse(schema(), item);
    if (parsed.success) return parsed.data;
    this.found.push(`${keyOf(item)} is not of its shape: ${parsed.error.message}`);
    return null;
  }
}

/** The customer that an identifier leads to, through aliases. */
const livingOf = ({ customers }: Tenant, identifier: string): Customer | "missing" | "cycle" => {
  const seen = new Set<string>();
  let current = identifier;
  for (;;) {
    if (seen.has(current)) return "cycle";
    seen.add(current);
    const customer = customers.get(current);
    if (customer === undefined) return "missing";
    if (customer.aliasOf === null) return customer;
    current = customer.aliasOf;
  }
};

const checkOwner = (violations: Violations, item: StoredItem, application: string, customer: string): void =>
  violations.check(
    item["owner"] === `APPLICATION#${application}#CUSTOMER#${customer}`,
    `${keyOf(item)} is in the index under ${String(item["owner"])}, and belongs to ${customer}`,
  );

const sort = (
  violations: Violations,
  items: readonly StoredItem[],
  except: ReadonlySet<string>,
): Tenant[] => {
  const tenants = new Map<string, Tenant>();
  const tenantOf = (application: string): Tenant => {
    const known = tenants.get(application);
    if (known !== undefined) return known;
    const tenant: Tenant = {
      application,
      customers: new Map(),
      claims: new Map(),
      accounts: [],
      identities: [],
      purchases: [],
      asks: new Set(),
      erasedPurchases: new Set(),
      erased: new Set(),
      telling: [],
    };
    tenants.set(application, tenant);
    return tenant;
  };

  const registrations = new Map<string, string>();
  const configurations: { readonly store: string; readonly application: string }[] = [];
  const credentials = new Map<string, string>();
  const indexed = new Map<string, string>();

  for (const item of items) {
    const pk = String(item["pk"]);
    const sk = String(item["sk"]);
    const groups = PARTITION.exec(pk)?.groups;
    if (groups === undefined) {
      if (pk.startsWith("STORE#") && sk === "STORE") {
        const registration = violations.parse(storeRegistrationItem, item);
        if (registration !== null && !except.has(registration.application))
          registrations.set(pk, registration.application);
      } else if (pk.startsWith("CREDENTIAL#") && sk === "CREDENTIAL") {
        const credential = violations.parse(credentialItem, item);
        if (credential !== null && !except.has(credential.application))
          credentials.set(credential.keyIdentifier, credential.application);
      } else if (pk === partitions.notifications) {
        const noted = violations.parse(notificationItem, item);
        if (noted === null || except.has(noted.application)) continue;
        const { application, store, environment, bundleOrPackage } = noted;
        violations.check(
          sk === `${application}#${store}#${environment}#${bundleOrPackage}`,
          `${keyOf(item)} names another store or application`,
        );
      } else violations.check(pk === "APPLICATIONS", `${keyOf(item)} is of no known kind`);
      continue;
    }
    const { application = "", kind, rest = "" } = groups;
    if (except.has(application)) continue;
    const tenant = tenantOf(application);
    if ("erasedUntil" in item) {
      const erased = violations.parse(tombstoneItem, item);
      violations.check(
        kind === "IDENTITY" || kind === "PURCHASE",
        `${keyOf(item)} is a tombstoneItem of what leaves none`,
      );
      violations.check(
        erased !== null && text(Object.keys(item).sort()) === text(["erasedUntil", "expiresAt", "pk", "sk"]),
        `${keyOf(item)} is a tombstoneItem, and keeps more than its time`,
      );
      if (kind === "PURCHASE") tenant.erasedPurchases.add(rest);
      continue;
    }
    switch (kind) {
      case undefined: {
        const described = violations.parse(() => applicationPartitionItem, item);
        if (described === null) break;
        if ("identifier" in described)
          violations.check(described.identifier === application, `${keyOf(item)} names another application`);
        if (described.kind === "ios-store" || described.kind === "android-store")
          configurations.push({ store: sk, application });
        if (described.kind === "credential-index") {
          violations.check(described.application === application, `${keyOf(item)} names another application`);
          indexed.set(described.keyIdentifier, application);
        }
        break;
      }
      case "CUSTOMER": {
        const customer = violations.parse(customerItem, item);
        if (customer === null) break;
        violations.check(sk === "CUSTOMER", `${keyOf(item)} has an unknown sort key`);
        violations.check(customer.customer === rest, `${keyOf(item)} says it is ${customer.customer}`);
        violations.check(customer.version > 0, `${keyOf(item)} has the version ${customer.version}`);
        tenant.customers.set(rest, {
          ...customer,
          key: keyOf(item),
          holdings: decodeHoldings(customer.holdings),
        });
        if (customer.aliasOf === null)
          violations.check(!("owner" in item), `${keyOf(item)} lives, and is in the index as an alias`);
        else checkOwner(violations, item, application, customer.aliasOf);
        break;
      }
      case "IDENTITY": {
        const identity = violations.parse(identityItem, item);
        if (identity === null) break;
        violations.check(sk === "IDENTITY", `${keyOf(item)} has an unknown sort key`);
        tenant.identities.push({ key: keyOf(item), customer: identity.customer });
        checkOwner(violations, item, application, identity.customer);
        break;
      }
      case "PURCHASE": {
        const purchase = violations.parse(purchaseItem, item);
        if (purchase === null) break;
        violations.check(sk === "PURCHASE", `${keyOf(item)} has an unknown sort key`);
        violations.check(rest === referenceOf(purchase), `${keyOf(item)} is of ${referenceOf(purchase)}`);
        const { customer, askAt, askBecause, acknowledgement, bundleOrPackage, lines } = purchase;
        violations.check(
          acknowledgement === undefined || askAt !== undefined,
          `${keyOf(item)} waits for an acknowledgement, and nothing is due`,
        );
        tenant.purchases.push({
          key: keyOf(item),
          customer,
          purchase: {
            ...purchase,
            lines: linesCodec.decode(lines),
            renewal: purchase.renewal === undefined ? null : renewalCodec.decode(purchase.renewal),
          },
          ask:
            askAt === undefined
              ? null
              : text([referenceOf(purchase), bundleOrPackage, askAt, askBecause, acknowledgement]),
        });
        checkOwner(violations, item, application, purchase.customer);
        break;
      }
      case "ASK": {
        if (sk === "STATE" || sk === "SWEEP") break;
        const ask = violations.parse(askItem, item);
        if (ask === null) break;
        const { environment, key, dueAt, because, source, acknowledgement } = ask;
        const place = bundleOrPackageOf(source);
        violations.check(
          rest === `${source.store}#${place}#${environment}` && sk === `${isoTime(dueAt)}#${key}`,
          `${keyOf(item)} is in another queue than its purchase`,
        );
        const reference = referenceOf({ store: source.store, environment, key });
        tenant.asks.add(text([reference, place, dueAt, because, acknowledgement]));
        break;
      }
      case "CHANGED":
      case "TOLD":
      case "CHANGES":
      case "DESTINATION":
        tenant.telling.push(item);
        break;
      case "FORWARD":
        if (sk !== "HEALTH") violations.parse(forwardItem, item);
        break;
      case "TRANSFERS":
        violations.parse(transferItem, item);
        break;
      case "AUDIT": {
        const entry = violations.parse(auditItem, item);
        if (entry?.action === "erase" && entry.customer !== null) tenant.erased.add(entry.customer);
        break;
      }
      default:
        violations.check(!("owner" in item), `${keyOf(item)} is in the index of owners`);
        if (sk === "CLAIMS") {
          const counts = violations.parse(accountClaimsItem, item);
          if (counts !== null) tenant.claims.set(rest, counts);
          violations.check(
            Object.values(counts ?? {}).some((count) => count !== undefined && count > 0),
            `${keyOf(item)} counts no claims, and names the account`,
          );
        } else tenant.accounts.push({ account: rest, sk, item });
    }
  }

  for (const { store, application } of configurations)
    violations.check(
      registrations.get(store) === application,
      `${store} is configured by ${application}, and registered to ${registrations.get(store) ?? "nobody"}`,
    );
  for (const [store, application] of registrations)
    violations.check(
      configurations.some((other) => other.store === store && other.application === application),
      `${store} is registered to ${application}, which does not configure it`,
    );
  for (const [key, application] of [...credentials, ...indexed])
    violations.check(
      credentials.get(key) === application && indexed.get(key) === application,
      `the credential ${key} and the list of its application's credentials disagree`,
    );
  return [...tenants.values()];
};

const checkHoldings = (
  violations: Violations,
  tenant: Tenant,
  customer: Customer,
  owned: ReadonlyMap<string, Purchase>,
  options: InvariantOptions,
): void => {
  const held = new Map(customer.holdings.map((holding) => [referenceOf(holding), holding]));
  violations.check(held.size === customer.holdings.length, `${customer.key} holds a purchase twice`);
  for (const [reference, holding] of held) {
    const purchase = owned.get(reference);
    if (purchase === undefined) {
      violations.check(false, `${customer.key} holds ${reference}, which it does not own`);
      continue;
    }
    const current = linesText(linesThatGrant(purchase)) === linesText(holding.lines);
    violations.check(current, `${customer.key} holds ${reference} with other lines than the purchase has`);
  }

  if (text(customer.holdings).length > BOUNDED_FROM_BYTES) return;
  const catalog = options.catalogOf?.(tenant.application);
  const isCrowded = ({ environment }: Purchase): boolean =>
    customer.holdings.filter((holding) => holding.environment === environment).length >= HELD_PER_ENTITLEMENT;
  for (const [reference, purchase] of owned) {
    const lines = linesThatGrant(purchase);
    if (lines.length === 0 || held.has(reference) || isCrowded(purchase)) continue;
    // A subscription or non-consumable counts once it is mapped; anything else only if it is mapped now.
    const sold = lines.every(isRepeatable) ? catalog : EVERYTHING_SOLD;
    const mayGrant = sold !== undefined && grantsEver(purchase, sold);
    violations.check(!mayGrant, `${customer.key} owns ${reference} and does not hold it`);
  }
};

const checkTenant = (violations: Violations, tenant: Tenant, options: InvariantOptions): void => {
  for (const violation of tellingViolations(tenant.telling)) violations.check(false, violation);
  const named = new Set<string>();
  const owned = new Map<string, Map<string, Purchase>>();
  for (const { customer, purchase } of tenant.purchases) {
    const living = livingOf(tenant, customer);
    if (typeof living !== "object") continue;
    const purchases = owned.get(living.customer) ?? new Map<string, Purchase>();
    owned.set(living.customer, purchases.set(referenceOf(purchase), purchase));
  }
  for (const { key, customer } of [...tenant.identities, ...tenant.purchases]) {
    const living = livingOf(tenant, customer);
    violations.check(typeof living === "object", `${key} belongs to ${customer}, which is ${String(living)}`);
    if (typeof living === "object") named.add(living.customer);
  }

  for (const customer of tenant.customers.values()) {
    const { key, aliasOf, link, holdings, hasPurchased, absorbed, unsettled } = customer;
    if (aliasOf !== null) {
      const living = livingOf(tenant, aliasOf);
      violations.check(
        typeof living === "object",
        `${key} is an alias of ${aliasOf}, which is ${String(living)}`,
      );
      violations.check(link === null, `${key} is an alias, and has a link of its own`);
      violations.check(holdings.length === 0, `${key} is an alias, and has holdings of its own`);
      continue;
    }
    checkHoldings(violations, tenant, customer, owned.get(customer.customer) ?? new Map(), options);
    const owns = owned.has(customer.customer);
    violations.check(
      owns === hasPurchased,
      `${key} says that it has ${hasPurchased ? "" : "never "}purchased, and owns ${owns ? "some" : "no"} purchases`,
    );
    violations.check(named.has(customer.customer), `nothing names ${key}, so nobody will ever find it`);
    const sides = tenant.accounts.filter(({ sk }) => sk === `CUSTOMER#${customer.customer}`);
    violations.check(
      !unsettled || options.crashedMoves === true,
      `${key} has moved, and is not at its account yet`,
    );
    violations.check(
      link !== null || absorbed.length === 0,
      `${key} has no account, and lists what it absorbed there`,
    );
    violations.check(
      text(sides.map(({ account }) => account)) === text(link === null || unsettled ? [] : [link.account]),
      `${key} is linked to ${link?.account ?? "nobody"}, and is under ${text(sides.map(({ account }) => account))}`,
    );
    for (const { item } of sides) {
      const copy = violations.parse(accountCustomerItem, item);
      if (copy === null) continue;
      violations.check(copy.customer === customer.customer, `${keyOf(item)} says it is ${copy.customer}`);
      violations.check(
        text(decodeHoldings(copy.holdings)) === text(holdings),
        `${keyOf(item)} has other holdings than its customer`,
      );
      violations.check(
        copy.assertedBy === link?.assertedBy && text(copy.absorbed) === text(absorbed),
        `${keyOf(item)} says otherwise than its customer who asserted its link, or whom it absorbed`,
      );
    }
  }

  for (const { account, sk, item } of tenant.accounts) {
    const customer = tenant.customers.get(sk.replace(/^CUSTOMER#/, ""));
    const isLive = customer !== undefined && customer.aliasOf === null;
    const isAbsorbed = [...tenant.customers.values()].some(
      ({ link, absorbed }) =>
        link?.account === account && absorbed.some((other) => sk === `CUSTOMER#${other}`),
    );
    violations.check(isLive || isAbsorbed, `${keyOf(item)} is of a customer that does not live`);
    // An unfinished move leaves the item without a time to live. It grants nothing and is deleted with its survivor.
    violations.check(
      isLive || "expiresAt" in item || options.crashedMoves === true,
      `${keyOf(item)} is of an absorbed customer, and stays for ever`,
    );
  }

  const claimed = (account: string, counter: string): number =>
    [...tenant.customers.values()].filter(
      ({ link, environment }) =>
        link?.account === account && link.assertedBy === "client" && claimsCounter(environment) === counter,
    ).length;
  const counted = new Set([
    ...tenant.claims.keys(),
    ...[...tenant.customers.values()].flatMap(({ link }) => (link === null ? [] : [link.account])),
  ]);
  for (const account of counted)
    for (const counter of ["production", "other"] as const)
      violations.check(
        (tenant.claims.get(account)?.[counter] ?? 0) === claimed(account, counter),
        `account ${account} counts ${tenant.claims.get(account)?.[counter] ?? 0} claims of ${counter}, and has ${claimed(account, counter)}`,
      );

  const references = new Set(tenant.purchases.map(({ purchase }) => referenceOf(purchase)));
  for (const { key, purchase } of tenant.purchases)
    if (purchase.replacedBy !== null)
      violations.check(
        purchase.replacedBy !== purchase.key &&
          [references, tenant.erasedPurchases].some((known) =>
            known.has(referenceOf({ ...purchase, key: purchase.replacedBy ?? purchase.key })),
          ),
        `${key} is replaced by a purchase that is not there`,
      );

  const queued = new Set(tenant.asks);
  for (const { key, ask } of tenant.purchases)
    violations.check(
      ask === null || queued.delete(ask),
      `${key} waits for a question that is not in its queue`,
    );
  for (const ask of queued)
    violations.check(false, `${ask} is in a queue, and its purchase does not wait for it`);
};

/** Every violation of an invariant, each in a sentence that names its item; empty when there are none. */
export const checkInvariants = (items: readonly StoredItem[], options: InvariantOptions = {}): string[] => {
  const violations = new Violations();
  const tenants = sort(violations, items, options.except ?? new Set());
  const owners = new Map<string, string>();
  for (const tenant of tenants) {
    checkTenant(violations, tenant, options);
    for (const customer of tenant.customers.keys()) {
      const other = owners.get(customer);
      violations.check(
        other === undefined,
        `${customer} is a customer of ${other} and of ${tenant.application}`,
      );
      owners.set(customer, tenant.application);
    }
  }
  return violations.found;
};

/** For `afterEach` and `afterAll`, before the table is removed. @throws Error that lists the violations */
export const assertInvariants = async (
  table: { items(): Promise<readonly StoredItem[]> },
  options: InvariantOptions = {},
): Promise<void> => {
  const violations = checkInvariants(await table.items(), options);
  if (violations.length > 0) throw new Error(violations.join("\n"));
};
