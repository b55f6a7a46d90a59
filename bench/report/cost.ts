import { sum } from "../../testing/support/metered/measuring.ts";
import type { Results } from "../results.ts";
import type { NotificationRow } from "../sections/notifications.ts";
import type { StoringRow } from "../sections/storing.ts";
import { PRICES } from "./prices.ts";

/** Assumed values of what is not measured here; each is on the high side. */
const ASSUMED = {
  /** One DynamoDB request in the same region. */
  roundTripMilliseconds: 6,
  /** One request to the Android Publisher API. */
  storeMilliseconds: 300,
  memoryGigabytes: 1,
  /** Memory at which Lambda gives one whole processor. */
  gigabytesOfOneProcessor: 1.769 / 1.024,
  logBytes: 1200,
  answerBytes: 1000,
  /** Share of the requests with a key that miss API Gateway's authorizer cache. */
  authorizedAnew: 0.1,
  /** Share of the requests that X-Ray records. */
  tracedPart: 0.05,
} as const;

export const SUBSCRIBERS = 100_000;

/** Requests per subscriber and month. */
const TIMES = {
  read: 60,
  "synchronize, nothing new": 29,
  "synchronize, one new purchase": 1,
  "link, first time": 0.1,
  "link, again": 0.1,
  "iOS notification": 1,
  "Android notification": 1,
} as const;

const BYTES_OF_ONE_IN_TABLE = 6000;
const METRICS = 40;
const MILLION = 1e6;

interface Request {
  readonly name: keyof typeof TIMES;
  readonly isAuthorized: boolean;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly storeRequests: number;
  readonly cpuMilliseconds: number;
}

const measured = <T>(row: T | undefined, name: string): T => {
  if (row === undefined) throw new Error(`${name} was not measured.`);
  return row;
};

const cpuOf = ({ load }: Results, name: string): number =>
  measured(
    load.handlers.find(({ request }) => request === name),
    name,
  ).cpuMilliseconds;

/** Requests with their counted units and measured CPU time. */
const requestsOf = (results: Results): readonly Request[] => {
  const { storing, notifications, reading } = results;
  const stored = (
    name: keyof typeof TIMES,
    endpoint: StoringRow["endpoint"],
    state: StoringRow["state"],
    handler: string,
  ): Request => {
    const row = [...storing.bySize, ...storing.byStored].find(
      (one) =>
        one.endpoint === endpoint &&
        one.state === state &&
        one.transactions === 1 &&
        (state !== "one new" || one.stored === 10),
    );
    const cpuMilliseconds = cpuOf(results, handler);
    return {
      ...measured(row, name),
      name,
      isAuthorized: endpoint === "link",
      storeRequests: 0,
      cpuMilliseconds,
    };
  };
  const notified = (
    name: "iOS notification" | "Android notification",
    store: NotificationRow["store"],
  ): Request => {
    const row = notifications.rows.find((one) => one.store === store && one.state === "renewal");
    return {
      ...measured(row, name),
      name,
      isAuthorized: false,
      cpuMilliseconds: cpuOf(results, `${name}, first time`),
    };
  };
  const read = measured(reading.rows[0], "A read");
  return [
    {
      ...read,
      name: "read",
      isAuthorized: true,
      writeUnits: 0,
      storeRequests: 0,
      cpuMilliseconds: cpuOf(results, "read"),
    },
    stored("synchronize, nothing new", "synchronize", "replayed", "synchronize, replayed"),
    stored("synchronize, one new purchase", "synchronize", "one new", "link, first time"),
    stored("link, first time", "link", "first", "link, first time"),
    stored("link, again", "link", "replayed", "synchronize, replayed"),
    notified("iOS notification", "ios-store"),
    notified("Android notification", "android-store"),
  ];
};

type Waits = Pick<Request, "cpuMilliseconds" | "requests" | "storeRequests">;

/** Seconds that Lambda bills: a function waits for DynamoDB and Google, and has a share of a processor. */
const secondsOf = ({ cpuMilliseconds, requests, storeRequests }: Waits): number =>
  Math.ceil(
    cpuMilliseconds * (ASSUMED.gigabytesOfOneProcessor / ASSUMED.memoryGigabytes) +
      sum(Object.values(requests)) * ASSUMED.roundTripMilliseconds +
      storeRequests * ASSUMED.storeMilliseconds,
  ) / 1000;

const invocationOf = (waits: Waits): number =>
  PRICES.invocation + secondsOf(waits) * ASSUMED.memoryGigabytes * PRICES.gigabyteSecond;

/** Dollars of a million requests of each kind. */
export const pricesOf = (results: Results) => {
  const authorization =
    invocationOf({
      cpuMilliseconds: cpuOf(results, "authorize"),
      requests: { GetItem: 1 },
      storeRequests: 0,
    }) + PRICES.readUnit;
  return requestsOf(results).map((request) => {
    const parts = {
      api: MILLION * (PRICES.apiRequest + (ASSUMED.answerBytes / 1e9) * PRICES.transferredGigabyte),
      functions:
        MILLION *
        (invocationOf(request) + (request.isAuthorized ? ASSUMED.authorizedAnew * authorization : 0)),
      dynamoDb: MILLION * (request.readUnits * PRICES.readUnit + request.writeUnits * PRICES.writeUnit),
      logs: MILLION * ((ASSUMED.logBytes / 1e9) * PRICES.logGigabyte + ASSUMED.tracedPart * PRICES.trace),
    };
    return {
      request: request.name,
      billedMilliseconds: secondsOf(request) * 1000,
      ...parts,
      total: sum(Object.values(parts)),
    };
  });
};

export interface CostLine {
  readonly item: string;
  readonly dollars: number;
}

/** A month of {@link SUBSCRIBERS}. */
export const monthOf = (results: Results): readonly CostLine[] => {
  const gigabytes = (SUBSCRIBERS * BYTES_OF_ONE_IN_TABLE) / 1e9;
  const requests = SUBSCRIBERS * sum(Object.values(TIMES));
  return [
    ...pricesOf(results).map(({ request, total }) => ({
      item: request,
      dollars: (SUBSCRIBERS * TIMES[request] * total) / MILLION,
    })),
    {
      item: "table and point-in-time recovery",
      dollars: gigabytes * (PRICES.tableGigabyteMonth + PRICES.recoveryGigabyteMonth),
    },
    { item: "metrics", dollars: METRICS * PRICES.metricMonth },
    { item: "WAF's rate limit", dollars: PRICES.wafMonth + requests * PRICES.wafRequest },
  ];
};

export const costOf = (lines: readonly CostLine[]): number => sum(lines.map(({ dollars }) => dollars));
