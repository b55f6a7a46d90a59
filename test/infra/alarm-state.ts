import { runInNewContext } from "node:vm";
import type { Json } from "./synthesis.ts";

/** Points of a metric, one for each period; null: missing. */
export type Series = readonly (number | null)[];

export type AlarmState = "OK" | "ALARM" | "INSUFFICIENT_DATA";

/**
 * Made-up data: points by metric, the same one for all evaluated periods or one for each, the oldest first. A metric is
 * named by words, each of which begins its name, its statistic or one of its dimensions: `Requests link-ios INTERNAL_ERROR`. A metric that is not named
 * has no data.
 */
export type MadeUp = Readonly<Record<string, number | Series>>;

interface MetricStat {
  readonly id: string;
  /** Name, statistic and values of dimensions. */
  readonly parts: readonly string[];
}

const partsOf = ({ MetricName, Dimensions = [] }: Json, statistic: string | undefined): string[] => [
  MetricName,
  ...(statistic === undefined ? [] : [statistic]),
  ...Dimensions.map(({ Value }: Json) => (typeof Value === "string" ? Value : Value.Ref)),
];

const metricsOf = (alarm: Json): MetricStat[] =>
  alarm.Metrics === undefined
    ? [{ id: "only", parts: partsOf(alarm, alarm.Statistic) }]
    : alarm.Metrics.filter(({ MetricStat }: Json) => MetricStat !== undefined).map(
        ({ Id, MetricStat: { Metric, Stat } }: Json) => ({ id: Id, parts: partsOf(Metric, Stat) }),
      );

const expressionOf = (alarm: Json): string =>
  alarm.Metrics?.find(({ Expression }: Json) => Expression !== undefined)?.Expression ?? "only";

const isNamed = ({ parts }: MetricStat, name: string): boolean =>
  name.split(" ").every((word) => parts.some((part) => part.startsWith(word)));

/** CloudWatch's functions, for one period. NaN: missing. */
const FUNCTIONS = {
  FILL: (value: number, filled: number) => (Number.isNaN(value) ? filled : value),
  IF_AT_LEAST: (value: number, least: number, then: number, otherwise: number) => {
    if (Number.isNaN(value)) return NaN;
    return value >= least ? then : otherwise;
  },
};

/**
 * Value of metric math, as far as alarms use it, in one period. As in CloudWatch, a result is missing where an operand is,
 * and so is a division by zero.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
const metricMath = (expression: string, metrics: Readonly<Record<string, number>>): number | null => {
  const script = expression.replaceAll(/\bIF\((.*?) >= (\d+), /g, "IF_AT_LEAST($1, $2, ");
  const value: unknown = runInNewContext(script, { ...FUNCTIONS, ...metrics });
  if (typeof value !== "number") throw new Error(`This evaluation does not know ${expression}.`);
  return Number.isFinite(value) ? value : null;
};

/**
 * State in which CloudWatch's evaluation of made-up data leaves an alarm of a template.
 *
 * @throws Error for data that the alarm does not read
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
export const alarmState = (alarm: Json, data: MadeUp): AlarmState => {
  const { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, TreatMissingData, Threshold } = alarm;
  if (alarm.ComparisonOperator !== "GreaterThanOrEqualToThreshold")
    throw new Error(`This evaluation does not know ${alarm.ComparisonOperator}.`);
  const metrics = metricsOf(alarm);
  for (const name of Object.keys(data))
    if (!metrics.some((metric) => isNamed(metric, name)))
      throw new Error(`${alarm.AlarmName} reads no metric "${name}".`);
  const pointOf = (metric: MetricStat, period: number): number => {
    const points = Object.entries(data).find(([name]) => isNamed(metric, name))?.[1];
    return (typeof points === "number" ? points : points?.[period]) ?? NaN;
  };
  const values = Array.from({ length: EvaluationPeriods }, (_, period) =>
    metricMath(
      expressionOf(alarm),
      Object.fromEntries(metrics.map((metric) => [metric.id, pointOf(metric, period)])),
    ),
  );
  const present = values.filter((value) => value !== null);
  if (present.length === 0 && TreatMissingData === "missing") return "INSUFFICIENT_DATA";
  const missing = TreatMissingData === "breaching" ? values.length - present.length : 0;
  return missing + present.filter((value) => value >= Threshold).length >= DatapointsToAlarm ? "ALARM" : "OK";
};
