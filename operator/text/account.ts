import type {
  AccountReport,
  ReportedCustomer,
  ToldReport,
} from "../../lib/administration/reports/account-report.ts";
import type { Asking } from "../../lib/administration/reports/asking.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { type Line, type Purchase, referenceText } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { type Instant, isoTime } from "../../lib/entitlements/time.ts";
import type { Terms } from "../../lib/entitlements/timeline.ts";
import { OperatorError } from "../operator-error.ts";
import { type Answer, columns, counted, type Lines, timeOrNull } from "./answer.ts";
import { askingJson, askingText } from "./asking.ts";
import { explain, type ExplainedCustomer, type ExplainedPurchase } from "./explanation.ts";

export interface Page {
  /** From 1 on. */
  readonly number: number;
  readonly size: number;
}

export const EVERYTHING: Page = { number: 1, size: Infinity };

/** @throws OperatorError */
export const readCount = (text: string, name: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new OperatorError(`${name} must be a number from 1 on.`);
  return Number(text);
};

const pagesOf = ({ size }: Page, total: number): number => Math.max(1, Math.ceil(total / size));

export const requirePage = (page: Page, total: number): void => {
  const pages = pagesOf(page, total);
  if (page.number > pages)
    throw new OperatorError(`There is no page ${page.number}: it has ${counted(pages, "page")}.`);
};

/** @param index from 0 on */
const isOnPage = ({ number, size }: Page, index: number): boolean => Math.floor(index / size) === number - 1;

const pageText = (page: Page, total: number): string | false => {
  const pages = pagesOf(page, total);
  const first = (page.number - 1) * page.size + 1;
  const last = Math.min(total, page.number * page.size);
  const next = page.number < pages ? `; the next ones: --page ${page.number + 1}` : "";
  return pages > 1 && `Purchases ${first} to ${last} of ${total}${next}`;
};

/** Null: the application tells no changes. */
export const toldJson = (told: ToldReport | null) =>
  told && {
    version: told.last?.version ?? 0,
    toldAt: told.last?.change?.toldAt ?? null,
    // Null: the change is not kept any more.
    entitlements: told.last?.change?.data?.entitlements ?? null,
    entitlementIdentifiers: told.last?.entitlements ?? [],
    lookDueSince: told.lookDueSince,
    nextLookAt: told.nextLookAt,
    destinations: told.destinations.map(({ name, waiting }) => {
      if (waiting === null) return { name, waiting };
      const { version, since, tries, nextTryAt } = waiting;
      return { name, waiting: { version, since, tries, nextTryAt } };
    }),
  };

const lastText = ({ last }: ToldReport): string => {
  if (last === null) return "nothing yet";
  const { change, entitlements, version } = last;
  const stated = change?.data?.entitlements.map(({ identifier, status }) => `${identifier} ${status}`);
  const state = stated ?? entitlements;
  const at = change === null ? "more than 30 days ago" : isoTime(change.toldAt);
  return `version ${version}, ${at}: ${state.length === 0 ? "no entitlements" : state.join(", ")}`;
};

const destinationText = ({ name, waiting }: ToldReport["destinations"][number]): string => {
  if (waiting === null) return `${name}: nothing waits`;
  const { version, since, tries, nextTryAt } = waiting;
  const next = nextTryAt === 0 ? "at once" : isoTime(nextTryAt);
  return `${name}: version ${version} waits, since ${isoTime(since)}; ${counted(tries, "try", "tries")}, next ${next}`;
};

const lookText = ({ lookDueSince, nextLookAt }: ToldReport): string =>
  lookDueSince !== null
    ? `to be looked at since ${isoTime(lookDueSince)}`
    : nextLookAt === null
      ? "next look: when something changes it"
      : `next look: at ${isoTime(nextLookAt)}, or when something changes it`;

export const toldLines = (told: ToldReport): readonly string[] => [
  lastText(told),
  ...told.destinations.map(destinationText),
  lookText(told),
];

const purchaseJson = ({ asking }: ReportedCustomer, { purchase, why, lines }: ExplainedPurchase) => {
  const [verifiedAt, by] = verifiedBy(purchase) ?? [null, null];
  return {
    ...purchase,
    verifiedAt,
    verifiedBy: by,
    ...askingJson(asking.get(referenceText(purchase))),
    why,
    lines: lines.map(({ line, status, expiresAt, why }) => ({ ...line, status, expiresAt, why })),
  };
};

const customerJson = ({ customer, purchases }: ExplainedCustomer) => ({
  customerIdentifier: customer.customerIdentifier,
  assertedBy: customer.link.assertedBy,
  linkedAt: customer.link.linkedAt,
  createdAt: customer.createdAt,
  aliases: customer.aliases,
  purchases: purchases.map((one) => purchaseJson(customer, one)),
});

export const spanText = ({ startsAt, endsAt }: Pick<Line, "startsAt" | "endsAt">): string =>
  `${timeOrNull(startsAt) ?? "no start"} to ${timeOrNull(endsAt) ?? "no end"}`;

const lineText = ({ line, status, why }: ExplainedPurchase["lines"][number]): readonly Lines[] => {
  const product = [line.productIdentifier, line.basePlanIdentifier].filter((part) => part !== null).join(" ");
  return [`${product}  ${spanText(line)}  ${status ?? line.standing}`, why];
};

