import { Duration, Stack } from "aws-cdk-lib";
import {
  ComparisonOperator,
  MathExpression,
  Stats,
  TreatMissingData,
  type Alarm,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Topic, type ITopic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import { functionName } from "../../lib/contract/function-name.ts";
import { STORES } from "../../lib/contract/schemas.ts";
import type { ScheduledFunctionName } from "../other-functions.ts";
import type { AlarmParameters } from "../parameters.ts";
import { acceptFinding } from "../constructs/accept-finding.ts";
import { callerConditions, type CallerAlarmsProps } from "./caller-alarms.ts";
import type { Condition, Conditions } from "./condition.ts";
import { failureConditions } from "./failure-alarms.ts";
import { PERIOD, sumOf, type ServiceMetrics } from "./service-metrics.ts";
import { tellingConditions } from "./telling-alarms.ts";

export interface AlarmsProps extends AlarmParameters, CallerAlarmsProps {
  readonly serviceName: string;
}

/** Server errors of the table per period that justify an alarm. */
const FEWEST_FAILURES = 5;

/**
 * iOS-store notifications in six hours, signed by the App Store and refused, that justify an alarm. Low, because none should
 * ever be refused, and a small application gets few.
 */
const FEWEST_REFUSED = 5;

const REFUSED_IN = Duration.hours(6);

/** Forged iOS-store notifications in six hours that justify an alarm. High, because anyone can send some. */
const FEWEST_FORGED = 1000;

/** Unanswered store requests in six hours that justify an alarm. Low, because a small service sends few. */
const FEWEST_UNANSWERED = 3;

/**
 * Alarms, only for conditions that need a person. docs/runbook.md has a section on each, under its name.
 */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];
  readonly topic: ITopic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.topic =
      props.topicArn === null
        ? this.#newTopic(props)
        : Topic.fromTopicArn(this, "GivenTopic", props.topicArn);
    this.all = Object.entries(props.isOn ? conditions(props) : {}).map(([name, condition]) => {
      const { metric, periods: [wrong, of] = [1, 1], ...options } = condition;
      const alarm = metric.createAlarm(this, name, {
        alarmName: `${props.serviceName}-${name}`,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
        evaluationPeriods: of,
        datapointsToAlarm: wrong,
        ...options,
      });
      alarm.addAlarmAction(new SnsAction(this.topic));
      return alarm;
    });
    for (const alarm of this.all)
      if (isOnSilence(alarm.node.id)) alarm.addInsufficientDataAction(new SnsAction(this.topic));
  }

  #newTopic({ serviceName, email }: AlarmsProps): Topic {
    const topic = new Topic(this, "Topic", { displayName: serviceName, enforceSSL: true });
    // A topic policy replaces the default one, which lets the account's alarms publish.
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: "AlarmsOfThisAccount",
        principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
        actions: ["sns:Publish"],
        resources: [topic.topicArn],
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
    );
    if (email !== null) topic.addSubscription(new EmailSubscription(email));
    acceptFinding(topic, {
      "Serverless-SNSRedrivePolicy":
        "SNS retries e-mail by itself, and an alarm that is days old is of no use.",
    });
    return topic;
  }
}

/**
 * Alarms on missing data too: a function that is not invoked has none. A service that has never run starts in alarm.
 */
const isOnSilence = (name: string): boolean => name.endsWith("-not-running");

/** One of the functions has not succeeded for two hours. */
const notRunning = (
  metrics: ServiceMetrics,
  functions: readonly ScheduledFunctionName[],
): Omit<Condition, "alarmDescription"> => ({
  metric: new MathExpression({
    label: "failed",
    // The average of errors is the share of invocations that failed. A product, because it is missing if any factor is;
    // MAX would ignore missing data.
    expression: `1 - ${functions.map((_, index) => `(1 - failed${index})`).join(" * ")}`,
    usingMetrics: Object.fromEntries(
      functions
        .map(functionName)
        .map((name, index) => [`failed${index}`, metrics.ofFunction(name, "Errors", Stats.AVERAGE)]),
    ),
    period: Duration.hours(1),
  }),
  treatMissingData: TreatMissingData.MISSING,
  threshold: 1,
  periods: [2, 2],
});

/** Milliseconds for which a due refresh may wait: short enough that the default renewal leeway still covers it. */
const LATEST_REFRESH = 10 * 60 * 1000;

/** Milliseconds for which an acknowledgement may wait. */
const LATEST_ACKNOWLEDGEMENT = 60 * 60 * 1000;

/** An acknowledgement that fails is tried at least once an hour. */
const TRIED_EVERY = Duration.hours(1);

/** A rejected credential is retried at least hourly, so that one alarm lasts until it is fixed. */
const CREDENTIAL_PERIOD = Duration.hours(1);

const conditions = (props: AlarmsProps): Conditions => ({
  ...failureConditions(props.metrics),
  ...callerConditions(props),
  ...upkeepConditions(props),
  ...tellingConditions(props.metrics),
});

