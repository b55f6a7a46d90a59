import { Metrics } from "@aws-lambda-powertools/metrics";
import { DIMENSIONS, METRICS } from "../../lib/contract/metrics.ts";

/** Metrics that show what the framework keeps for itself. */
class EnvironmentMetrics extends Metrics {
  /** Whether this is the first invocation of an environment started on demand; true once. */
  isFirst(): boolean {
    return this.getColdStart();
  }
}

/** The environment names the service. */
const metrics = new EnvironmentMetrics({ namespace: METRICS.namespace });

type MetricName = Exclude<keyof typeof METRICS, "namespace">;
type DimensionName = Exclude<keyof typeof DIMENSIONS, "service">;
export type Dimensions = Readonly<Partial<Record<DimensionName, string>>>;

const write = (
  name: MetricName,
  unit: "Count" | "Milliseconds",
  value: number,
  dimensions: Dimensions,
): void => {
  for (const [dimension, text] of Object.entries(dimensions) as [DimensionName, string][])
    metrics.addDimension(DIMENSIONS[dimension], text);
  metrics.addMetric(METRICS[name], unit, value).publishStoredMetrics();
};

export const count = (name: MetricName, dimensions: Dimensions = {}, times = 1): void =>
  write(name, "Count", times, dimensions);

export const time = (name: MetricName, milliseconds: number, dimensions: Dimensions = {}): void =>
  write(name, "Milliseconds", milliseconds, dimensions);

/** Whether this is a cold start, which is counted. */
export const takeColdStart = (): boolean => {
  const isCold = metrics.isFirst();
  if (isCold) count("coldStarts");
  return isCold;
};
