import { Duration, Stack } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  MathExpression,
  Stats,
  TreatMissingData,
  type CreateAlarmOptions,
  type IMetric,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Topic, type ITopic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import { endpoints } from "../../lib/contract/endpoints.ts";
import type { AlarmParameters } from "../parameters.ts";
import { acceptFinding } from "./accept-finding.ts";
import { PERIOD, sumOf, type ServiceMetrics } from "./service-metrics.ts";

export interface AlarmsProps extends AlarmParameters {
  readonly serviceName: string;
  readonly metrics: ServiceMetrics;
  /** The folder of the function that acknowledges what is due. */
  readonly acknowledger: string;
}

/** Fewer failures than this are somebody's bad minute, whatever part of the requests they are. */
const FEWEST_FAILURES = 5;

/** A small service asks few questions: so many of six hours without an answer are enough to look at. */
const FEWEST_UNANSWERED = 3;

interface Condition extends Partial<CreateAlarmOptions> {
  readonly metric: IMetric & {
    createAlarm(scope: Construct, id: string, options: CreateAlarmOptions): Alarm;
  };
  readonly threshold: number;
  /** Of how many periods how many; unset: one of one. */
  readonly periods?: readonly [wrong: number, of: number];
}

/**
 * What wakes somebody: only what a person has to do something about. Each is explained in docs/operations.md under its
 * name.
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
    this.all = Object.entries(conditions(props)).map(([name, condition]) => {
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
    const silence = this.all.find(({ node }) => node.id === NOT_RUNNING);
    silence?.addInsufficientDataAction(new SnsAction(this.topic));
  }

  #newTopic({ serviceName, email }: AlarmsProps): Topic {
    const topic = new Topic(this, "Topic", { displayName: serviceName, enforceSSL: true });
    // A topic with a policy of its own has nothing of the usual one, by which alarms of the account may publish.
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
      "Serverless-SNSRedrivePolicy": "SNS itself tries an e-mail again; an alarm of days ago wakes nobody.",
    });
    return topic;
  }
}

const NOT_RUNNING = "acknowledgements-not-running";

const conditions = ({ metrics, acknowledger }: AlarmsProps): Record<string, Condition> => ({
  "server-errors": {
    alarmDescription: "More than 5 % of the requests fail, stores that do not answer left out.",
    metric: new MathExpression({
      label: "failed, in %",
      expression: `IF(failed - FILL(stores, 0) >= ${FEWEST_FAILURES}, 100 * (failed - FILL(stores, 0)) / served, 0)`,
      usingMetrics: {
        failed: metrics.api("5XXError"),
        served: metrics.api("Count"),
        stores: metrics.own("requests", {
          endpoint: endpoints.linkAndroidStoreCustomer.function,
          outcome: "STORE_UNAVAILABLE",
        }),
      },
      period: PERIOD,
    }),
    threshold: 5,
    periods: [2, 3],
  },
  "store-credential-rejected": {
    alarmDescription: "Google refuses the credential of an application, or it cannot be used.",
    metric: metrics.own("storeErrors", { store: "android-store", reason: "credential-rejected" }),
    threshold: 1,
  },
  // The store's bad minutes pass, and callers ask again; but what it leaves unanswered for long is stored nowhere.
  "store-unavailable": {
    alarmDescription: "In six hours Google answered fewer questions about Android purchases than it did not.",
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
  "acknowledgements-near-deadline": {
    alarmDescription: "Android purchases are refunded in less than a day unless they are acknowledged.",
    metric: metrics.own("acknowledgementsNearDeadline", {}, "Maximum"),
    threshold: 1,
  },
  "acknowledgements-failed": {
    alarmDescription: "Acknowledgements were refused for good, or came too late.",
    metric: metrics.own("acknowledgementsFailed"),
    threshold: 1,
  },
  [NOT_RUNNING]: {
    alarmDescription: "The function that acknowledges due purchases has not succeeded for two hours.",
    metric: new MathExpression({
      label: "succeeded",
      expression: "invocations - errors",
      usingMetrics: {
        invocations: metrics.ofFunction(acknowledger, "Invocations"),
        errors: metrics.ofFunction(acknowledger, "Errors"),
      },
      period: Duration.hours(1),
    }),
    comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
    // Silence is told too, but not that of a service that has never run.
    treatMissingData: TreatMissingData.MISSING,
    threshold: 1,
    periods: [2, 2],
  },
  "functions-throttled": {
    alarmDescription:
      "Lambda refuses invocations: the concurrency of a function or of the account is used up.",
    metric: sumOf("throttled", metrics.ofFunctions("Throttles")),
    threshold: 1,
    periods: [2, 3],
  },
  "table-throttled": {
    alarmDescription: "DynamoDB refuses requests: a limit of the table or of the account is reached.",
    metric: sumOf("throttled", metrics.tableThrottles()),
    threshold: 1,
    periods: [2, 3],
  },
  "table-errors": {
    alarmDescription: "DynamoDB fails requests.",
    metric: sumOf("errors", metrics.tableErrors()),
    threshold: FEWEST_FAILURES,
    periods: [2, 3],
  },
});