const upkeepConditions = ({ metrics }: AlarmsProps): Conditions => ({
  "store-credential-rejected": {
    alarmDescription: "A store rejects the credential of an application, or the credential is unusable.",
    metric: sumOf(
      "rejected",
      STORES.map((store) => metrics.own("storeErrors", { store, reason: "credential-rejected" })),
      CREDENTIAL_PERIOD,
    ),
    threshold: 1,
    periods: [1, 2],
  },
  "refreshes-late": {
    alarmDescription:
      "Purchases have waited ten minutes to be asked about again: payers lose access when the renewal leeway ends.",
    metric: new MathExpression({
      label: "oldest, in ms",
      expression: "MAX([FILL(ios, 0), FILL(android, 0)])",
      usingMetrics: {
        ios: metrics.own("refreshAge", { store: "ios-store" }, "Maximum"),
        android: metrics.own("refreshAge", { store: "android-store" }, "Maximum"),
      },
      period: PERIOD,
    }),
    threshold: LATEST_REFRESH,
    periods: [2, 3],
  },
  // Callers retry, so short outages need nobody. In a long one, purchases that are looked up are not stored.
  "store-unavailable": {
    alarmDescription:
      "In six hours, Google left half or more of the requests about Android purchases unanswered.",
    metric: new MathExpression({
      label: "unanswered, in %",
      expression: `IF(unanswered >= ${FEWEST_UNANSWERED}, 100 * unanswered / (unanswered + FILL(answered, 0)), 0)`,
      usingMetrics: {
        unanswered: metrics.own("storeErrors", { store: "android-store", reason: "unavailable" }),
        answered: metrics.own("storeLatency", { store: "android-store" }, Stats.SAMPLE_COUNT),
      },
      period: Duration.hours(6),
    }),
    threshold: 50,
  },
  "notifications-refused": {
    alarmDescription: `In six hours, ${FEWEST_REFUSED} or more iOS-store notifications that the App Store signed were refused, or not understood.`,
    metric: sumOf(
      "refused",
      ["INVALID_NOTIFICATION", "PARTLY_UNDERSTOOD"].map((outcome) =>
        metrics.own("notifications", { store: "ios-store", outcome }).with({ period: REFUSED_IN }),
      ),
      REFUSED_IN,
    ),
    threshold: FEWEST_REFUSED,
  },
  "signatures-refused": {
    alarmDescription: `In six hours, ${FEWEST_FORGED} or more iOS-store notifications were forged: not signed as the App Store signs.`,
    metric: metrics
      .own("notifications", { store: "ios-store", outcome: "FORGED" })
      .with({ period: Duration.hours(6) }),
    threshold: FEWEST_FORGED,
  },
  "notifications-silent": {
    alarmDescription:
      "A bundle or package that had notifications of production within 30 days has had none for a day.",
    metric: metrics.own("silentApplications", {}, "Maximum").with({ period: Duration.hours(1) }),
    threshold: 1,
  },
  "acknowledgements-late": {
    alarmDescription: "An Android purchase has waited for its acknowledgement for an hour.",
    metric: metrics.own("acknowledgementAge", {}, "Maximum").with({ period: TRIED_EVERY }),
    threshold: LATEST_ACKNOWLEDGEMENT,
  },
  "acknowledgements-near-deadline": {
    alarmDescription: "Google refunds Android purchases in less than a day unless they are acknowledged.",
    metric: metrics.own("acknowledgementsNearDeadline", {}, "Maximum").with({ period: TRIED_EVERY }),
    threshold: 1,
  },
  "acknowledgements-failed": {
    alarmDescription: "Google dropped purchases whose acknowledgement was due, or their deadline passed.",
    metric: metrics.own("acknowledgementsFailed"),
    threshold: 1,
  },
  "ios-store-refreshes-not-running": {
    alarmDescription: "The function that asks Apple about due purchases has not succeeded for two hours.",
    ...notRunning(metrics, ["refreshIosStorePurchases"]),
  },
  "android-store-refreshes-not-running": {
    alarmDescription: "The function that asks Google about due purchases has not succeeded for two hours.",
    ...notRunning(metrics, ["refreshAndroidStorePurchases"]),
  },
  "sweeps-not-running": {
    alarmDescription: "A function that reads a store's list has not succeeded for two hours.",
    ...notRunning(metrics, ["sweepIosStoreNotifications", "sweepAndroidStoreRefunds"]),
  },
  "notification-watch-not-running": {
    alarmDescription:
      "The function that finds applications whose notifications stopped has not succeeded for two hours.",
    ...notRunning(metrics, ["watchNotifications"]),
  },
  "telling-not-running": {
    alarmDescription: "A function that publishes or delivers changes has not succeeded for two hours.",
    ...notRunning(metrics, ["tellChanges", "deliverMessages"]),
  },
  "functions-throttled": {
    alarmDescription:
      "Lambda throttles functions of this account and region: the concurrency of one, or of the account, is used up.",
    metric: metrics.throttles(),
    threshold: 1,
    periods: [2, 3],
  },
  "table-throttled": {
    alarmDescription: "DynamoDB throttles requests: a limit of the table or of the account is reached.",
    metric: sumOf("throttled", metrics.tableThrottles()),
    threshold: 1,
    periods: [2, 3],
  },
  "table-errors": {
    alarmDescription: "DynamoDB answers requests with server errors.",
    metric: sumOf("errors", metrics.tableErrors()),
    threshold: FEWEST_FAILURES,
    periods: [2, 3],
  },
});
