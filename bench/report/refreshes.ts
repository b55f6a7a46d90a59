import type { Store } from "../../lib/contract/schemas.ts";
import type { Consumption } from "../meter.ts";
import { sum } from "../measure.ts";
import type { Results } from "../results.ts";
import type { Life, Outcome, Plan } from "../refreshes/lives.ts";
import type { RefreshesResult } from "../sections/refreshes.ts";
import { ASSUMED } from "./cost.ts";
import { PRICES } from "./prices.ts";
import { costOf, MINUTES_OF_MONTH, roundTripsOf, usageLines, type CostLine } from "./usage.ts";
import { dollars, milliseconds, percent, requests, table, whole } from "./markdown.ts";

/** Assumed subscribers and the outcomes of their periods. */
export const ASSUMED_SUBSCRIBERS = {
  subscribers: 100_000,
  iosPart: 0.6,
  plans: { monthly: 0.75, yearly: 0.2, lifetime: 0.05 },
  /** Share of the subscribers that turn the renewal off, a month; those of a year: the same, compounded. */
  canceledPerMonth: 0.05,
  /** Share of the renewals whose charge fails first, and what becomes of those. */
  failed: 0.03,
  recoveredInGrace: 0.5,
  recoveredLater: 0.2,
  /** Share of the lifetime purchases that are in their first year. */
  firstYear: 0.3,
} as const;

/** Memory of the functions that refresh. */
const GIGABYTES = 0.5;
const HOURS_OF_MONTH = 720;
const MONTHS_OF_YEAR = 12;
/** Assumed processor time of a run, its refreshes left out. */
const RUN_CPU_MILLISECONDS = 4;

const { failed, recoveredInGrace, recoveredLater } = ASSUMED_SUBSCRIBERS;

/** Monthly rate of an outcome, for one subscriber of the plan. */
export const rateOf = (plan: Plan, outcome: Outcome): number => {
  const { canceledPerMonth, firstYear } = ASSUMED_SUBSCRIBERS;
  if (plan === "lifetime") return (outcome === "first year" ? firstYear : 1 - firstYear) / MONTHS_OF_YEAR;
  const months = plan === "monthly" ? 1 : MONTHS_OF_YEAR;
  const canceled = 1 - (1 - canceledPerMonth) ** months;
  const rates: Readonly<Partial<Record<Outcome, number>>> = {
    renewed: 1 - canceled - failed,
    canceled,
    "recovered in grace": failed * recoveredInGrace,
    "recovered later": failed * recoveredLater,
    lost: failed * (1 - recoveredInGrace - recoveredLater),
  };
  return (rates[outcome] ?? 0) / months;
};

/** Average monthly use by one subscriber's refreshes. */
export interface Monthly {
  readonly refreshes: number;
  readonly storeRequests: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly byReason: Readonly<Record<string, number>>;
}

const refreshesOf = ({ refreshes }: Life): number => sum(Object.values(refreshes));

const monthlyOf = (lives: readonly Life[], part: (life: Life) => number): Monthly => {
  const total = (of: (life: Life) => number) => sum(lives.map((life) => part(life) * of(life)));
  const reasons = [...new Set(lives.flatMap(({ refreshes }) => Object.keys(refreshes)))];
  return {
    refreshes: total(refreshesOf),
    storeRequests: total(({ storeRequests }) => storeRequests),
    readUnits: total(({ refreshing }) => refreshing.readUnits),
    writeUnits: total(({ refreshing }) => refreshing.writeUnits),
    byReason: Object.fromEntries(
      reasons.map((reason) => [
        reason,
        total(({ refreshes }) => new Map(Object.entries(refreshes)).get(reason) ?? 0),
      ]),
    ),
  };
};

const ofPlan = (lives: readonly Life[], store: Store, isNotified: boolean, plan: Plan): Monthly =>
  monthlyOf(
    lives.filter((life) => life.store === store && life.isNotified === isNotified && life.plan === plan),
    ({ outcome }) => rateOf(plan, outcome),
  );

