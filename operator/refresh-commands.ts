import * as z from "zod";
import { askingOf, healthFor } from "../lib/administration/reports/asking.ts";
import {
  awaitRefreshes,
  queueApplication,
  queueCustomer,
  readRefreshes,
  type ApplicationRefresh,
  type RefreshedPurchase,
  type RefreshProgress,
} from "../lib/administration/acts/refresh.ts";
import type { Application } from "../lib/applications/application.ts";
import { STORES, type Store } from "../lib/contract/schemas.ts";
import type { StoredCustomer } from "../lib/customers/records.ts";
import { SECOND } from "../lib/duration.ts";
import { entitlementsAt } from "../lib/entitlements/entitlements.ts";
import type { Purchase } from "../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../lib/entitlements/time.ts";
import { lastHeard } from "../lib/entitlements/next-ask.ts";
import { recordAct, type ActingOptions } from "./acting.ts";
import { type Answer, counted, indent, timeOrNull } from "./answer.ts";
import { notAskedText, pauseJson, pauseText } from "./asking-text.ts";
import { refreshingOn } from "./composition.ts";
import type { Confirmation } from "./confirmation.ts";
import { OperatorError } from "./operator-error.ts";
import {
  findApplication,
  readApplicationIdentifier,
  readCustomerIdentifier,
  type Session,
} from "./session.ts";

/** Longest wait for the answers of the stores: the worker starts within a minute. */
const WAIT_MILLISECONDS = 90 * SECOND;

/** State of what a purchase gives, such as an entitlement's, in words. */
interface State {
  readonly name: string;
  readonly state: string;
}

/** A change of what a purchase gives. */
interface StateChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

const untilText = (end: string | null): string => (end === null ? "for ever" : `until ${end}`);

/** States of the entitlements that a purchase alone grants at the moment, or of its products if they grant none. */
const statesOf = (
  { identifier, link }: StoredCustomer,
  purchase: Purchase,
  application: Application,
  moment: Instant,
): readonly State[] => {
  const holding = { customerIdentifier: identifier, assertedBy: link?.assertedBy ?? null, purchase };
  const entitlements = entitlementsAt(moment, [holding], application).map((entitlement) => ({
    name: entitlement.identifier,
    state: entitlement.active
      ? `${entitlement.status} ${untilText(entitlement.expiresAt)}`
      : entitlement.status,
  }));
  if (entitlements.length > 0) return entitlements;
  return purchase.lines.map(({ productIdentifier, standing, endsAt }) => ({
    name: productIdentifier,
    state: `${standing} ${untilText(timeOrNull(endsAt))}`,
  }));
};

/** Differences between two states of a purchase. A product may have several lines. */
const changesOf = (before: readonly State[], after: readonly State[]): readonly StateChange[] => {
  const stateIn = (states: readonly State[], name: string): string | null =>
    states.flatMap((one) => (one.name === name ? one.state : [])).join(", ") || null;
  return [...new Set([...before, ...after].map(({ name }) => name))]
    .map((name) => ({ name, before: stateIn(before, name), after: stateIn(after, name) }))
    .filter((change) => change.before !== change.after);
};

const stateChangeText = ({ name, before, after }: StateChange): string =>
  `${name}: ${before ?? "none"} → ${after ?? "none"}`;

const productsOf = ({ lines }: Purchase): readonly string[] => [
  ...new Set(lines.map(({ productIdentifier }) => productIdentifier)),
];

const heardText = (purchase: Purchase): string | null => {
  const heard = lastHeard(purchase);
  return heard === 0 ? null : isoTime(heard);
};

const DROPPED = "the store no longer knows it, and is not asked again";
const ERASED = "erased meanwhile";

/** Outcome for a purchase, in a sentence. */
const outcomeText = (
  refreshed: RefreshedPurchase,
  changes: readonly StateChange[],
  { healths }: RefreshProgress,
  application: Application,
  moment: Instant,
): readonly string[] => {
  const { purchase } = refreshed.before;
  const { store } = purchase;
  switch (refreshed.outcome) {
    case "not-asked":
      return [notAskedText(store, refreshed.because)];
    case "erased":
      return [ERASED];
    case "dropped":
      return [DROPPED];
    case "answered":
      return changes.length === 0 ? ["nothing new"] : changes.map(stateChangeText);
    case "unanswered": {
      const { ask } = refreshed.after;
      const next = ask === null ? "" : `; it is asked again at ${isoTime(ask.at)}`;
      return [`the store's answer could not be used${next}`];
    }
    case "waiting": {
      const paused = pauseText(store, healthFor(healths, askingOf(application, refreshed.after)), moment);
      return ["still waiting", ...(paused.length > 0 ? paused : ["The service has not asked yet"])];
    }
  }
};

const isUnfinished = ({ outcome }: RefreshedPurchase): boolean =>
  outcome === "waiting" || outcome === "unanswered";

