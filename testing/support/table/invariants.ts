import type { Catalog } from "../../../lib/entitlements/catalog.ts";
import { HELD_PER_ENTITLEMENT } from "../../../lib/entitlements/holdings.ts";
import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { timelineOf } from "../../../lib/entitlements/timeline.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { accountCustomerItem } from "../../../lib/table/customers/items.ts";
import { claimsCounter } from "../../../lib/table/customers/claims.ts";
import { tellingViolations } from "./telling-invariants.ts";
import {
  keyOf,
  referenceOf,
  text,
  Violations,
  type Customer,
  type StoredItem,
  type Tenant,
  tenantsIn,
} from "./tenants.ts";

interface InvariantOptions {
  /** The catalog of an application. If it is given, mapped consumables must be held. */
  readonly catalogOf?: (application: string) => Catalog | undefined;
  /** Whether moves may be unfinished: the customer is in no account then, and items of absorbed customers stay. */
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

/** What the checks of one application share. */
interface Checking {
  readonly check: Violations["check"];
  readonly violations: Violations;
  readonly tenant: Tenant;
  readonly options: InvariantOptions;
}

type Owned = ReadonlyMap<string, Purchase>;

const checkHoldings = ({ check, tenant, options }: Checking, customer: Customer, owned: Owned): void => {
  const { key, holdings } = customer;
  const held = new Map(holdings.map((holding) => [referenceOf(holding), holding]));
  check(held.size === holdings.length, `${key} holds a purchase twice`);
  for (const [reference, holding] of held) {
    const purchase = owned.get(reference);
    const lines = purchase === undefined ? null : linesText(linesThatGrant(purchase));
    check(lines !== null, `${key} holds ${reference}, which it does not own`);
    check(
      lines === null || lines === linesText(holding.lines),
      `${key} holds ${reference} with other lines than the purchase has`,
    );
  }
  if (text(holdings).length > BOUNDED_FROM_BYTES) return;
  const catalog = options.catalogOf?.(tenant.application);
  const isCrowded = ({ environment }: Purchase): boolean =>
    holdings.filter((holding) => holding.environment === environment).length >= HELD_PER_ENTITLEMENT;
  for (const [reference, purchase] of owned) {
    const lines = linesThatGrant(purchase);
    if (lines.length === 0 || held.has(reference) || isCrowded(purchase)) continue;
    // A subscription or non-consumable counts once it is mapped; anything else only if it is mapped now.
    const sold = lines.every(isRepeatable) ? catalog : EVERYTHING_SOLD;
    const mayGrant = sold !== undefined && grantsEver(purchase, sold);
    check(!mayGrant, `${key} owns ${reference} and does not hold it`);
  }
};

/** The purchases of each living customer, and the customers that identities and purchases name. */
const ownersIn = ({ check, tenant }: Checking) => {
  const named = new Set<string>();
  const owned = new Map<string, Map<string, Purchase>>();
  const ownerOf = ({ key, customer }: Tenant["identities"][number]): string | null => {
    const living = livingOf(tenant, customer);
    check(typeof living === "object", `${key} belongs to ${customer}, which is ${String(living)}`);
    if (typeof living !== "object") return null;
    named.add(living.identifier);
    return living.identifier;
  };
  for (const identity of tenant.identities) ownerOf(identity);
  for (const item of tenant.purchases) {
    const owner = ownerOf(item);
    if (owner === null) continue;
    const purchases = owned.get(owner) ?? new Map<string, Purchase>();
    owned.set(owner, purchases.set(referenceOf(item.purchase), item.purchase));
  }
  return { named, owned };
};

const checkAlias = (
  { check, tenant }: Checking,
  { key, link, holdings }: Customer,
  aliasOf: string,
): void => {
  const living = livingOf(tenant, aliasOf);
  check(typeof living === "object", `${key} is an alias of ${aliasOf}, which is ${String(living)}`);
  check(link === null && holdings.length === 0, `${key} is an alias, and has a link or holdings of its own`);
};

const checkLiving = (checking: Checking, customer: Customer): void => {
  const { check, violations, tenant, options } = checking;
  const { key, link, holdings, absorbed, unsettled } = customer;
  const sides = tenant.accounts.filter(({ sk }) => sk === `CUSTOMER#${customer.identifier}`);
  const accounts = text(sides.map(({ account }) => account));
  const moves = !unsettled || options.crashedMoves === true;
  check(moves, `${key} has moved, and is not at its account yet`);
  check(link !== null || absorbed.length === 0, `${key} has no account, and lists what it absorbed there`);
  check(
    accounts === text(link === null || unsettled ? [] : [link.account]),
    `${key} is linked to ${link?.account ?? "nobody"}, and is under ${accounts}`,
  );
  for (const { item } of sides)
    violations.of(item, (side) => {
      const copy = side.parse(accountCustomerItem);
      side.check(copy.customer === customer.identifier, `says it is ${copy.customer}`);
      side.check(text(copy.holdings) === text(holdings), "has other holdings than its customer");
      side.check(
        copy.assertedBy === link?.assertedBy && text(copy.absorbed) === text(absorbed),
        "says otherwise than its customer who asserted its link, or whom it absorbed",
      );
    });
};

const checkCustomers = (checking: Checking): void => {
  const { named, owned } = ownersIn(checking);
  for (const customer of checking.tenant.customers.values()) {
    const { key, aliasOf, hasPurchased } = customer;
    if (aliasOf !== null) {
      checkAlias(checking, customer, aliasOf);
      continue;
    }
    const purchases = owned.get(customer.identifier);
    checkHoldings(checking, customer, purchases ?? new Map());
    checking.check(
      (purchases !== undefined) === hasPurchased,
      `${key} says that it has ${hasPurchased ? "" : "never "}purchased, and owns ${purchases?.size ?? 0} purchases`,
    );
    checking.check(named.has(customer.identifier), `nothing names ${key}, so nobody will ever find it`);
    checkLiving(checking, customer);
  }
};

const checkAccounts = ({ check, tenant, options }: Checking): void => {
  const customers = [...tenant.customers.values()];
  for (const { account, sk, item } of tenant.accounts) {
    const customer = tenant.customers.get(sk.replace(/^CUSTOMER#/, ""));
    const isLive = customer !== undefined && customer.aliasOf === null;
    const isAbsorbed = customers.some(
      ({ link, absorbed }) =>
        link?.account === account && absorbed.some((other) => sk === `CUSTOMER#${other}`),
    );
    check(isLive || isAbsorbed, `${keyOf(item)} is of a customer that does not live`);
    // An unfinished move leaves the item without a time to live. It grants nothing and is deleted with its survivor.
    check(
      isLive || "timeToLive" in item || options.crashedMoves === true,
      `${keyOf(item)} is of an absorbed customer, and stays for ever`,
    );
  }
  const linked = customers.flatMap(({ link }) => (link === null ? [] : [link.account]));
  for (const account of new Set([...tenant.claims.keys(), ...linked]))
    for (const counter of ["production", "other"] as const) {
      const counted = tenant.claims.get(account)?.[counter] ?? 0;
      const claims = customers.filter(
        ({ link, environment }) =>
          link?.account === account && link.assertedBy === "client" && claimsCounter(environment) === counter,
      );
      check(
        counted === claims.length,
        `account ${account} counts ${counted} claims of ${counter}, and has ${claims.length}`,
      );
    }
};

const checkPurchases = ({ check, tenant }: Checking): void => {
  const references = new Set(tenant.purchases.map(({ purchase }) => referenceOf(purchase)));
  const queued = new Set(tenant.asks);
  for (const { key, purchase, ask } of tenant.purchases) {
    const { replacedBy } = purchase;
    const newer = replacedBy === null ? null : referenceOf({ ...purchase, key: replacedBy });
    check(
      newer === null ||
        (replacedBy !== purchase.key && (references.has(newer) || tenant.erasedPurchases.has(newer))),
      `${key} is replaced by a purchase that is not there`,
    );
    check(ask === null || queued.delete(ask), `${key} waits for a question that is not in its queue`);
  }
  for (const ask of queued) check(false, `${ask} is in a queue, and its purchase does not wait for it`);
};

/**
 * Every violation of what holds of a whole table between two requests, each in a sentence: each identity has one owner, both
 * sides of a link agree, copies equal their originals.
 */
export const checkInvariants = (items: readonly StoredItem[], options: InvariantOptions = {}): string[] => {
  const violations = new Violations();
  const { check } = violations;
  const owners = new Map<string, string>();
  for (const tenant of tenantsIn(violations, items, options.except ?? new Set())) {
    const checking = { check, violations, tenant, options };
    for (const violation of tellingViolations(tenant.telling)) check(false, violation);
    checkCustomers(checking);
    checkAccounts(checking);
    checkPurchases(checking);
    for (const customer of tenant.customers.keys()) {
      const other = owners.get(customer);
      check(other === undefined, `${customer} is a customer of ${other} and of ${tenant.application}`);
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
