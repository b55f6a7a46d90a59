import { Metrics } from "@aws-lambda-powertools/metrics";
import { DIMENSIONS, METRICS } from "../../lib/contract/metrics.ts";
import { optionalVariable } from "../configuration.ts";

/** The service's name is the environment's. */
const metrics = new Metrics({ namespace: METRICS.namespace });

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

/** Counts what happened, once or so many times. */
export const count = (name: MetricName, dimensions: Dimensions = {}, times = 1): void =>
  write(name, "Count", times, dimensions);

/** Notes how long something took. */
export const time = (name: MetricName, milliseconds: number, dimensions: Dimensions = {}): void =>
  write(name, "Milliseconds", milliseconds, dimensions);

// Environments that are kept ready start before anybody asks.
let isFirst = optionalVariable("AWS_LAMBDA_INITIALIZATION_TYPE") === "on-demand";

/** Whether this is the environment's first invocation, on which somebody waited for it to start; counted when it is. */
export const takeColdStart = (): boolean => {
  const isCold = isFirst;
  isFirst = false;
  if (isCold) count("coldStarts");
  return isCold;
};
