import type { Alarm, CreateAlarmOptions, IMetric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";

/** Condition of an alarm, by default: the metric is at or above the threshold, and a period without data is quiet. */
export interface Condition {
  readonly alarmDescription: string;
  readonly metric: IMetric & {
    createAlarm(scope: Construct, id: string, options: CreateAlarmOptions): Alarm;
  };
  readonly threshold: number;
  /** Breaching periods out of evaluated ones that trigger the alarm; unset: 1 of 1. */
  readonly periods?: readonly [wrong: number, of: number];
  readonly treatMissingData?: TreatMissingData;
  /** `ignore`: the alarm keeps its state while a percentile has too few samples. */
  readonly evaluateLowSampleCountPercentile?: "ignore";
}

export type Conditions = Readonly<Record<string, Condition>>;