/** A run of the schedule that found something, asking and storing left out: the most that one took. */
const busyRunOf = (lives: readonly Life[]): Consumption => {
  const life = lives.find(
    ({ outcome, plan, runs }) => outcome === "renewed" && plan === "monthly" && runs === 1,
  );
  if (life === undefined) throw new Error("No run was measured.");
  return life.running;
};

const secondsOf = (cpuMilliseconds: number, roundTrips: number, answers: number): number =>
  Math.ceil(
    cpuMilliseconds * (ASSUMED.gigabytesOfOneProcessor / GIGABYTES) +
      roundTrips * ASSUMED.roundTripMilliseconds +
      answers * ASSUMED.storeMilliseconds,
  ) / 1000;

const gigabyteSeconds = (seconds: number): number => seconds * GIGABYTES * PRICES.gigabyteSecond;

/** Cost of a month's refreshes, of both functions. */
const refreshCost = ({ lives, drain }: RefreshesResult, isNotified: boolean): readonly CostLine[] => {
  const { subscribers, iosPart, plans } = ASSUMED_SUBSCRIBERS;
  const ofStore = (store: Store, part: number): Monthly =>
    monthlyOf(
      lives.filter((life) => life.store === store && life.isNotified === isNotified),
      ({ plan, outcome }) => subscribers * part * plans[plan] * rateOf(plan, outcome),
    );
  const stores = [ofStore("ios-store", iosPart), ofStore("android-store", 1 - iosPart)];
  const total = (of: (monthly: Monthly) => number) => sum(stores.map(of));
  const refreshes = total((monthly) => monthly.refreshes);
  const run = busyRunOf(lives);
  const runs = 2 * MINUTES_OF_MONTH;
  const reads = total(({ readUnits }) => readUnits) + runs * run.readUnits;
  const writes = total(({ writeUnits }) => writeUnits) + runs * run.writeUnits;
  // Those of one run wait for the stores and DynamoDB at the same time.
  const seconds =
    runs * secondsOf(RUN_CPU_MILLISECONDS, roundTripsOf(run) + 4, 1) +
    (refreshes * drain.cpuMilliseconds * (ASSUMED.gigabytesOfOneProcessor / GIGABYTES)) / 1000;
  return [
    { what: "refreshes, each one request to a store", amount: whole(refreshes), dollars: 0 },
    ...usageLines({
      readUnits: reads,
      writeUnits: writes,
      invocations: runs,
      invokedBy: "the schedule",
      gigabyteSeconds: seconds * GIGABYTES,
    }),
  ];
};

/** Cost of a month in which nothing is due. */
const idleCost = ({ idle }: RefreshesResult, applications: number): number => {
  const runs = idle.filter((run) => run.applications === applications);
  return sum(
    runs.map(({ schedule, consumption }) => {
      const times = schedule === "refreshes" ? MINUTES_OF_MONTH : HOURS_OF_MONTH;
      const lists = schedule === "refreshes" ? 0 : applications * 2;
      // A sweep also reads and writes how far each list was read.
      const roundTrips = roundTripsOf(consumption) + 2 * lists;
      return (
        times *
        (PRICES.invocation +
          gigabyteSeconds(secondsOf(RUN_CPU_MILLISECONDS, roundTrips, lists)) +
          (consumption.readUnits + lists) * PRICES.readUnit +
          lists * PRICES.writeUnit)
      );
    }),
  );
};

const NAMES: Readonly<Record<Store, string>> = { "ios-store": "iOS", "android-store": "Android" };
const STORES = ["ios-store", "android-store"] as const;
const PLANS = ["monthly", "yearly", "lifetime"] as const;

