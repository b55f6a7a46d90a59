import {
  queueApplication,
  type ApplicationRefresh,
} from "../../lib/administration/acts/refresh-application.ts";
import { awaitRefreshes, queueCustomer } from "../../lib/administration/acts/refresh.ts";
import { STORES } from "../../lib/contract/schemas.ts";
import { SECOND } from "../../lib/duration.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { refreshingOn } from "../session.ts";
import { OperatorError } from "../operator-error.ts";
import { counted } from "../text/answer.ts";
import { notAskedText } from "../text/asking.ts";
import { presentRefresh } from "../text/refresh.ts";
import { ACTING, recordAct } from "./acting.ts";
import { APPLICATION, CUSTOMER, readTime } from "./arguments.ts";
import { command, flag, oneOf, optional } from "./command.ts";
import { noCustomer } from "./customer.ts";

/** Longest wait for the answers of the stores: the worker starts within a minute. */
const WAIT_MILLISECONDS = 90 * SECOND;

export const refreshCustomer = command({
  name: "customer refresh",
  about: "ask the stores about a customer's purchases now, and show what they said",
  takes: { application: APPLICATION, customer: CUSTOMER },
  options: { ...ACTING, wait: flag("--no-wait", "return once they are queued") },
  run: async ({ session, application, customer: identifier, options, progress }) => {
    const refreshing = refreshingOn(session.table, session);
    const queued = await queueCustomer(refreshing, application, identifier, async ({ identifier, link }) => {
      await recordAct(session, application, options, "refresh", {
        customer: identifier,
        accounts: link === null ? [] : [link.account],
        what: ["begun: the stores are asked about its purchases"],
      });
    });
    if (queued === null) throw noCustomer(identifier, application);
    const count = queued.purchases.filter(({ outcome }) => outcome === "queued").length;
    if (options.wait && count > 0)
      progress(`queued ${counted(count, "purchase")}; waiting for the answers of the stores`);
    const longest = options.wait ? WAIT_MILLISECONDS : 0;
    const refreshes = await awaitRefreshes(refreshing, application, queued.purchases, longest);
    return presentRefresh(application, queued.customer, refreshes, session.now(), options);
  },
});

const readSince = (text: string, name: string): Instant => {
  const since = readTime(text);
  if (since === null) throw new OperatorError(`${name} must be a time such as 2027-01-31T00:00:00Z.`);
  return since;
};

/** Time until the queue is empty, if nothing else is due. */
const remainingText = ({ until }: ApplicationRefresh, moment: Instant): string => {
  const seconds = Math.max(0, Math.ceil(((until ?? moment) - moment) / SECOND));
  return seconds < 60 ? counted(seconds, "second") : counted(Math.ceil(seconds / 60), "minute");
};

export const refreshApplication = command({
  name: "application refresh",
  about: "ask the stores about the purchases of all customers, one after the other",
  takes: { application: APPLICATION },
  options: {
    ...ACTING,
    store: optional("--store <store>", "ask only the ios-store or the android-store", oneOf(STORES)),
    since: optional(
      "--since <time>",
      "leave out purchases verified since then: the time that an interrupted run names; now by default",
      readSince,
    ),
  },
  run: async ({ session, application, options, progress }) => {
    const { store: only } = options;
    const since = options.since ?? session.moment;
    const asked = only === null ? "the stores are" : `the ${only} is`;
    await recordAct(session, application, options, "refresh", {
      what: [
        `begun: ${asked} asked about the purchases of every customer that were not verified since ${isoTime(since)}`,
      ],
    });
    progress(`If this is interrupted, repeat it with --since ${isoTime(since)}`);
    const queuedText = (sofar: ApplicationRefresh): string =>
      `${counted(sofar.queued, "purchase")} queued, worked off in about ${remainingText(sofar, session.now())}`;
    const done = await queueApplication(
      refreshingOn(session.table, session),
      application,
      { since, only },
      (sofar) => progress(`${counted(sofar.customers, "customer")}, ${queuedText(sofar)}`),
    );
    const { customers, alreadyQueued, recent, notAsked } = done;
    return {
      json: {
        applicationIdentifier: application.identifier,
        since,
        ...done,
      },
      text: [
        `${counted(customers, "customer")} of ${application.name}`,
        [
          queuedText(done),
          alreadyQueued > 0 && `${alreadyQueued} were due already`,
          recent > 0 && `${recent} verified since ${isoTime(since)}`,
          ...notAsked.map(({ store, because, count }) => `${count}: ${notAskedText(store, because)}`),
        ],
      ],
    };
  },
});
