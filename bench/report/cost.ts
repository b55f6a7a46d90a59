import { sum } from "../measure.ts";
import type { Results } from "../results.ts";
import type { NotificationRow } from "../sections/notifications.ts";
import type { StoringRow } from "../sections/storing.ts";
import { PRICES } from "./prices.ts";
import { roundTripsOf } from "./usage.ts";

/** Assumed values of what is not measured here; each is on the high side. */
export const ASSUMED = {
  /** One DynamoDB request in the same region. */
  roundTripMilliseconds: 6,
  /** One request to the Android Publisher API. */
  storeMilliseconds: 300,
  memoryGigabytes: 1,
  authorizerMemoryGigabytes: 1,
  /** Memory at which Lambda gives one whole processor. */
  gigabytesOfOneProcessor: 1.769 / 1.024,
  logBytes: 1200,
  answerBytes: 1000,
  /** Share of the requests with a key that miss API Gateway's authorizer cache. */
  authorizedAnew: 0.1,
  /** Share of the requests that X-Ray records. */
  tracedPart: 0.05,
} as const;

/** Example application, per month. */
export const APPLICATION = {
  subscribers: 100_000,
  /** Dollars per subscriber. */
  price: 4.99,
  /** Synchronizes per subscriber: one per start of the app, once a day. */
  synchronizesOfOne: 30,
  /** The synchronizes of those that bring a renewal or a new purchase. */
  newPurchasesOfOne: 1,
  /** Reads per subscriber: the backend asks twice a day. */
  readsOfOne: 60,
  /** Share of the subscribers that are new. */
  newPart: 0.1,
  /** Notifications per subscriber: the renewal, and now and then a failed charge, a cancellation, an end or a refund. */
  notificationsOfOne: 2,
  /** Share of the subscribers that bought on iOS. */
  iosPart: 0.5,
  bytesOfOneInTable: 6000,
  metrics: 40,
} as const;

export interface RequestCost {
  readonly name: string;
  readonly isAuthorized: boolean;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly roundTrips: number;
  /** Requests to the Android Publisher API. */
  readonly storeRequests: number;
  readonly cpuMilliseconds: number;
}

export interface PricedRequest extends RequestCost {
  /** Billed milliseconds of the function. */
  readonly billedMilliseconds: number;
  /** Dollars per million requests. */
  readonly perMillion: Readonly<Record<"api" | "functions" | "dynamoDb" | "logs", number>> & {
    readonly total: number;
  };
}

const rowOf = (
  { storing }: Results,
  endpoint: StoringRow["endpoint"],
  state: StoringRow["state"],
): StoringRow => {
  const row = [...storing.bySize, ...storing.byStored].find(
    (found) =>
      found.endpoint === endpoint &&
      found.state === state &&
      found.transactions === 1 &&
      (state !== "one new" || found.stored === 10),
  );
  if (row === undefined) throw new Error(`${endpoint}, ${state} was not measured.`);
  return row;
};

const cpuOf = ({ load }: Results, request: string): number =>
  load.handlers.find((row) => row.request === request)?.cpuMilliseconds ?? 0;

const notification = (results: Results, store: NotificationRow["store"], name: string): RequestCost => {
  const row = results.notifications.rows.find((found) => found.store === store && found.state === "renewal");
  if (row === undefined) throw new Error(`A notification of the ${store} was not measured.`);
  return {
    name,
    isAuthorized: false,
    readUnits: row.readUnits,
    writeUnits: row.writeUnits,
    roundTrips: roundTripsOf(row),
    storeRequests: row.storeRequests,
    cpuMilliseconds: cpuOf(results, `${name}, first time`),
  };
};

/** Requests with their counted units and measured CPU time. */
export const requestsOf = (results: Results): RequestCost[] => {
  const stored = (name: string, isAuthorized: boolean, row: StoringRow, handler: string): RequestCost => ({
    name,
    isAuthorized,
    readUnits: row.readUnits,
    writeUnits: row.writeUnits,
    roundTrips: roundTripsOf(row),
    storeRequests: 0,
    cpuMilliseconds: cpuOf(results, handler),
  });
  const read = results.reading.rows[0];
  const link = "link, first time";
  return [
    {
      name: "read",
      isAuthorized: true,
      readUnits: read?.readUnits ?? 0,
      writeUnits: 0,
      roundTrips: read === undefined ? 0 : roundTripsOf(read),
      storeRequests: 0,
      cpuMilliseconds: cpuOf(results, "read"),
    },
    stored(
      "synchronize, nothing new",
      false,
      rowOf(results, "synchronize", "replayed"),
      "synchronize, replayed",
    ),
    stored("synchronize, one new purchase", false, rowOf(results, "synchronize", "one new"), link),
    stored("link, first time", true, rowOf(results, "link", "first"), link),
    stored("link, again", true, rowOf(results, "link", "replayed"), "synchronize, replayed"),
    notification(results, "ios-store", "iOS notification"),
    notification(results, "android-store", "Android notification"),
  ];
};

