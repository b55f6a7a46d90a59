import type { RefreshedPurchase } from "../../lib/administration/acts/refresh.ts";
import type { Application } from "../../lib/applications/application.ts";
import type { StoredCustomer } from "../../lib/customers/storing/records.ts";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import { lastHeard } from "../../lib/entitlements/next-ask.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { type Answer, type Lines, timeOrNull } from "./answer.ts";
import { notAskedText, pauseJson, pauseText } from "./asking.ts";

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

/** A purchase's outcome, with what it is now and how its states have changed. */
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

export const presentRefresh = (
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
