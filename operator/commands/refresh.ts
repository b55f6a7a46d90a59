import {
  type ApplicationRefresh,
  awaitRefreshes,
  queueApplication,
  queueCustomer,
  type RefreshedPurchase,
} from "../../lib/administration/acts/refresh.ts";
import type { Application } from "../../lib/applications/application.ts";
import { STORES } from "../../lib/contract/schemas.ts";
import type { StoredCustomer } from "../../lib/customers/storing/records.ts";
import { SECOND } from "../../lib/duration.ts";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import { lastHeard } from "../../lib/entitlements/next-ask.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { type Instant, isoTime } from "../../lib/entitlements/time.ts";
import { OperatorError } from "../operator-error.ts";
import { type Answer, counted, type Lines, timeOrNull } from "../text/answer.ts";
import { notAskedText, pauseJson, pauseText } from "../text/asking.ts";
import { ACTING, recordAct } from "./audit.ts";
import { APPLICATION, command, CUSTOMER, flag, oneOf, optional, readTime } from "./command.ts";
import { noCustomer } from "./customer.ts";

const untilText = (end: string | null): string => (end === null ? "for ever" : `until ${end}`);

/** A state in words for each entitlement that a purchase alone grants, or for each product if it grants none. */
type States = ReadonlyMap<string, string>;

const statesOf = (
  { identifier, link }: StoredCustomer,
  purchase: Purchase,
  application: Application,
  moment: Instant,
): States => {
  const holding = { customerIdentifier: identifier, assertedBy: link?.assertedBy ?? null, purchase };
  const entitlements = entitlementsAt(moment, [holding], application);
  if (entitlements.length > 0)
    return new Map(
      entitlements.map(({ identifier, active, status, expiresAt }) => [
        identifier,
        active ? `${status} ${untilText(expiresAt)}` : status,
      ]),
    );
  const ofProduct = Map.groupBy(purchase.lines, ({ productIdentifier }) => productIdentifier);
  const textOf = ({ standing, endsAt }: Line): string => `${standing} ${untilText(timeOrNull(endsAt))}`;
  return new Map([...ofProduct].map(([product, lines]) => [product, lines.map(textOf).join(", ")]));
};

const changesOf = (before: States, after: States) =>
  [...new Set([...before.keys(), ...after.keys()])]
    .map((name) => ({ name, before: before.get(name) ?? null, after: after.get(name) ?? null }))
    .filter((change) => change.before !== change.after);
type StateChange = ReturnType<typeof changesOf>[number];

const stateChangeText = ({ name, before, after }: StateChange): string =>
  `${name}: ${before ?? "none"} → ${after ?? "none"}`;

const productsOf = ({ lines }: Purchase): readonly string[] => [
  ...new Set(lines.map(({ productIdentifier }) => productIdentifier)),
];

const outcomeText = (
  refreshed: RefreshedPurchase,
  changes: readonly StateChange[],
  moment: Instant,
): readonly string[] => {
  const { store } = refreshed.before.purchase;
  switch (refreshed.outcome) {
    case "not-asked":
      return [notAskedText(store, refreshed.because)];
    case "erased":
      return ["erased meanwhile"];
    case "dropped":
      return ["the store no longer knows it, and is not asked again"];
    case "answered":
      return changes.length === 0 ? ["nothing new"] : changes.map(stateChangeText);
    case "unanswered": {
      const { ask } = refreshed.after;
      const next = ask === null ? "" : `; it is asked again at ${isoTime(ask.at)}`;
      return [`the store's answer could not be used${next}`];
    }
    case "waiting": {
      const paused = pauseText(store, refreshed.health, moment);
      return ["still waiting", ...(paused.length > 0 ? paused : ["The service has not asked yet"])];
    }
  }
};

const isUnfinished = ({ outcome }: RefreshedPurchase): boolean =>
  outcome === "waiting" || outcome === "unanswered";

const rowOf = (
  application: Application,
  customer: StoredCustomer,
  refreshed: RefreshedPurchase,
  moment: Instant,
) => {
  const { before } = refreshed;
  const { purchase, ask } = "after" in refreshed ? refreshed.after : before;
  const states = (of: Purchase) => statesOf(customer, of, application, moment);
  const changes = changesOf(states(before.purchase), states(purchase));
  return { refreshed, purchase, refreshAt: ask?.at ?? null, changes };
};
type Row = ReturnType<typeof rowOf>;

const rowJson = ({ refreshed, purchase, refreshAt, changes }: Row) => ({
  store: purchase.store,
  environment: purchase.environment,
  key: purchase.key,
  productIdentifiers: productsOf(purchase),
  outcome: refreshed.outcome,
  notAskedBecause: refreshed.outcome === "not-asked" ? refreshed.because : null,
  verifiedAt: lastHeard(purchase),
  changes,
  refreshAt,
  queuePaused: refreshed.outcome === "waiting" ? pauseJson(refreshed.health) : null,
});

const rowText = ({ refreshed, purchase, changes }: Row, wait: boolean, moment: Instant): readonly Lines[] => [
  `${purchase.store} ${purchase.environment} purchase ${purchase.key}  ${productsOf(purchase).join(", ")}`,
  [
    `verified ${timeOrNull(lastHeard(purchase)) ?? "never"}`,
    ...(wait || refreshed.outcome !== "waiting"
      ? outcomeText(refreshed, changes, moment)
      : ["queued to be asked about now"]),
  ],
];

const presentRefresh = (
  application: Application,
  customer: StoredCustomer,
  refreshes: readonly RefreshedPurchase[],
  moment: Instant,
  { wait }: { readonly wait: boolean },
): Answer => {
  const rows = refreshes.map((refreshed) => rowOf(application, customer, refreshed, moment));
  return {
    unfinished: wait && refreshes.some(isUnfinished),
    json: {
      applicationIdentifier: application.identifier,
      customerIdentifier: customer.identifier,
      purchases: rows.map(rowJson),
    },
    text: [
      `Customer ${customer.identifier} of ${application.name}`,
      [rows.length === 0 && "no purchases", ...rows.flatMap((row) => rowText(row, wait, moment))],
    ],
  };
};

/** Longest wait for the answers of the stores: the worker starts within a minute. */
const WAIT_MILLISECONDS = 90 * SECOND;

export const refreshCustomer = command({
  name: "customer refresh",
  about: "ask the stores about a customer's purchases now, and show what they said",
  takes: { application: APPLICATION, customer: CUSTOMER },
  options: { ...ACTING, wait: flag("--no-wait", "return once they are queued") },
  run: async ({ session, application, customer: identifier, options, progress }) => {
    const queued = await queueCustomer(session, application, identifier, async ({ identifier, link }) => {
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
    const refreshes = await awaitRefreshes(session, application, queued.purchases, longest);
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
    const done = await queueApplication(session, application, { since, only }, (sofar) =>
      progress(`${counted(sofar.customers, "customer")}, ${queuedText(sofar)}`),
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
