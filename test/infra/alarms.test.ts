import { readFileSync } from "node:fs";
import { join } from "node:path";
import { alarmState, type MadeUp } from "./alarm-state.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import { synthesizeForTest } from "../../testing/support/local-gateway.ts";

/** A template is any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const SERVICE = "customer-entitlements";
const HOUR = 3_600_000;

let alarms: ReadonlyMap<string, Json>;
let firewall: Json;

beforeAll(async () => {
  const { folder } = await synthesizeForTest(FUNCTIONS_APP);
  const { Resources } = JSON.parse(readFileSync(join(folder, `${SERVICE}-service.template.json`), "utf8"));
  firewall = Object.values<Json>(Resources).find(({ Type }) => Type === "AWS::WAFv2::WebACL");
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

/** Data that fires each alarm, and data that it must bear. */
const CASES: Readonly<
  Record<string, { readonly fires: readonly MadeUp[]; readonly bears: readonly MadeUp[] }>
> = {
  "server-errors": {
    fires: [{ "5XXError": [5, 0, 5] }, { "5XXError": [40, 0, 40], HarmlessFailures: [35, 0, 35] }],
    bears: [
      // One period in which a deployment went wrong.
      { "5XXError": [0, 200, 0] },
      { "5XXError": 4 },
      { "5XXError": 40, HarmlessFailures: 36 },
    ],
  },
  "requests-failing": {
    fires: [{ "5XXError": 5 }, { "5XXError": 45, HarmlessFailures: 40 }],
    bears: [{ "5XXError": 4 }, { "5XXError": 45, HarmlessFailures: 41 }, {}],
  },
  "server-errors-in-a-day": {
    fires: [
      { "5XXError": 3, Count: 3 },
      { "5XXError": 5, Count: 360 },
    ],
    bears: [
      { "5XXError": 2, Count: 2 },
      { "5XXError": 3, Count: 10_000 },
      { "5XXError": 9, Count: 9, UnansweredRequests: 8 },
    ],
  },
  "reads-slow": { fires: [{ Duration: 1000 }], bears: [{ Duration: [2000, 2000, 50] }, {}] },
  "credentials-refused": {
    fires: [{ CredentialsRefused: [100, 100, 0] }],
    bears: [{ CredentialsRefused: 99 }, {}],
  },
  "transactions-refused": { fires: [{ TransactionsRefused: 50 }], bears: [{ TransactionsRefused: 49 }, {}] },
  "addresses-blocked": {
    fires: [{ "BlockedRequests customer-entitlements-per-address": [100, 0, 100] }],
    bears: [{ BlockedRequests: [0, 5000, 99] }],
  },
  "store-credential-rejected": { fires: [{ StoreCredentialsRejected: [1, 0] }], bears: [{}] },
  "refreshes-late": {
    fires: [{ RefreshAge: HOUR / 6 }, { RefreshAge: [HOUR, HOUR, null] }],
    bears: [{ RefreshAge: HOUR / 6 - 1 }, { RefreshAge: [HOUR, null, null] }],
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
  "notifications-refused": { fires: [{ NotificationsRefused: 5 }], bears: [{ NotificationsRefused: 4 }] },
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
  "table-throttled": {
    fires: [{ "ReadThrottleEvents customer-entitlements": 1 }, { WriteThrottleEvents: [1, null, 1] }],
    bears: [{ WriteThrottleEvents: [1, null, null] }],
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

/** What wakes somebody without an alarm of its own. */
test.each<[subject: string, fires: readonly [alarm: string, data: MadeUp][]]>([
  ["one endpoint that fails whole, with few requests", [["requests-failing", { "5XXError": 5 }]]],
  // The gateway answers 500 where Lambda refuses to run a function, and functions where DynamoDB fails.
  [
    "DynamoDB's server errors",
    [
      ["server-errors", { "5XXError": 5, HarmlessFailures: 0 }],
      ["telling-not-running", { "Errors Average": 1 }],
    ],
  ],
  [
    "functions that Lambda throttles",
    [
      ["server-errors", { "5XXError": 5 }],
      ["ios-store-refreshes-not-running", {}],
    ],
  ],
])("%s fires an alarm", (_subject, fires) => {
  for (const [alarm, data] of fires) expect(stateOf(alarm, data)).not.toBe("OK");
});

test("a whole outage of a quiet service fires within fifteen minutes", () => {
  expect(stateOf("server-errors", { "5XXError": [1, 1, 2] })).toBe("OK");
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

test("both limits of an address count under the one name that the alarm reads", () => {
  const limits = firewall.Properties.Rules.filter(({ Statement }: Json) => Statement.RateBasedStatement);
  const names = limits.map(({ VisibilityConfig }: Json) => VisibilityConfig.MetricName);
  const { Value } = alarms.get("addresses-blocked").Dimensions.find(({ Name }: Json) => Name === "Rule");
  expect(names).toEqual([Value, Value]);
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
