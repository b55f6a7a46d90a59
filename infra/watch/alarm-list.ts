import { Duration } from "aws-cdk-lib";
import {
  MathExpression,
  Stats,
  type Alarm,
  type CreateAlarmOptions,
  type IMetric,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { endpoints, functionName } from "../../lib/contract/endpoints.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import type { ScheduledFunctionName } from "../functions.ts";
import { PERIOD, sumOf, type MetricName, type ServiceMetrics } from "./service-metrics.ts";

type MetricOf = (metrics: ServiceMetrics) => IMetric & {
  createAlarm(scope: Construct, id: string, options: CreateAlarmOptions): Alarm;
};

/** It calls while the metric is at or above the threshold. */
export interface AlarmEntry {
  readonly name: string;
  readonly description: string;
  readonly metric: MetricOf;
  readonly threshold: number;
  /** Breaching periods out of evaluated ones that trigger the alarm; unset: 1 of 1. */
  readonly periods?: readonly [wrong: number, of: number];
  /** Calls on missing data too; unset: a period without data is quiet. */
  readonly callsOnSilence?: true;
  /** Keeps its state while a percentile has too few samples. */
  readonly ignoresFewSamples?: true;
  /** Only in a stage that limits the requests of an address. */
  readonly ofAddressLimits?: true;
}

const ONE_HOUR = Duration.hours(1);
const SIX_HOURS = Duration.hours(6);
const ONE_DAY = Duration.days(1);

const sum =
  (name: MetricName, period = PERIOD): MetricOf =>
  (metrics) =>
    metrics.own(name).with({ period });

const maximum =
  (name: MetricName, period = PERIOD): MetricOf =>
  (metrics) =>
    metrics.own(name, {}, "Maximum").with({ period });

/** 5xx responses of the API that need somebody: of functions, and of the gateway where no function answered. */
const failures =
  (period: Duration): MetricOf =>
  (metrics) =>
    new MathExpression({
      label: "failed",
      expression: "failed - FILL(harmless, 0)",
      usingMetrics: { failed: metrics.api("5XXError"), harmless: metrics.own("harmlessFailures") },
      period,
    });

/** Percentage of 5xx, except for Google's silence, which has its own alarm; 0 while there are fewer than three. */
const failedShare: MetricOf = (metrics) =>
  new MathExpression({
    label: "failed, in %",
    expression: "IF(failed - FILL(unanswered, 0) >= 3, 100 * (failed - FILL(unanswered, 0)) / served, 0)",
    usingMetrics: {
      failed: metrics.api("5XXError"),
      served: metrics.api("Count"),
      unanswered: metrics.own("unansweredRequests"),
    },
    period: ONE_DAY,
  });

/** Percentage of requests to Google that were not answered; 0 while there are fewer than three. */
const unansweredByGoogle: MetricOf = (metrics) =>
  new MathExpression({
    label: "unanswered, in %",
    expression: "IF(unanswered >= 3, 100 * unanswered / (unanswered + FILL(answered, 0)), 0)",
    usingMetrics: {
      unanswered: metrics.own("storeErrors", { store: "android-store", reason: "unavailable" }),
      answered: metrics.own("storeLatency", { store: "android-store" }, Stats.SAMPLE_COUNT),
    },
    period: SIX_HOURS,
  });

/**
 * One of the functions has failed whenever it ran for two hours, or was not invoked. A service that has never run starts
 * in alarm.
 */
const notRunning = (
  name: string,
  description: string,
  functions: readonly ScheduledFunctionName[],
): AlarmEntry => ({
  name: `${name}-not-running`,
  description: `${description} has not succeeded for two hours.`,
  metric: (metrics) =>
    new MathExpression({
      label: "failed",
      // The average of errors is the share of invocations that failed. A product, because it is missing if any factor is;
      // MAX would ignore missing data.
      expression: `1 - ${functions.map((_, index) => `(1 - failed${index})`).join(" * ")}`,
      usingMetrics: Object.fromEntries(
        functions
          .map(functionName)
          .map((one, index) => [`failed${index}`, metrics.ofFunction(one, "Errors", Stats.AVERAGE)]),
      ),
      period: ONE_HOUR,
    }),
  threshold: 1,
  periods: [2, 2],
  callsOnSilence: true,
});

/** Every alarm: only conditions that need a person. docs/runbook.md has a section on each. */
export const ALARMS: readonly AlarmEntry[] = [
  {
    name: "server-errors",
    description:
      "In five minutes, 5 or more requests failed, not counting lone failures and what a store is the cause of.",
    metric: failures(PERIOD),
    threshold: 5,
    periods: [2, 3],
  },
  {
    // For an endpoint with few requests.
    name: "requests-failing",
    description:
      "In an hour, 5 or more requests failed, not counting lone failures and what a store is the cause of.",
    metric: failures(ONE_HOUR),
    threshold: 5,
  },
  {
    // For a service with too few requests for the others: none should ever fail.
    name: "server-errors-in-a-day",
    description:
      "In a day, 3 or more requests failed, and one in two hundred or more, not counting stores that do not answer.",
    metric: failedShare,
    threshold: 0.5,
  },
  {
    name: "reads-slow",
    description: "A tenth of the reads of entitlements take a second or longer, for 15 minutes.",
    metric: (metrics) =>
      metrics.ofFunction(endpoints.readAccountEntitlements.function, "Duration", Stats.p(90)),
    threshold: SECOND,
    periods: [3, 3],
    ignoresFewSamples: true,
  },
  {
    // A backend with a dead key, or somebody guessing keys.
    name: "credentials-refused",
    description: "100 or more API keys and push tokens were refused in five minutes.",
    metric: sum("credentialsRefused"),
    threshold: 100,
    periods: [2, 3],
  },
  {
    name: "transactions-refused",
    description:
      "In an hour, 50 or more iOS-store requests were refused for their signatures, when a fifth or more were.",
    metric: sum("transactionsRefused", ONE_HOUR),
    threshold: 50,
  },
  {
    // One address is a tenth over its limit.
    name: "addresses-blocked",
    description: "A limit of an address refused 100 or more requests in five minutes.",
    metric: (metrics) => metrics.blockedAddresses(),
    threshold: 100,
    periods: [2, 3],
    ofAddressLimits: true,
  },
  {
    name: "store-credential-rejected",
    description: "A store rejects the credential of an application, or the credential is unusable.",
    // A rejected credential is retried at least hourly, so that one alarm lasts until it is fixed.
    metric: sum("storeCredentialsRejected", ONE_HOUR),
    threshold: 1,
    periods: [1, 2],
  },
  {
    // The default renewal leeway still covers ten minutes.
    name: "refreshes-late",
    description:
      "Purchases have waited ten minutes to be asked about again: payers lose access when the renewal leeway ends.",
    metric: maximum("refreshAge"),
    threshold: 10 * MINUTE,
    periods: [2, 3],
  },
  {
    // Callers retry, so short outages need nobody. In a long one, purchases that are looked up are not stored.
    name: "store-unavailable",
    description: "In six hours, Google left half or more of the requests about Android purchases unanswered.",
    metric: unansweredByGoogle,
    threshold: 50,
  },
  {
    // Low: none should ever be refused, and a small application gets few.
    name: "notifications-refused",
    description:
      "In six hours, 5 or more iOS-store notifications that the App Store signed were refused, or not understood.",
    metric: sum("notificationsRefused", SIX_HOURS),
    threshold: 5,
  },
  {
    // High: anyone can send some.
    name: "signatures-refused",
    description:
      "In six hours, 1000 or more iOS-store notifications were forged: not signed as the App Store signs.",
    metric: (metrics) =>
      metrics.own("notifications", { store: "ios-store", outcome: "FORGED" }).with({ period: SIX_HOURS }),
    threshold: 1000,
  },
  {
    name: "notifications-silent",
    description:
      "A bundle or package that had notifications of production within 30 days has had none for a day.",
    metric: maximum("silentApplications", ONE_HOUR),
    threshold: 1,
  },
  {
    // One that fails is tried at least once an hour.
    name: "acknowledgements-late",
    description: "An Android purchase has waited for its acknowledgement for an hour.",
    metric: maximum("acknowledgementAge", ONE_HOUR),
    threshold: HOUR,
  },
  {
    name: "acknowledgements-near-deadline",
    description: "Google refunds Android purchases in less than a day unless they are acknowledged.",
    metric: maximum("acknowledgementsNearDeadline", ONE_HOUR),
    threshold: 1,
  },
  {
    name: "acknowledgements-failed",
    description: "Google dropped purchases whose acknowledgement was due, or their deadline passed.",
    metric: sum("acknowledgementsFailed"),
    threshold: 1,
  },
  notRunning("ios-store-refreshes", "The function that asks Apple about due purchases", [
    "refreshIosStorePurchases",
  ]),
  notRunning("android-store-refreshes", "The function that asks Google about due purchases", [
    "refreshAndroidStorePurchases",
  ]),
  notRunning("sweeps", "A function that reads a store's list", [
    "sweepIosStoreNotifications",
    "sweepAndroidStoreRefunds",
  ]),
  notRunning("notification-watch", "The function that finds applications whose notifications stopped", [
    "watchNotifications",
  ]),
  notRunning("telling", "A function that publishes or delivers changes", ["tellChanges", "deliverMessages"]),
  {
    name: "table-throttled",
    description: "DynamoDB throttles requests: a limit of the table or of the account is reached.",
    metric: (metrics) => sumOf("throttled", metrics.tableThrottles()),
    threshold: 1,
    periods: [2, 3],
  },
  {
    name: "changes-late",
    description: "Account changes have waited ten minutes to be published.",
    metric: maximum("changeAge"),
    threshold: 10 * MINUTE,
    periods: [2, 3],
  },
  {
    name: "destination-down",
    description:
      "A destination has accepted nothing for an hour, or answered 410; or so has a service that notifications are forwarded to.",
    metric: maximum("destinationsDown"),
    threshold: 1,
    periods: [2, 3],
  },
  {
    name: "messages-nearly-lost",
    description:
      "A message waits for 20 days: after 30 days it is dropped, and its destination misses a change.",
    metric: maximum("deliveryAge", ONE_HOUR),
    threshold: 20 * DAY,
  },
];