const reasonsOf = (counts: Readonly<Record<string, number>>, digits: number): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${count.toFixed(digits)} ${reason}`)
    .join(", ") || "none";

const livesTable = (lives: readonly Life[]): string => {
  const keyOf = ({ store, plan, outcome }: Life): string => [store, plan, outcome].join();
  const notified = new Map(lives.filter((life) => life.isNotified).map((life) => [keyOf(life), life]));
  return table(
    ["store", "plan", "its end", "without notifications", "with", "read units of one", "write units of one"],
    lives
      .filter((life) => !life.isNotified)
      .map((life) => {
        const count = refreshesOf(life);
        const each = (units: number) => (count === 0 ? "–" : (units / count).toFixed(1));
        const other = notified.get(keyOf(life));
        return [
          NAMES[life.store],
          life.plan,
          life.outcome,
          count,
          other === undefined ? "" : refreshesOf(other),
          each(life.refreshing.readUnits),
          each(life.refreshing.writeUnits),
        ];
      }),
  );
};

const monthTable = (lives: readonly Life[]): string =>
  table(
    ["store", "plan", "notifications", "refreshes", "read units", "write units", "by reason"],
    STORES.flatMap((store) =>
      PLANS.flatMap((plan) =>
        [false, true].map((isNotified) => {
          const monthly = ofPlan(lives, store, isNotified, plan);
          return [
            NAMES[store],
            plan,
            isNotified ? "on" : "off",
            monthly.refreshes.toFixed(2),
            monthly.readUnits.toFixed(1),
            monthly.writeUnits.toFixed(1),
            reasonsOf(monthly.byReason, 2),
          ];
        }),
      ),
    ),
  );

export const refreshesSection = ({ refreshes: result }: Pick<Results, "refreshes">): string => {
  const { lives, idle, drain, paced, tenants } = result;
  const { subscribers, iosPart, plans, canceledPerMonth, firstYear } = ASSUMED_SUBSCRIBERS;
  const [ends, most, more] = paced;
  if (ends === undefined || most === undefined || more === undefined)
    throw new Error("The pace was not measured.");
  const [off, on] = [refreshCost(result, false), refreshCost(result, true)];
  const run = busyRunOf(lives);
  return `## Refreshes

### Refreshes of a subscription