const presentCustomer = (
  application: Application,
  customer: StoredCustomer,
  report: RefreshProgress,
  moment: Instant,
  { wait }: { readonly wait: boolean },
): Answer => {
  const rows = report.purchases.map((refreshed) => {
    const { before } = refreshed;
    const after = "after" in refreshed ? refreshed.after : before;
    const states = (purchase: Purchase) => statesOf(customer, purchase, application, moment);
    const changes = changesOf(states(before.purchase), states(after.purchase));
    return { refreshed, purchase: after.purchase, refreshAt: after.ask?.at ?? null, changes };
  });
  return {
    unfinished: wait && report.purchases.some(isUnfinished),
    json: {
      applicationIdentifier: application.identifier,
      customerIdentifier: customer.identifier,
      purchases: rows.map(({ refreshed, purchase, refreshAt, changes }) => ({
        store: purchase.store,
        environment: purchase.environment,
        key: purchase.key,
        productIdentifiers: productsOf(purchase),
        outcome: refreshed.outcome,
        notAskedBecause: refreshed.outcome === "not-asked" ? refreshed.because : null,
        verifiedAt: heardText(purchase),
        changes,
        refreshAt: timeOrNull(refreshAt),
        queuePaused:
          refreshed.outcome === "waiting"
            ? pauseJson(healthFor(report.healths, askingOf(application, refreshed.after)))
            : null,
      })),
    },
    text: [
      `Customer ${customer.identifier} of ${application.name}`,
      ...indent(
        rows.length === 0
          ? ["no purchases"]
          : rows.flatMap(({ refreshed, purchase, changes }) => [
              `${purchase.store} ${purchase.environment} purchase ${purchase.key}  ${productsOf(purchase).join(", ")}`,
              ...indent([
                `verified ${heardText(purchase) ?? "never"}`,
                ...(wait || refreshed.outcome !== "waiting"
                  ? outcomeText(refreshed, changes, report, application, moment)
                  : ["queued to be asked about now"]),
              ]),
            ]),
      ),
    ].join("\n"),
  };
};

export interface CustomerRefreshOptions extends ActingOptions {
  /** False: return once everything is queued. */
  readonly wait: boolean;
}

/** Has the stores asked about every purchase of a customer now, and shows their answers. */
export const refreshCustomer = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
  customerText: string,
  options: CustomerRefreshOptions,
): Promise<Answer> => {
  const identifier = readCustomerIdentifier(customerText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const refreshing = refreshingOn(session.table, session);
  const queued = await queueCustomer(refreshing, application, identifier, async (customer) => {
    await recordAct(session, application.identifier, options, "refresh", {
      customer: customer.identifier,
      accounts: await session.hashAccounts(
        application.identifier,
        customer.link === null ? [] : [customer.link.account],
      ),
      what: ["begun: the stores are asked about its purchases"],
    });
  });
  if (queued === null) throw new OperatorError(`There is no customer ${identifier} in ${application.name}.`);
  const count = queued.purchases.filter(({ outcome }) => outcome === "queued").length;
  if (options.wait && count > 0)
    progress(`queued ${counted(count, "purchase")}; waiting for the answers of the stores`);
  const report = options.wait
    ? await awaitRefreshes(refreshing, application, queued.purchases, WAIT_MILLISECONDS)
    : await readRefreshes(refreshing, application, queued.purchases);
  return presentCustomer(application, queued.customer, report, session.now(), options);
};

const readStore = (text: string | undefined): Store | null => {
  if (text === undefined) return null;
  const store = STORES.find((one) => one === text);
  if (store === undefined) throw new OperatorError(`--store must be ${STORES.join(" or ")}.`);
  return store;
};

const readSince = (text: string | undefined, moment: Instant): Instant => {
  if (text === undefined) return moment;
  if (!z.iso.datetime({ offset: true }).safeParse(text).success)
    throw new OperatorError("--since must be a time such as 2027-01-31T00:00:00Z.");
  return Date.parse(text);
};

/** Time until the queue is empty, if nothing else is due. */
const remainingText = ({ until }: ApplicationRefresh, moment: Instant): string => {
  const seconds = Math.max(0, Math.ceil(((until ?? moment) - moment) / SECOND));
  return seconds < 60 ? counted(seconds, "second") : counted(Math.ceil(seconds / 60), "minute");
};

export interface ApplicationRefreshOptions extends ActingOptions {
  readonly store?: string;
  readonly since?: string;
}

/** Queues the purchases of all customers of an application, spread over time. */
export const refreshApplication = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
  options: ApplicationRefreshOptions,
): Promise<Answer> => {
  const only = readStore(options.store);
  const since = readSince(options.since, session.moment);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  await recordAct(session, application.identifier, options, "refresh", {
    what: [
      `begun: ${only === null ? "the stores are" : `the ${only} is`} asked about the purchases of every customer that were not verified since ${isoTime(since)}`,
    ],
  });
  progress(`If this is interrupted, repeat it with --since ${isoTime(since)}`);
  const done = await queueApplication(
    refreshingOn(session.table, session),
    application,
    { since, only },
    (sofar) =>
      progress(
        `${counted(sofar.customers, "customer")}, ${counted(sofar.queued, "purchase")} queued, worked off in about ${remainingText(sofar, session.now())}`,
      ),
  );
  const { customers, queued, alreadyQueued, recent, notAsked, until } = done;
  return {
    json: {
      applicationIdentifier: application.identifier,
      since: isoTime(since),
      customers,
      queued,
      alreadyQueued,
      recent,
      notAsked,
      until: timeOrNull(until),
    },
    text: [
      `${counted(customers, "customer")} of ${application.name}`,
      ...indent([
        `${counted(queued, "purchase")} queued, worked off in about ${remainingText(done, session.now())}`,
        ...(alreadyQueued > 0 ? [`${alreadyQueued} were due already`] : []),
        ...(recent > 0 ? [`${recent} verified since ${isoTime(since)}`] : []),
        ...notAsked.map(({ store, because, count }) => `${count}: ${notAskedText(store, because)}`),
      ]),
    ].join("\n"),
  };
};
