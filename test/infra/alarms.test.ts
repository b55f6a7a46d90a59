import { readFileSync } from "node:fs";
import { join } from "node:path";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { alarmState, type MadeUp } from "./alarm-state.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import { synthesizeForTest } from "../../testing/support/local-gateway.ts";

/** A template is any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const SERVICE = "customer-entitlements";
const HOUR = 3_600_000;

let alarms: ReadonlyMap<string, Json>;

beforeAll(async () => {
  const { folder } = await synthesizeForTest(FUNCTIONS_APP);
  const { Resources } = JSON.parse(readFileSync(join(folder, `${SERVICE}-service.template.json`), "utf8"));
  alarms = new Map(
    Object.values<Json>(Resources)
      .filter(({ Type }) => Type === "AWS::CloudWatch::Alarm")
      .map(({ Properties }) => [Properties.AlarmName.slice(SERVICE.length + 1), Properties]),
  );
}, 60_000);

const stateOf = (name: string, data: MadeUp) => {
  const alarm = alarms.get(name);
  if (alarm === undefined) throw new Error(`There is no alarm ${name}.`);
  return alarmState(alarm, data);
};

/** Metric of its own failures that each endpoint's alarm reads. */
const OWN_FAILURES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values<Endpoint>(endpoints).map(({ function: name, takesNotifications, store }) => [
    name,
    takesNotifications === true ? `Notifications ${store} INTERNAL_ERROR` : `Requests ${name} INTERNAL_ERROR`,
  ]),
);

/** Data that fires each alarm, and data that it must bear. */
const CASES: Readonly<
  Record<string, { readonly fires: readonly MadeUp[]; readonly bears: readonly MadeUp[] }>
