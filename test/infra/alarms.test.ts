import { readFileSync } from "node:fs";
import { METRICS } from "../../lib/contract/metrics.ts";
import { DAY, HOUR } from "../../lib/duration.ts";
import { wordsOf } from "../../tools/words.ts";
import { alarmState, type MadeUp } from "./alarm-state.ts";
import { ofType, only, stages, type Json } from "./synthesis.ts";

const alarms: ReadonlyMap<string, Json> = new Map(
  ofType("AWS::CloudWatch::Alarm", stages.production).map(([, { Properties }]) => [
    Properties.AlarmName.replace("customer-entitlements-", ""),
    Properties,
  ]),
);

interface Case {
  readonly fires: readonly MadeUp[];
  readonly bears: readonly MadeUp[];
  /** Data of a function that nothing invokes. */
  readonly silent?: readonly MadeUp[];
}

/** Fires once so many of its last periods are at or above the least value, whatever the others are. */
const fromValue = (metric: string, least: number, wrong = 1, of = wrong): Case => {
  const periods = (bad: number, other: number | null) => ({
    [metric]: Array.from({ length: of }, (_, index) => (index < of - bad ? other : least)),
  });
  return {
    fires: [periods(of, null), periods(wrong, null), periods(wrong, 0)],
    bears: [periods(wrong - 1, least - 1), periods(wrong - 1, null), {}],
  };
};

/** Fires once a function has failed whenever it ran in two hours, and tells where one was not invoked. */
const notRunning = (...functions: readonly string[]): Case => {
  const errors = (name: string, average: number | readonly (number | null)[]) => ({
    [`Errors Average ${name}`]: average,
  });
  const but = (failing: string, average: number | readonly (number | null)[]) =>
    Object.assign({}, ...functions.map((name) => errors(name, name === failing ? average : 0)));
  return {
    fires: functions.map((name) => but(name, 1)),
    bears: functions.flatMap((name) => [but(name, [1, 0]), but(name, [1, 0.98]), but(name, [null, 0])]),
    silent: [{}, ...functions.slice(1).map((name) => errors(name, 0))],
  };
};

/** Data that fires each alarm, and data that it must bear. */
const CASES: Readonly<Record<string, Case>> = {
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
  "reads-slow": fromValue("Duration", 1000, 3),
  "credentials-refused": fromValue("CredentialsRefused", 100, 2, 3),
  "transactions-refused": fromValue("TransactionsRefused", 50),
  "addresses-blocked": fromValue("BlockedRequests customer-entitlements-per-address", 100, 2, 3),
  "store-credential-rejected": fromValue("StoreCredentialsRejected", 1, 1, 2),
  "refreshes-late": fromValue("RefreshAge Maximum", HOUR / 6, 2, 3),
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
  "notifications-refused": fromValue("NotificationsRefused", 5),
  "signatures-refused": fromValue("Notifications ios-store FORGED", 1000),
  "notifications-silent": fromValue("SilentApplications", 1),
  "acknowledgements-late": fromValue("AcknowledgementAge Maximum", HOUR),
  "acknowledgements-near-deadline": fromValue("AcknowledgementsNearDeadline", 1),
  "acknowledgements-failed": fromValue("AcknowledgementsFailed", 1),
  "ios-store-refreshes-not-running": notRunning("RefreshIos"),
  "android-store-refreshes-not-running": notRunning("RefreshAndroid"),
  "sweeps-not-running": notRunning("SweepIos", "SweepAndroid"),
  "notification-watch-not-running": notRunning("WatchNotifications"),
  "telling-not-running": notRunning("TellChanges", "DeliverMessages"),
  "changes-late": fromValue("ChangeAge Maximum", HOUR / 6, 2, 3),
  "destination-down": fromValue("DestinationsDown", 1, 2, 3),
  "messages-nearly-lost": fromValue("DeliveryAge Maximum", 20 * DAY),
  "table-throttled": {
    fires: [{ "ReadThrottleEvents customer-entitlements": 1 }, { WriteThrottleEvents: [1, null, 1] }],
    bears: [{ WriteThrottleEvents: [1, null, null] }],
  },
};