/** Time and source of the last verification; null: another purchase only mentions it. */
const verifiedBy = ({ store, verifiedAt, renewal }: Purchase): readonly [Instant, string] | null => {
  if (renewal !== null && renewal.signedAt > verifiedAt) return [renewal.signedAt, "a renewal info"];
  if (verifiedAt === 0) return null;
  return [verifiedAt, store === "ios-store" ? "a transaction" : "Google's answer"];
};

const verifiedText = (purchase: Purchase): string => {
  const verified = verifiedBy(purchase);
  return verified === null ? "" : `, verified ${isoTime(verified[0])} by ${verified[1]}`;
};

const renewalText = ({ willRenew, renewsInto, graceEndsAt, isInBillingRetry, signedAt }: Renewal): string =>
  [
    willRenew ? "renews" : "does not renew",
    renewsInto !== null && `into ${renewsInto}`,
    graceEndsAt !== null && `in a grace period until ${isoTime(graceEndsAt)}`,
    isInBillingRetry && "in billing retry",
    `(signed ${isoTime(signedAt)})`,
  ]
    .filter((part) => part !== false)
    .join(" ");

/** Lines about a purchase as a whole, and the next question to its store. */
export const purchaseLines = (
  purchase: Pick<Purchase, "store" | "renewal">,
  why: readonly string[],
  asking: Asking | undefined,
  moment: Instant,
): readonly string[] => [
  ...why,
  ...(purchase.renewal === null ? [] : [renewalText(purchase.renewal)]),
  ...askingText(purchase, asking, moment),
];

const purchaseText = (
  { asking }: ReportedCustomer,
  { purchase, why, lines }: ExplainedPurchase,
  moment: Instant,
): readonly Lines[] => [
  `${purchase.store} ${purchase.environment} purchase ${purchase.key}${verifiedText(purchase)}`,
  [...purchaseLines(purchase, why, asking.get(referenceText(purchase)), moment), ...lines.flatMap(lineText)],
];

const customerText = ({ customer, purchases }: ExplainedCustomer, moment: Instant): readonly Lines[] => [
  `Customer ${customer.customerIdentifier}`,
  [
    `created ${isoTime(customer.createdAt)}, linked ${isoTime(customer.link.linkedAt)} by a ${customer.link.assertedBy}`,
    customer.aliases.length > 0 && `merged from ${customer.aliases.join(", ")}`,
    purchases.length === 0 && "no purchases",
    ...purchases.flatMap((one) => purchaseText(customer, one, moment)),
  ],
];

const entitlementRow = (entitlement: CustomerEntitlement): string[] => [
  entitlement.identifier,
  entitlement.status,
  entitlement.active
    ? entitlement.expiresAt === null
      ? "for ever"
      : `until ${entitlement.expiresAt}`
    : "no access",
  `${entitlement.store} ${entitlement.productIdentifier ?? ""}`,
];

/** Purchases that give access come first, then the latest start. */
const inOrder = (purchases: readonly ExplainedPurchase[]): readonly ExplainedPurchase[] => {
  const lastStart = ({ lines }: ExplainedPurchase): Instant =>
    Math.max(0, ...lines.map(({ line }) => line.startsAt ?? 0));
  const gives = ({ lines }: ExplainedPurchase): number =>
    lines.some(({ status }) => status === "active" || status === "grace_period") ? 0 : 1;
  return purchases.toSorted((a, b) => gives(a) - gives(b) || lastStart(b) - lastStart(a));
};

/** The customers of a page with their purchases on it; a customer without purchases is on the first page. */
const onPage = (explained: readonly ExplainedCustomer[], page: Page): readonly ExplainedCustomer[] => {
  let before = 0;
  return explained.flatMap(({ customer, purchases }) => {
    const shown = inOrder(purchases).filter((_, index) => isOnPage(page, before + index));
    before += purchases.length;
    const isShown = shown.length > 0 || (purchases.length === 0 && page.number === 1);
    return isShown ? [{ customer, purchases: shown }] : [];
  });
};

export const countOf = (explained: readonly ExplainedCustomer[]): number =>
  explained.reduce((sum, { purchases }) => sum + purchases.length, 0);

export const accountJson = (
  { application, account, entitlements, told }: AccountReport,
  explained: readonly ExplainedCustomer[],
  moment: Instant,
  page: Page,
) => {
  const total = countOf(explained);
  return {
    applicationIdentifier: application.identifier,
    applicationName: application.name,
    applicationAccountIdentifier: account,
    moment: isoTime(moment),
    entitlements,
    told: toldJson(told),
    purchases: total,
    pages: pagesOf(page, total),
    customers: onPage(explained, page).map(customerJson),
  };
};

export const presentAccount = (
  report: AccountReport,
  terms: Terms,
  moment: Instant,
  pages: { readonly text: Page; readonly json: Page } = { text: EVERYTHING, json: EVERYTHING },
): Answer => {
  const { application, account, customers, entitlements } = report;
  const explained = explain(moment, customers, terms);
  const total = countOf(explained);
  requirePage(pages.text, total);
  return {
    json: accountJson(report, explained, moment, pages.json),
    text: [
      `Account ${account} of ${application.name} (${application.identifier}) at ${isoTime(moment)}`,
      "Entitlements",
      entitlements.length === 0 ? ["none"] : columns(entitlements.map(entitlementRow)),
      ...(report.told === null ? [] : ["Told", toldLines(report.told)]),
      explained.length === 0 && "No customer is linked to it.",
      explained.length === 0 &&
        `What operators changed: application audit ${application.identifier} --account ${account}`,
      pageText(pages.text, total),
      ...onPage(explained, pages.text).flatMap((one) => customerText(one, moment)),
    ],
  };
};
