import { reportDestinations } from "../../lib/administration/acts/destinations.ts";
import { findCustomersKnownAs, loadAccountReport } from "../../lib/administration/reports/account-report.ts";
import { accountIdentifier } from "../../lib/contract/schemas.ts";
import { referenceText } from "../../lib/entitlements/purchase.ts";
import { accountId } from "../../lib/identifiers.ts";
import { compare } from "../../lib/order.ts";
import { reportApplication } from "../commands/application.ts";
import { auditEntriesOf, isShown, soughtAccount } from "../commands/audit.ts";
import { findApplication, readAccountIdentifier, readCustomerIdentifier } from "../commands/command.ts";
import { credentialJson } from "../commands/credential.ts";
import { customerReportJson, findReport } from "../commands/customer.ts";
import { destinationJson } from "../commands/destination.ts";
import type { Session } from "../session.ts";
import { accountJson, countOf, type Page, requirePage, purchaseLines, toldLines } from "../text/account.ts";
import { explain, type ExplainedCustomer } from "../text/explanation.ts";
import { pictureOf } from "./history.ts";

const PURCHASES_ON_A_PAGE = 25;

const AUDIT_ENTRIES = 100;

const newestOf = <Entry>(audit: readonly Entry[]): readonly Entry[] =>
  audit.toReversed().slice(0, AUDIT_ENTRIES);

/** Products without an entitlement, and entitlements that no product grants. */
const nothingOf = ({ products, entitlements }: Awaited<ReturnType<typeof reportApplication>>["manifest"]) => {
  const granted = new Set(products.flatMap(({ grants }) => grants));
  return {
    products: products
      .filter(({ grants }) => grants.length === 0)
      .map(({ store, productIdentifier }) => `${store} ${productIdentifier}`),
    entitlements: Object.keys(entitlements).filter((identifier) => !granted.has(identifier)),
  };
};

/** Purchases that an account's page names beside each entitlement, those of the latest access. */
const NAMED_BESIDE_AN_ENTITLEMENT = 5;

/** A sentence for each purchase of an entitlement: its access, or why it gives none. */
const whyOf = (explained: readonly ExplainedCustomer[], entitlement: string): readonly string[] =>
  explained
    .flatMap(({ purchases }) => purchases)
    .flatMap(({ purchase: { store }, lines }) => lines.map((line) => ({ store, ...line })))
    .filter(({ grants }) => grants.includes(entitlement))
    .toSorted((a, b) => compare(b.expiresAt ?? Infinity, a.expiresAt ?? Infinity))
    .slice(0, NAMED_BESIDE_AN_ENTITLEMENT)
    .map(({ store, line: { productIdentifier, basePlanIdentifier }, grants, why }) => {
      const product =
        basePlanIdentifier === null ? productIdentifier : `${productIdentifier} ${basePlanIdentifier}`;
      return `${product} (${store}): ${why[grants.indexOf(entitlement)] ?? ""}`;
    });

interface OfApplication {
  readonly application: string;
}

export const readApplication = async (session: Session, asked: OfApplication) => {
  const application = await findApplication(asked.application, session);
  const [report, credentials, destinations, audit] = await Promise.all([
    reportApplication(session, application),
    session.credentials.list(application.identifier),
    reportDestinations(session.deliveries, application),
    auditEntriesOf(session, application),
  ]);
  const { manifest, lines } = report;
  return {
    identifier: application.identifier,
    name: application.name,
    iosStore: application.iosStore.map(({ bundleIdentifier, environments, serverApi }) => ({
      bundleIdentifier,
      environments,
      serverApiKey: serverApi?.keyIdentifier ?? null,
    })),
    // Only the kind of a credential is shown.
    androidStore: application.androidStore.map(
      ({ packageName, environments, credential, notifications }) => ({
        packageName,
        environments,
        credential: Object.keys(credential)[0] ?? "none",
        pushedBy: notifications?.serviceAccount ?? null,
      }),
    ),
    products: manifest.products,
    nothing: nothingOf(manifest),
    state: lines,
    credentials: credentials.map((credential) => credentialJson(credential, session.moment)),
    destinations: destinations.map((report) => destinationJson(report, session.moment)),
    audit: newestOf(audit),
    auditEntries: audit.length,
  };
};

export const readAccount = async (
  session: Session,
  asked: OfApplication & { readonly account: string; readonly page: number },
) => {
  const { moment } = session;
  const account = readAccountIdentifier(asked.account);
  const application = await findApplication(asked.application, session);
  const report = await loadAccountReport(session, application, account, moment);
  const explained = explain(moment, report.customers, application);
  const page: Page = { number: asked.page, size: PURCHASES_ON_A_PAGE };
  requirePage(page, countOf(explained));
  const json = accountJson(report, explained, moment, page);
  const spans = explained.flatMap(({ purchases }) => purchases.flatMap((purchase) => purchase.spans));
  const spansOf = Map.groupBy(spans, ({ holding }) => referenceText(holding.purchase));
  const asking = new Map(report.customers.flatMap((customer) => [...customer.asking]));
  const sought = await soughtAccount(session, application, account, report.customers);
  const audit = await auditEntriesOf(session, application);
  return {
    ...json,
    page: asked.page,
    told: report.told && toldLines(report.told),
    entitlements: json.entitlements.map((entitlement) => ({
      ...entitlement,
      why: whyOf(explained, entitlement.identifier),
    })),
    customers: json.customers.map((customer) => ({
      ...customer,
      purchases: customer.purchases.map((purchase) => {
        const reference = referenceText(purchase);
        return {
          ...purchase,
          sentences: purchaseLines(purchase, purchase.why, asking.get(reference), moment),
          lines: pictureOf(purchase, spansOf.get(reference) ?? [], asking.get(reference)),
        };
      }),
    })),
    audit: newestOf(audit.filter((entry) => isShown(sought, entry))),
  };
};

export const readCustomer = async (
  session: Session,
  asked: OfApplication & { readonly customer: string },
) => {
  const application = await findApplication(asked.application, session);
  const customer = await findReport(session, application, readCustomerIdentifier(asked.customer));
  return { ...customerReportJson(customer), moment: session.moment };
};

export const search = async (session: Session, asked: OfApplication & { readonly text: string }) => {
  const { customers: table, moment } = session;
  const application = await findApplication(asked.application, session);
  const account = accountIdentifier().safeParse(asked.text);
  const linked = account.success
    ? await table.findAccount(application.identifier, accountId(account.data))
    : [];
  const { customers, gone, erased } = await findCustomersKnownAs(table, application, asked.text, moment);
  return {
    account: linked.length > 0 ? asked.text : null,
    customers: customers.map(({ identifier, link }) => ({
      customerIdentifier: identifier,
      account: link?.account ?? null,
    })),
    gone,
    erased,
  };
};