test("every alarm has made-up data and a short section of the runbook", () => {
  const sections = readFileSync("docs/runbook.md", "utf8").split(/^##+ /m);
  const words = new Map(sections.map((section) => [section.split("\n", 1)[0], wordsOf(section)]));
  expect([...alarms.keys()].sort()).toEqual(Object.keys(CASES).sort());
  expect([...alarms.keys()].filter((name) => (words.get(`\`${name}\``) ?? Infinity) > 110)).toEqual([]);
});

test.each(Object.entries(CASES))(
  "%s fires from its metrics, and not from what is usual",
  (name, { fires, bears, silent = [] }) => {
    const alarm = alarms.get(name);
    const statesOf = (data: readonly MadeUp[]) => data.map((one) => alarmState(alarm, one));
    expect(statesOf(fires)).toEqual(fires.map(() => "ALARM"));
    expect(statesOf(bears)).toEqual(bears.map(() => "OK"));
    expect(statesOf(silent)).toEqual(silent.map(() => "INSUFFICIENT_DATA"));
    const AlarmActions = [{ Ref: ofType("AWS::SNS::Topic", stages.production)[0]?.[0] }];
    expect(alarm).toMatchObject({
      AlarmActions,
      AlarmDescription: expect.stringMatching(new RegExp(`^.{20,} What to do: docs/runbook\\.md#${name}$`)),
      TreatMissingData: silent.length > 0 ? "missing" : "notBreaching",
      ...(silent.length > 0 && { InsufficientDataActions: AlarmActions }),
    });
  },
);

test("forged notifications of the App Store are counted over six hours", () => {
  expect(alarms.get("signatures-refused")).toMatchObject({ Period: 21_600 });
});

test("every metric that an alarm reads is written by the functions", () => {
  const own = JSON.stringify([...alarms.values()]).matchAll(
    /"MetricName":"(\w+)","Namespace":"CustomerEntitlements"/g,
  );
  const read = new Set([...own].map(([, name = ""]) => name));
  expect(read.size).toBeGreaterThan(15);
  const written = new Set<string>(Object.values(METRICS));
  expect([...read].filter((name) => !written.has(name))).toEqual([]);
});

test("CloudWatch publishes over TLS only, and the operator's address gets it", () => {
  const { Statement } = only("AWS::SNS::TopicPolicy", stages.production).Properties.PolicyDocument;
  expect(Statement).toContainEqual(
    expect.objectContaining({
      Effect: "Allow",
      Principal: { Service: "cloudwatch.amazonaws.com" },
      Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
    }),
  );
  expect(Statement).toContainEqual(expect.objectContaining({ Effect: "Deny", Principal: "*" }));
  expect(only("AWS::SNS::Subscription", stages.guarded).Properties).toMatchObject({
    Protocol: "email",
    Endpoint: "operator@example.com",
  });
});

test("development has no alarm, and no stage a dashboard by default", () => {
  expect(ofType("AWS::CloudWatch::Alarm", stages.development)).toEqual([]);
  for (const stage of [stages.production, stages.development])
    expect(ofType("AWS::CloudWatch::Dashboard", stage)).toEqual([]);
  const shown = JSON.stringify(only("AWS::CloudWatch::Dashboard", stages.guarded).Properties.DashboardBody);
  for (const [id] of ofType("AWS::CloudWatch::Alarm", stages.guarded))
    expect(shown).toContain(`"${id}","Arn"`);
  for (const metric of Object.values(METRICS)) expect(shown).toContain(metric);
});

test("both limits of an address count under the alarm's metric", () => {
  const { Rules } = only("AWS::WAFv2::WebACL", stages.production).Properties;
  const limits = Rules.filter(({ Statement }: Json) => Statement.RateBasedStatement);
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
