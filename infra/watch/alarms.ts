import { Stack } from "aws-cdk-lib";
import { ComparisonOperator, TreatMissingData, type Alarm } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Topic, type ITopic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import { acceptFinding } from "../constructs/accept-finding.ts";
import type { Parameters } from "../parameters.ts";
import { ALARMS, type AlarmEntry } from "./alarm-list.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

export interface AlarmsProps extends Pick<
  Parameters,
  "alarmEmail" | "alarmTopicArn" | "hasAlarms" | "serviceName"
> {
  readonly metrics: ServiceMetrics;
  /** Whether the number of requests of one address is limited. */
  readonly limitsAddresses: boolean;
}

/** Makes the alarms of {@link ALARMS}, and the topic that they notify. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];
  readonly topic: ITopic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.topic =
      props.alarmTopicArn === null
        ? this.#newTopic(props)
        : Topic.fromTopicArn(this, "GivenTopic", props.alarmTopicArn);
    const entries = ALARMS.filter(({ ofAddressLimits }) => props.limitsAddresses || ofAddressLimits !== true);
    this.all = props.hasAlarms ? entries.map((entry) => this.#newAlarm(entry, props)) : [];
  }

  #newAlarm(entry: AlarmEntry, { serviceName, metrics }: AlarmsProps): Alarm {
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

  #newTopic({ serviceName, alarmEmail }: AlarmsProps): Topic {
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
    if (alarmEmail !== null) topic.addSubscription(new EmailSubscription(alarmEmail));
    acceptFinding(topic, {
      "Serverless-SNSRedrivePolicy":
        "SNS retries e-mail by itself, and an alarm that is days old is of no use.",
    });
    return topic;
  }
}