const MILLION = 1e6;

type Waits = Pick<RequestCost, "cpuMilliseconds" | "roundTrips" | "storeRequests">;

const secondsOf = (
  { cpuMilliseconds, roundTrips, storeRequests }: Waits,
  gigabytes: number = ASSUMED.memoryGigabytes,
): number =>
  Math.ceil(
    cpuMilliseconds * (ASSUMED.gigabytesOfOneProcessor / gigabytes) +
      roundTrips * ASSUMED.roundTripMilliseconds +
      storeRequests * ASSUMED.storeMilliseconds,
  ) / 1000;

/** Prices a million of a request. */
export const priceOf = (results: Results, request: RequestCost): PricedRequest => {
  const seconds = secondsOf(request);
  const authorizations = request.isAuthorized ? ASSUMED.authorizedAnew : 0;
  const authorizer =
    PRICES.invocation +
    secondsOf(
      { cpuMilliseconds: cpuOf(results, "authorize"), roundTrips: 1, storeRequests: 0 },
      ASSUMED.authorizerMemoryGigabytes,
    ) *
      ASSUMED.authorizerMemoryGigabytes *
      PRICES.gigabyteSecond +
    PRICES.readUnit;
  const parts = {
    api: (PRICES.apiRequest + (ASSUMED.answerBytes / 1e9) * PRICES.transferredGigabyte) * MILLION,
    functions:
      (PRICES.invocation +
        seconds * ASSUMED.memoryGigabytes * PRICES.gigabyteSecond +
        authorizations * authorizer) *
      MILLION,
    dynamoDb: (request.readUnits * PRICES.readUnit + request.writeUnits * PRICES.writeUnit) * MILLION,
    logs: ((ASSUMED.logBytes / 1e9) * PRICES.logGigabyte + ASSUMED.tracedPart * PRICES.trace) * MILLION,
  };
  return {
    ...request,
    billedMilliseconds: seconds * 1000,
    perMillion: { ...parts, total: parts.api + parts.functions + parts.dynamoDb + parts.logs },
  };
};

export interface MonthLine {
  readonly what: string;
  readonly amount: string;
  readonly dollars: number;
}

/** Cost of a month of the example application. */
export const monthOf = (priced: readonly PricedRequest[]): MonthLine[] => {
  const { subscribers, synchronizesOfOne, newPurchasesOfOne, readsOfOne, newPart } = APPLICATION;
  const notifications = subscribers * APPLICATION.notificationsOfOne;
  const count: Readonly<Record<string, number>> = {
    read: subscribers * readsOfOne,
    "synchronize, nothing new": subscribers * (synchronizesOfOne - newPurchasesOfOne),
    "synchronize, one new purchase": subscribers * newPurchasesOfOne,
    "link, first time": subscribers * newPart,
    "link, again": subscribers * newPart,
    "iOS notification": notifications * APPLICATION.iosPart,
    "Android notification": notifications * (1 - APPLICATION.iosPart),
  };
  const requests = priced.map(({ name, perMillion }): MonthLine => {
    const times = count[name] ?? 0;
    return {
      what: name,
      amount: `${(times / MILLION).toFixed(2)} million`,
      dollars: (times / MILLION) * perMillion.total,
    };
  });
  const gigabytes = (subscribers * APPLICATION.bytesOfOneInTable) / 1e9;
  const all = sum(Object.values(count));
  return [
    ...requests,
    {
      what: "table and point-in-time recovery",
      amount: `${gigabytes.toFixed(1)} GB`,
      dollars: gigabytes * (PRICES.tableGigabyteMonth + PRICES.recoveryGigabyteMonth),
    },
    {
      what: "metrics",
      amount: String(APPLICATION.metrics),
      dollars: APPLICATION.metrics * PRICES.metricMonth,
    },
    {
      what: "rate limit per IP address (WAF)",
      amount: `${(all / MILLION).toFixed(2)} million`,
      dollars: PRICES.wafMonth + all * PRICES.wafRequest,
    },
  ];
};

export const revenue = (): number => APPLICATION.subscribers * APPLICATION.price;
