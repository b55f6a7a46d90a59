import { Duration } from "aws-cdk-lib";
import { MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { functionName } from "../../lib/contract/function-name.ts";
import type { ScheduledFunctionName } from "../other-functions.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

/** 5xx responses of the API that need somebody: of functions, and of the gateway where no function answered. */
export const failures = (metrics: ServiceMetrics, period: Duration): MathExpression =>
  new MathExpression({
    label: "failed",
    expression: "failed - FILL(harmless, 0)",
    usingMetrics: { failed: metrics.api("5XXError"), harmless: metrics.own("harmlessFailures") },
    period,
  });

/** Percentage of 5xx responses, except for Google's silence, which has its own alarm; 0 while there are fewer than `fewest`. */
export const failedShare = (metrics: ServiceMetrics, fewest: number, period: Duration): MathExpression =>
  new MathExpression({
    label: "failed, in %",
    expression: `IF(failed - FILL(unanswered, 0) >= ${fewest}, 100 * (failed - FILL(unanswered, 0)) / served, 0)`,
    usingMetrics: {
      failed: metrics.api("5XXError"),
      served: metrics.api("Count"),
      unanswered: metrics.own("unansweredRequests"),
    },
    period,
  });

/** Requests to Google in six hours that were not answered. */
export const unansweredByGoogle = (metrics: ServiceMetrics, fewest: number): MathExpression =>
  new MathExpression({
    label: "unanswered, in %",
    expression: `IF(unanswered >= ${fewest}, 100 * unanswered / (unanswered + FILL(answered, 0)), 0)`,
    usingMetrics: {
      unanswered: metrics.own("storeErrors", { store: "android-store", reason: "unavailable" }),
      answered: metrics.own("storeLatency", { store: "android-store" }, Stats.SAMPLE_COUNT),
    },
    period: Duration.hours(6),
  });

/** 1 if one of the functions failed whenever it ran in an hour; no data if one was not invoked. */
export const failedInAnHour = (
  metrics: ServiceMetrics,
  functions: readonly ScheduledFunctionName[],
): MathExpression =>
  new MathExpression({
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
  });
