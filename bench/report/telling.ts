import { MESSAGES_AT_ONCE } from "../../lib/telling/send-batch.ts";
import { sum } from "../measure.ts";
import type { Consumption } from "../meter.ts";
import type { Outcome } from "../refreshes/lives.ts";
import type { Results } from "../results.ts";
import { TOGETHER, type TellingResult, type TellingRow } from "../sections/telling.ts";
import { ANSWER_MILLISECONDS } from "../telling/told-subscribers.ts";
import { ASSUMED } from "./cost.ts";
import { costOf, MINUTES_OF_MONTH, roundTripsOf, usageLines } from "./usage.ts";
import { dollars, milliseconds, percent, requests, table, whole } from "./markdown.ts";
import { ASSUMED_SUBSCRIBERS, rateOf } from "./refreshes.ts";

/** Versions of an account that the end of a subscription's period makes. A lifetime purchase makes none later. */
const VERSIONS = {
  renewed: 1,
  canceled: 2,
  "recovered in grace": 2,
  "recovered later": 3,
  lost: 3,
} as const satisfies Readonly<Partial<Record<Outcome, number>>>;

/** Share of the subscribers that link a purchase for the first time, a month. */
const NEW_PART = 0.1;
const GIGABYTES = 0.5;
/** Assumed processor time of a run that tells or delivers one change. */
const RUN_CPU_MILLISECONDS = 10;
/** Assumed time of a destination's answer. */
const DESTINATION_MILLISECONDS = 300;
const SECRET_MONTH = 0.4;

const gigabyteSeconds = (roundTrips: number, answers: number): number =>
  (GIGABYTES *
    Math.ceil(
      RUN_CPU_MILLISECONDS * (ASSUMED.gigabytesOfOneProcessor / GIGABYTES) +
        roundTrips * ASSUMED.roundTripMilliseconds +
        answers * DESTINATION_MILLISECONDS,
    )) /
  1000;

/** Versions of one subscriber and month. */
const versionsOfOne = (): number =>
  NEW_PART +
  sum(
    (["monthly", "yearly"] as const).flatMap((plan) =>
      (Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]).map(
        (outcome) => ASSUMED_SUBSCRIBERS.plans[plan] * rateOf(plan, outcome) * VERSIONS[outcome],
      ),
    ),
  );

const rowWith = ({ rows }: TellingResult, destinations: number, keepsChanges = false): TellingRow => {
  const row = rows.find((one) => one.destinations === destinations && one.keepsChanges === keepsChanges);
  if (row === undefined) throw new Error(`${destinations} destinations were not measured.`);
  return row;
};

const nameOf = ({ destinations, keepsChanges }: TellingRow): string =>
  destinations > 0 ? String(destinations) : keepsChanges ? "none, `keepsChanges`" : "none";

const unitsOf = ({ readUnits, writeUnits }: Consumption): string =>
  `${readUnits.toFixed(readUnits % 1 === 0 ? 0 : 1)} / ${writeUnits.toFixed(writeUnits % 1 === 0 ? 0 : 1)}`;