> = {
  "server-errors": {
    fires: [{ "5XXError": [20, 0, 20], Count: 200 }],
    bears: [
      // One period in which a deployment went wrong.
      { "5XXError": [0, 200, 0], Count: 200 },
      { "5XXError": 4, Count: 4 },
      { "5XXError": 40, Count: 100, "Requests link-android STORE_UNAVAILABLE": 40 },
      { "5XXError": 40, Count: 100, "Notifications android-store STORE_UNAVAILABLE": 40 },
    ],
  },
  "server-errors-in-a-day": {
    fires: [
      { "5XXError": 3, Count: 3 },
      { "5XXError": 5, Count: 360 },
    ],
    bears: [
      { "5XXError": 2, Count: 2 },
      { "5XXError": 3, Count: 10_000 },
      { "5XXError": 9, Count: 9, "Requests link-android STORE_UNAVAILABLE": 8 },
    ],
  },
  ...Object.fromEntries(
    Object.entries(OWN_FAILURES).map(([name, failures]) => [
      `${name}-failing`,
      {
        fires: [
          { [failures]: 5, Invocations: 5 },
          { Errors: 5, Invocations: 50 },
          { [failures]: 3, Errors: 2, Invocations: 50 },
        ],
        bears: [
          { Errors: 0, Invocations: 5000 },
          { [failures]: 4, Errors: 0, Invocations: 4 },
          { [failures]: 5, Errors: 0, Invocations: 500 },
        ],
      },
    ]),
  ),
  "reads-slow": { fires: [{ Duration: 1000 }], bears: [{ Duration: [2000, 2000, 50] }, {}] },
  "credentials-refused": {
    fires: [
      { "Requests authorize-credential REFUSED": [100, 100, 0] },
      { "Requests receive-android INVALID_CREDENTIAL": 100 },
      { "Requests authorize REFUSED": 50, "Requests receive-android INVALID_CREDENTIAL": 50 },
    ],
    bears: [{ "Requests authorize-credential REFUSED": 99 }],
  },
  "transactions-refused": {
    fires: [
      { "Requests synchronize INVALID_TRANSACTION": 50, "Invocations Synchronize": 250 },
      {
        "Requests synchronize INVALID_APP_TRANSACTION": 20,
        "Requests link-ios INVALID_APP_TRANSACTION": 20,
        "Requests link-ios INVALID_TRANSACTION": 20,
        "Invocations Synchronize": 200,
        "Invocations LinkIos": 20,
      },
    ],
    bears: [
      { "Requests synchronize INVALID_TRANSACTION": 49, "Invocations Synchronize": 49 },
      { "Requests synchronize INVALID_TRANSACTION": 50, "Invocations Synchronize": 2000 },
    ],
  },
  "addresses-blocked": {
    fires: [
      { "BlockedRequests customer-entitlements-synchronize-per-address": [100, 0, 100] },
      { "BlockedRequests customer-entitlements-requests-per-address": [100, 0, 100] },
    ],
    bears: [{ "BlockedRequests customer-entitlements-synchronize-per-address": [0, 5000, 99] }],
  },
  "store-credential-rejected": {
    fires: [
      { "StoreErrors android-store credential-rejected": [1, 0] },
      { "StoreErrors ios-store credential-rejected": 1 },
    ],
    bears: [{}],
  },
  "refreshes-late": {
    fires: [
      { "RefreshAge ios-store": HOUR / 6, "RefreshAge android-store": 0 },
      { "RefreshAge android-store": [HOUR, HOUR, null] },
    ],
    bears: [{ "RefreshAge ios-store": HOUR / 6 - 1 }, { "RefreshAge ios-store": [HOUR, null, null] }],
  },
  "store-unavailable": {
    fires: [
      { "StoreErrors android-store unavailable": 3 },
      { "StoreErrors android-store": 3, "StoreLatency android-store": 3 },
    ],
    bears: [
      { "StoreErrors android-store": 2 },
      { "StoreErrors android-store": 30, "StoreLatency android-store": 31 },
    ],
  },
  "notifications-refused": {
    fires: [
      { "Notifications ios-store INVALID_NOTIFICATION": 5 },
      { "Notifications ios-store INVALID_NOTIFICATION": 2, "Notifications ios-store PARTLY_UNDERSTOOD": 3 },
    ],
    bears: [{ "Notifications ios-store INVALID_NOTIFICATION": 4 }],
  },
  "signatures-refused": {
    fires: [{ "Notifications ios-store FORGED": 1000 }],
    bears: [{ Notifications: 999 }],
  },
  "notifications-silent": { fires: [{ SilentApplications: 1 }], bears: [{}] },
  "acknowledgements-late": {
    fires: [{ AcknowledgementAge: HOUR }],
    bears: [{ AcknowledgementAge: HOUR - 1 }, {}],
  },
  "acknowledgements-near-deadline": { fires: [{ AcknowledgementsNearDeadline: 1 }], bears: [{}] },
  "acknowledgements-failed": { fires: [{ AcknowledgementsFailed: 1 }], bears: [{}] },
  "ios-store-refreshes-not-running": {
    fires: [{ "Errors Average RefreshIos": 1 }],
    bears: [{ Errors: [1, 0] }, { Errors: [null, 0] }],
  },
  "android-store-refreshes-not-running": {
    fires: [{ "Errors Average RefreshAndroid": 1 }],
    bears: [{ Errors: [0, 1] }],
  },
  "sweeps-not-running": {
    fires: [
      { "Errors Average SweepIos": 1, "Errors SweepAndroid": 0 },
      { "Errors SweepIos": 0, "Errors Average SweepAndroid": 1 },
    ],
    bears: [{ Errors: 0 }],
  },
  "notification-watch-not-running": {
    fires: [{ "Errors Average": 1 }],
    bears: [{ Errors: [1, 0] }],
  },
  "telling-not-running": {
    fires: [
      { "Errors Average TellChanges": 1, "Errors DeliverMessages": 0 },
      { "Errors TellChanges": 0, "Errors Average DeliverMessages": 1 },
    ],
    bears: [{ Errors: [1, 0.98] }],
  },
  "changes-late": {
    fires: [{ ChangeAge: HOUR / 6 }, { ChangeAge: [HOUR, HOUR, null] }],
    bears: [{ ChangeAge: HOUR / 6 - 1 }, { ChangeAge: [HOUR, null, null] }, {}],
  },
  "destination-down": {
    fires: [{ DestinationsDown: 1 }, { DestinationsDown: [1, 1, null] }],
    bears: [{ DestinationsDown: [1, null, null] }, {}],
  },
  "messages-nearly-lost": {
    fires: [{ DeliveryAge: 20 * 24 * HOUR }],
    bears: [{ DeliveryAge: 20 * 24 * HOUR - 1 }, {}],
  },
  "functions-throttled": {
    fires: [{ Throttles: [1, 1, 0] }],
    bears: [{ Throttles: [0, 9, 0] }],
  },
  "table-throttled": {
    fires: [{ "ReadThrottleEvents customer-entitlements": 1 }, { WriteThrottleEvents: [1, null, 1] }],
    bears: [{ WriteThrottleEvents: [1, null, null] }],
  },
  "table-errors": {
    fires: [{ "SystemErrors TransactWriteItems": 5 }, { "SystemErrors Query": 3, "SystemErrors GetItem": 2 }],
    bears: [{ "SystemErrors Query": 4 }],
  },
};

