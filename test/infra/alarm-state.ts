import { metricMath, type Series } from "./metric-math.ts";

/** A template is any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

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

const COMPARISONS: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
};

/**
 * State in which CloudWatch's evaluation of made-up data leaves an alarm of a template.
 *
 * @throws Error for data that the alarm does not read
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
export const alarmState = (alarm: Json, data: MadeUp): AlarmState => {
  const { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, TreatMissingData, Threshold } = alarm;
  const compare = COMPARISONS[alarm.ComparisonOperator];
  if (compare === undefined) throw new Error(`There is no comparison ${alarm.ComparisonOperator}.`);
  const metrics = metricsOf(alarm);
  for (const name of Object.keys(data))
    if (!metrics.some((metric) => isNamed(metric, name)))
      throw new Error(`${alarm.AlarmName} reads no metric "${name}".`);
  const series = metrics.map((metric): [id: string, points: Series] => {
    const points = Object.entries(data).find(([name]) => isNamed(metric, name))?.[1] ?? null;
    return [
      metric.id,
      Array.isArray(points)
        ? points
        : Array.from({ length: EvaluationPeriods }, () => points as number | null),
    ];
  });
  const values = metricMath(expressionOf(alarm), Object.fromEntries(series), EvaluationPeriods);
  const present = values.filter((value) => value !== null);
  if (present.length === 0 && TreatMissingData === "missing") return "INSUFFICIENT_DATA";
  const missing = TreatMissingData === "breaching" ? values.length - present.length : 0;
  return missing + present.filter((value) => compare(value, Threshold)).length >= DatapointsToAlarm
    ? "ALARM"
    : "OK";
};