export const tellingSection = ({ telling: result }: Pick<Results, "telling">): string => {
  const { idle, told, burst } = result;
  const [none, one] = [rowWith(result, 0), rowWith(result, 1)];
  const versions = versionsOfOne() * ASSUMED_SUBSCRIBERS.subscribers;
  const runs = 2 * MINUTES_OF_MONTH;
  const reads =
    versions * (one.store.readUnits - none.store.readUnits + one.tell.readUnits + one.deliver.readUnits) +
    MINUTES_OF_MONTH * (idle.tell.readUnits + idle.deliver.readUnits);
  const writes =
    versions * (one.store.writeUnits - none.store.writeUnits + one.tell.writeUnits + one.deliver.writeUnits);
  const seconds =
    MINUTES_OF_MONTH *
      (gigabyteSeconds(roundTripsOf(idle.tell), 0) + gigabyteSeconds(roundTripsOf(idle.deliver), 0)) +
    versions * (gigabyteSeconds(roundTripsOf(one.tell), 0) + gigabyteSeconds(roundTripsOf(one.deliver), 1));
  const lines = [
    { what: "versions", amount: whole(versions), dollars: 0 },
    ...usageLines({
      readUnits: reads,
      writeUnits: writes,
      invocations: runs + 2 * versions,
      invokedBy: "the schedules and at most of the stream",
      gigabyteSeconds: seconds,
    }),
    { what: "master secret", amount: "1", dollars: SECRET_MONTH },
  ];
  return `## Telling

### A change

A subscription renews; the account's new version is told and delivered. On DynamoDB Local, with the runs that the functions make.
"Alone": the only change of its run, everything a run does included. "Of ${whole(TOGETHER)}": one of ${whole(TOGETHER)} changes that one run tells.
Units are read / write. \`test/bench/telling.test.ts\` asserts the units.

${table(
  [
    "destinations",
    "storing the renewal",
    "telling, alone",
    "requests",
    "delivering, alone",
    "requests",
    `telling, of ${TOGETHER}`,
    `delivering, of ${TOGETHER}`,
    "telling, ms",
    "delivering, ms",
  ],
  result.rows.map((row) => [
    nameOf(row),
    unitsOf(row.store),
    unitsOf(row.tell),
    requests(row.tell.requests),
    unitsOf(row.deliver),
    requests(row.deliver.requests),
    unitsOf(row.together.tell),
    unitsOf(row.together.deliver),
    milliseconds(row.milliseconds.tell),
    milliseconds(row.milliseconds.deliver),
  ]),
)}

A run that finds nothing takes ${requests(idle.tell.requests)} to tell and ${requests(idle.deliver.requests)} to deliver, for one application. A destination answers after
${ANSWER_MILLISECONDS} ms.

### From the store to the destination

The whole service on the local gateway, as \`npm start\` runs it. A purchase changes in the sandbox store, at any time of the second
in which the local schedules begin; the time ends when the demo application's destination has the message. It holds the
store's push, two waits for a schedule of up to a second each, and the work.

${table(
  ["store", "changes", "median, ms", "99th percentile, ms"],
  told.map((row) => [row.store, whole(row.changes), milliseconds(row.p50), milliseconds(row.p99)]),
)}

Deployed, and not measured here: instead of the two waits for the local schedules, the table's stream invokes each of the two functions.
Their mappings gather records for up to 2 seconds, and Lambda polls a stream about four times a second, so about 5 seconds
are added at the most. Where the stream does not come, the schedules begin each minute: at worst 2 minutes.

### ${whole(burst.accounts)} accounts at once

${whole(burst.accounts)} accounts of one application are linked and all due. One worker tells for an application at a time, and ${MESSAGES_AT_ONCE} messages at
a time go to a destination, which answers after ${ANSWER_MILLISECONDS} ms. On this machine, with DynamoDB Local on the same processors:

${table(
  ["work", "seconds", "changes per second", "read units of one", "write units of one"],
  [
    ["telling", burst.tellSeconds, burst.tell] as const,
    ["delivering", burst.deliverSeconds, burst.deliver] as const,
  ].map(([work, seconds, consumed]) => [
    work,
    seconds.toFixed(1),
    whole(burst.accounts / seconds),
    (consumed.readUnits / burst.accounts).toFixed(1),
    (consumed.writeUnits / burst.accounts).toFixed(1),
  ]),
)}

### A month of ${whole(ASSUMED_SUBSCRIBERS.subscribers)} subscribers

With one destination, and the subscribers of the section above; ${percent(NEW_PART)} of them are new. A renewal is one version; one that is
turned off is two, with its end; a charge that fails is two or three. Each change is counted as alone in its run, which is on the high
side, and its destination answers after ${DESTINATION_MILLISECONDS} ms.

${table(
  ["item", "amount", "dollars"],
  [
    ...lines.map(({ what, amount, dollars: value }) => [what, amount, dollars(value)]),
    ["**total**", "", `**${dollars(costOf(lines))}**`],
  ],
)}`;
};
