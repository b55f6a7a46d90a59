import type { Catalog } from "../../../lib/entitlements/catalog.ts";
import { HELD_PER_ENTITLEMENT } from "../../../lib/entitlements/holdings.ts";
import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { timelineOf } from "../../../lib/entitlements/timeline.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { accountCustomerItem, claimsCounter, decodeHoldings } from "../../../lib/table/customers/items.ts";
import { tellingViolations } from "./telling-invariants.ts";
import {
  keyOf,
  referenceOf,
  text,
  Violations,
  type Customer,
  type StoredItem,
  type Tenant,
} from "./stored-items.ts";
import { tenantsIn } from "./tenants.ts";

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

/** Above this size, well below the bound of holdings, purchases may be missing from the holdings. */
const BOUNDED_FROM_BYTES = 150_000;

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
  const tenants = tenantsIn(violations, items, options.except ?? new Set());
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
