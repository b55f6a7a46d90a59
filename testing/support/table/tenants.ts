import { bundleOrPackageOf } from "../../../lib/customers/asking/ask.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { storeRegistrationItem } from "../../../lib/table/applications/application-items.ts";
import { credentialItem } from "../../../lib/table/applications/credentials.ts";
import { forwardItem } from "../../../lib/table/telling/forwards.ts";
import {
  accountClaimsItem,
  askItem,
  customerItem,
  decodeHoldings,
  identityItem,
  purchaseItem,
  tombstoneItem,
  transferItem,
} from "../../../lib/table/customers/items.ts";
import { partitions } from "../../../lib/table/keys.ts";
import { linesCodec, renewalCodec } from "../../../lib/table/customers/lines.ts";
import { notificationItem } from "../../../lib/table/queues/notification-times.ts";
import {
  keyOf,
  referenceOf,
  text,
  Violations,
  type StoredItem,
  type Tenant,
  applicationPartitionItem,
  auditItem,
  PARTITION,
} from "./stored-items.ts";

const checkOwner = (violations: Violations, item: StoredItem, application: string, customer: string): void =>
  violations.check(
    item["owner"] === `APPLICATION#${application}#CUSTOMER#${customer}`,
    `${keyOf(item)} is in the index under ${String(item["owner"])}, and belongs to ${customer}`,
  );

/** The items of a table by application, each checked for its shape and its key. */
export const tenantsIn = (
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