test("every alarm has made-up data that fires it, and usual data", () => {
  expect([...alarms.keys()].sort()).toEqual(Object.keys(CASES).sort());
});

test.each(Object.entries(CASES))(
  "%s fires from its metrics, and not from what is usual",
  (name, { fires, bears }) => {
    expect(fires.map((data) => stateOf(name, data))).toEqual(fires.map(() => "ALARM"));
    expect(bears.map((data) => stateOf(name, data))).toEqual(bears.map(() => "OK"));
  },
);

test("both links may fail whole, and their own alarms fire", () => {
  // 1 % of the requests each.
  expect(stateOf("server-errors", { "5XXError": 40, Count: 2000 })).toBe("OK");
  for (const link of ["link-ios-store-customer", "link-android-store-customer"])
    expect(stateOf(`${link}-failing`, { [OWN_FAILURES[link] ?? ""]: 240, Invocations: 240 })).toBe("ALARM");
});

test("a whole outage of a quiet service fires within fifteen minutes", () => {
  expect(stateOf("server-errors", { "5XXError": [1, 1, 2], Count: [1, 1, 2] })).toBe("OK");
  // So is a link that fails whole, with one request of a hundred, within the day.
  expect(stateOf("server-errors-in-a-day", { "5XXError": 3, Count: 360 })).toBe("ALARM");
});

test.each([
  ["ios-store-refreshes-not-running", {}],
  ["android-store-refreshes-not-running", {}],
  ["sweeps-not-running", {}],
  ["notification-watch-not-running", {}],
  ["telling-not-running", {}],
  ["telling-not-running", { "Errors TellChanges": 0 }],
  ["sweeps-not-running", { "Errors SweepAndroid": 0 }],
  ["sweeps-not-running", { "Errors SweepIos": 0 }],
])("%s fires for a function that nothing invokes: %j", (name, data: MadeUp) => {
  expect(stateOf(name, data)).toBe("INSUFFICIENT_DATA");
  expect(alarms.get(name).InsufficientDataActions).toEqual(alarms.get(name).AlarmActions);
});

test("throttles of every function are seen: one metric of the account and region has them all", () => {
  const { MetricName, Namespace, Dimensions = [] } = alarms.get("functions-throttled");
  expect([Namespace, MetricName, Dimensions]).toEqual(["AWS/Lambda", "Throttles", []]);
});

test("no alarm reads more metrics, or a longer time, than CloudWatch evaluates", () => {
  for (const { Metrics = [], Period, EvaluationPeriods } of alarms.values()) {
    const stats = Metrics.flatMap(({ MetricStat }: Json) => (MetricStat ? [MetricStat] : []));
    expect(stats.length).toBeLessThanOrEqual(10);
    const periods = new Set<number>([...(Period ? [Period] : []), ...stats.map((stat: Json) => stat.Period)]);
    expect(periods.size).toBe(1);
    expect(Math.max(...periods) * EvaluationPeriods).toBeLessThanOrEqual(86_400);
  }
});
