import type { Command } from "commander";
import * as z from "zod";
import { queueCustomer } from "../../lib/administration/acts/refresh.ts";
import {
  queueApplication,
  type ApplicationRefresh,
} from "../../lib/administration/acts/refresh-application.ts";
import { awaitRefreshes, readRefreshes } from "../../lib/administration/acts/refresh-progress.ts";
import { STORES, type Store } from "../../lib/contract/schemas.ts";
import { SECOND } from "../../lib/duration.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { recordAct, type ActingOptions } from "./acting.ts";
import { type Answer, counted, indent, timeOrNull } from "../text/answer.ts";
import { notAskedText } from "../text/asking.ts";
import { presentRefresh } from "../text/refresh.ts";
import { refreshingOn } from "../composition.ts";
import type { Confirmation } from "./confirmation.ts";
import { OperatorError } from "../operator-error.ts";
import {
  findApplication,
  readApplicationIdentifier,
  readCustomerIdentifier,
  type Session,
} from "../session.ts";
import { acting, APPLICATION, CUSTOMER, type Frame } from "./frame.ts";

/** Longest wait for the answers of the stores: the worker starts within a minute. */
const WAIT_MILLISECONDS = 90 * SECOND;

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
  return presentRefresh(application, queued.customer, report, session.now(), options);
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

/** Defines `customer refresh`. */
export const addCustomerRefresh = (customer: Command, { answer, confirmation }: Frame): void => {
  acting(customer.command("refresh"))
    .description("ask the stores about a customer's purchases now, and show what they said")
    .argument(...APPLICATION)
    .argument(...CUSTOMER)
    .option("--no-wait", "return once they are queued")
    .action((applicationText: string, customerText: string, options: CustomerRefreshOptions) =>
      answer((session) => refreshCustomer(session, confirmation, applicationText, customerText, options)),
    );
};

/** Defines `application refresh`. */
export const addApplicationRefresh = (application: Command, { answer, confirmation }: Frame): void => {
  acting(application.command("refresh"))
    .description("ask the stores about the purchases of all customers, one after the other")
    .argument(...APPLICATION)
    .option("--store <store>", "ask only the ios-store or the android-store")
    .option(
      "--since <time>",
      "leave out purchases verified since then: the time that an interrupted run names; now by default",
    )
    .action((identifier: string, options: ApplicationRefreshOptions) =>
      answer((session) => refreshApplication(session, confirmation, identifier, options)),
    );
};