Each row is the life of one purchase, from a day after the beginning of a period to a day after its end, or, where it ends
for good, until it leaves the queue. It is lived on the sandbox store, through the store's API, the worker and DynamoDB Local,
on a moved clock; the schedule runs on the minute. Counts are exact, and \`test/bench/refreshes.test.ts\` asserts most of them.

- "renewed": on iOS charged a day before the end, on Android at the end. Where Apple charges at the end, without
  notifications one refresh is added.
- "canceled": turned off ten days before the end. "recovered in grace": the charge succeeds two days after the end.
  "recovered later": twenty days after it. "lost": never.
- Grace periods are 16 days on iOS and 3 on Android, account hold 30 days; Android forgets a purchase after 60 days.

${livesTable(lives)}

A refresh on iOS reads the purchase (1), its identity and itself again (2), and the customer (1), and asks Apple once. One on
Android reads the purchase and the customer, and asks Google once. Both write the customer, the account, the purchase, and the refresh that is
moved, each twice for the transaction: 10, also where the answer brings nothing but a later \`lastVerifiedAt\`.

### Refreshes of a subscriber and month

Assumed: ${percent(canceledPerMonth)} of the subscribers turn the renewal off each month, ${percent(failed)} of the charges fail first; of those, ${percent(recoveredInGrace)} recover in
grace and ${percent(recoveredLater)} later. ${percent(firstYear)} of the lifetime purchases are in their first year.

${monthTable(lives)}

With notifications, what is left are charges that fail (daily until they succeed or are over), and those that left.

### A month of ${whole(subscribers)} subscribers

${percent(iosPart)} on iOS, with Apple's key; ${percent(plans.monthly)} monthly, ${percent(plans.yearly)} yearly, ${percent(plans.lifetime)} lifetime. Prices and assumed times as under
[Cost](#cost). Both functions have ${GIGABYTES} GB, find something to do every minute, and wait for the refreshes of one minute at the same
time. A run takes ${requests(run.requests)} besides, and is assumed to take ${RUN_CPU_MILLISECONDS} ms of a processor.

${table(
  ["item", "without notifications", "dollars", "with notifications", "dollars"],
  [
    ...off.map(({ what, amount, dollars: cost }, index) => [
      what,
      amount,
      dollars(cost),
      on[index]?.amount ?? "",
      dollars(on[index]?.dollars ?? 0),
    ]),
    ["**total**", "", `**${dollars(costOf(off))}**`, "", `**${dollars(costOf(on))}**`],
  ],
)}

Notifications cost more than they save: their own requests are under [Cost](#cost). They are for speed, not for the bill.

An idle deployment runs both functions every minute and both sweeps every hour.

${table(
  ["schedule", "store", "applications", "requests of one run", "read units"],
  idle.map(({ schedule, store, applications, consumption }) => [
    schedule,
    NAMES[store],
    applications,
    requests(consumption.requests),
    whole(consumption.readUnits),
  ]),
)}

That is one Query for the list of applications, and one for each application's queue in each environment; a sweep reads each
application, and, not counted here, reads and writes once how far each list was read. A month of it costs ${dollars(idleCost(result, 1))} with one application and ${dollars(idleCost(result, 10))}
with ten.

### ${whole(drain.ends)} ends of one application in one second

The worker and the use case on DynamoDB Local, Apple's API scripted: it answers within 150 ms with the next period, whose
signatures are verified. The clock skips what the limit of 30 a second waits for. The schedule runs a minute
after the refreshes are due, the worst case; invocations follow each other as the functions' timeout lets them.

${table(
  [
    "ends",
    "last one stored, s after the end",
    "waited for the limit, s",
    "refreshes a second without the limit",
    "CPU of one, ms",
    "without access before",
    "after",
  ],
  [
    [
      whole(drain.ends),
      whole(drain.seconds),
      whole(drain.waited),
      whole(drain.unlimitedRate),
      milliseconds(drain.cpuMilliseconds),
      whole(drain.withoutAccess),
      whole(drain.withoutAccessAfter),
    ],
  ],
)}

"Without access": of all subscribers, by \`entitlementsAt\` just before each one's answer was stored, with a leeway of 15 minutes,
and after it. All of them are known to renew, as each iOS subscription is from its refresh an hour before the end; one of which the App
Store has never said that it renews has no leeway.
The rate without the limit is that of DynamoDB Local on a machine that does other work. By processor time, a function of ${GIGABYTES} GB has
room for ${whole((1000 * GIGABYTES) / ASSUMED.gigabytesOfOneProcessor / drain.cpuMilliseconds)} refreshes a second, more than the 30. A batch of 30
waits for its slowest answer: a store that takes longer than a second for one in thirty lowers the rate.
It took ${requests(drain.requests)}: ${(drain.readUnits / drain.ends).toFixed(2)} read and ${(drain.writeUnits / drain.ends).toFixed(2)} write units each.

The same worker on queues in memory and a clock of its own, with 150 ms for an answer and 6 for a request to DynamoDB; exact:

${table(
  ["ends", "last one stored, s after the end", "without access before"],
  paced.map((row) => [whole(row.ends), whole(row.seconds), whole(row.withoutAccess)]),
)}

So a leeway of 15 minutes is enough for ${whole(most.ends)} ends of one application in one second: an invocation asks for 210 seconds, and the next one
that finds the queue free begins up to 30 seconds later, so 30 a second become ${(most.ends / (most.seconds - 65)).toFixed(1)}. Who has more ends in one second sets a longer
\`renewalLeeway\` (a minute for each 1,500), or lets the stores notify: then only what fails is left.

### Many applications

A run over 100 applications, ten queues at once. Delay: from the run's start to the stored answer. "Exact": on queues in memory, as above. "Measured": on DynamoDB Local and a busy
machine, where the large application has 1,000.

${table(
  [
    "applications",
    "refreshes",
    "median, ms, exact",
    "worst, ms, exact",
    "median, ms, measured",
    "worst, ms, measured",
  ],
  tenants.map(({ what, refreshes, paced: exact, measured }) => [
    what,
    whole(refreshes),
    whole(exact.median),
    whole(exact.worst),
    whole(measured.median),
    whole(measured.worst),
  ]),
)}

A rejected key costs its application's queue one batch, and the others nothing. A large queue keeps one of the ten places, for ten seconds at a
time. Ten large ones keep all ten: then the others wait for one turn of ten seconds.`;
};
