import { Stack } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { ComparisonOperator, TreatMissingData, type Alarm } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal, type Conditions } from "aws-cdk-lib/aws-iam";
import { Topic, type ITopic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import { acceptFinding } from "../constructs/accept-finding.ts";
import type { Parameters } from "../read-parameters.ts";
import { ALARMS, type AlarmEntry } from "./alarm-list.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

/** Makes the alarms of {@link ALARMS}, and the topic that they notify. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];
  readonly topic: ITopic;

  constructor(scope: Construct, id: string, parameters: Parameters, metrics: ServiceMetrics) {
    super(scope, id);
    const { serviceName, alarmTopicArn, hasAlarms, requestsPerAddress, synchronizesPerAddress } = parameters;
    this.topic =
      alarmTopicArn === null
        ? this.#newTopic(parameters)
        : Topic.fromTopicArn(this, "GivenTopic", alarmTopicArn);
    const limitsAddresses = requestsPerAddress !== null || synchronizesPerAddress !== null;
    this.all = ALARMS.filter(
      ({ ofAddressLimits }) => hasAlarms && (limitsAddresses || ofAddressLimits !== true),
    ).map((entry) => this.#newAlarm(entry, serviceName, metrics));
  }

  #newAlarm(entry: AlarmEntry, serviceName: string, metrics: ServiceMetrics): Alarm {
    const { name, description, threshold, periods: [wrong, of] = [1, 1] } = entry;
    const alarm = entry.metric(metrics).createAlarm(this, name, {
      alarmName: `${serviceName}-${name}`,
      alarmDescription: `${description} What to do: docs/runbook.md#${name}`,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      threshold,
      evaluationPeriods: of,
      datapointsToAlarm: wrong,
      // A function that is not invoked has no data.
      treatMissingData: entry.callsOnSilence ? TreatMissingData.MISSING : TreatMissingData.NOT_BREACHING,
      ...(entry.ignoresFewSamples && { evaluateLowSampleCountPercentile: "ignore" }),
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    if (entry.callsOnSilence) alarm.addInsufficientDataAction(new SnsAction(this.topic));
    return alarm;
  }

  #newTopic({ serviceName, alarmEmail }: Parameters): Topic {
    const topic = new Topic(this, "Topic", { displayName: serviceName, enforceSSL: true });
    // A topic policy replaces the default one, which lets the account's alarms publish.
    allowPublishing(topic, "AlarmsOfThisAccount", "cloudwatch");
    if (alarmEmail !== null) topic.addSubscription(new EmailSubscription(alarmEmail));
    acceptFinding(topic, {
      "Serverless-SNSRedrivePolicy":
        "SNS retries e-mail by itself, and an alarm that is days old is of no use.",
    });
    return topic;
  }
}

/** No effect on a topic that this stack does not create: its owner must allow the same. */
const allowPublishing = (
  topic: ITopic,
  sid: string,
  service: "cloudwatch" | "budgets",
  conditions: Conditions = {},
) =>
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid,
      principals: [new ServicePrincipal(`${service}.amazonaws.com`)],
      actions: ["sns:Publish"],
      resources: [topic.topicArn],
      conditions: { StringEquals: { "aws:SourceAccount": Stack.of(topic).account }, ...conditions },
    }),
  );

/**
 * Monthly budget of the whole account, in US dollars: AWS separates the costs of stacks only by tags that the payer has
 * activated. It notifies the topic and stops nothing.
 */
export const addMonthlyBudget = (
  scope: Construct,
  serviceName: string,
  dollars: number,
  topic: ITopic,
): void => {
  const { account, partition, region } = Stack.of(scope);
  const { policyDependable } = allowPublishing(topic, "BudgetsOfThisAccount", "budgets", {
    ArnLike: { "aws:SourceArn": `arn:${partition}:budgets::${account}:*` },
  });
  const budget = new CfnBudget(scope, "Budget", {
    budget: {
      // An account has one list of budgets for all regions, and a stage may be in two while it moves.
      budgetName: `${serviceName}-${region}`,
      budgetType: "COST",
      timeUnit: "MONTHLY",
      budgetLimit: { amount: dollars, unit: "USD" },
    },
    notificationsWithSubscribers: (
      [
        ["ACTUAL", 80],
        ["ACTUAL", 100],
        ["FORECASTED", 100],
      ] as const
    ).map(([notificationType, threshold]) => ({
      notification: {
        notificationType,
        comparisonOperator: "GREATER_THAN",
        threshold,
        thresholdType: "PERCENTAGE",
      },
      subscribers: [{ subscriptionType: "SNS", address: topic.topicArn }],
    })),
  });
  if (policyDependable !== undefined) budget.node.addDependency(policyDependable);
};
