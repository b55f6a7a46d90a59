import { Duration } from "aws-cdk-lib";
import { MathExpression, type IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import type { Condition, Conditions } from "./condition.ts";
import { PERIOD, type ServiceMetrics } from "./service-metrics.ts";

/** Failures per period from which their share of the requests justifies an alarm. */
const FEWEST_FAILURES = 5;

/** Failures in a day that justify an alarm: none should ever happen, and a small service has few requests. */
const FEWEST_IN_A_DAY = 3;

const HOUR = Duration.hours(1);
const DAY = Duration.days(1);

/** Percentage of failures; 0 while there are fewer than `fewest`. */
const shareOf = (
  failed: string,
  served: string,
  fewest: number,
  usingMetrics: Record<string, IMetric>,
  period: Duration,
): MathExpression =>
  new MathExpression({
    label: "failed, in %",
    expression: `IF((${failed}) >= ${fewest}, 100 * (${failed}) / ${served}, 0)`,
    usingMetrics,
    period,
  });

/** 5xx responses of the API, except those for requests that Google did not answer, which have their own alarm. */
const failuresOfAll = (metrics: ServiceMetrics, fewest: number, period: Duration): MathExpression =>
  shareOf(
    "failed - FILL(linked, 0) - FILL(notified, 0)",
    "served",
    fewest,
    {
      failed: metrics.api("5XXError"),
      served: metrics.api("Count"),
      linked: metrics.own("requests", {
        endpoint: endpoints.linkAndroidStoreCustomer.function,
        outcome: "STORE_UNAVAILABLE",
      }),
      notified: metrics.own("notifications", { store: "android-store", outcome: "STORE_UNAVAILABLE" }),
    },
    period,
  );

/** A notification that fails here is answered 503 `STORE_UNAVAILABLE`; only its own metric shows that. */
const ownFailuresOf = (
  metrics: ServiceMetrics,
  { function: name, takesNotifications, store }: Endpoint,
): IMetric =>
  takesNotifications === true && store !== null
    ? metrics.own("notifications", { store, outcome: "INTERNAL_ERROR" })
    : metrics.own("requests", { endpoint: name, outcome: "INTERNAL_ERROR" });

const failuresOf = (metrics: ServiceMetrics, endpoint: Endpoint): Condition => ({
  alarmDescription: `In an hour, ${FEWEST_FAILURES} or more requests to ${endpoint.function} failed, and 10 % or more.`,
  metric: shareOf(
    "FILL(failed, 0) + FILL(crashed, 0)",
    "served",
    FEWEST_FAILURES,
    {
      failed: ownFailuresOf(metrics, endpoint),
      // Timeouts, and crashes before an answer.
      crashed: metrics.ofFunction(endpoint.function, "Errors"),
      served: metrics.ofFunction(endpoint.function, "Invocations"),
    },
    HOUR,
  ),
  threshold: 10,
});

/**
 * Requests that the service fails: as a share of all; per endpoint, because one with a hundredth of the requests may
 * fail completely without a visible effect on the total; and per day, for services with too few requests for either.
 */
export const failureConditions = (metrics: ServiceMetrics): Conditions => ({
  "server-errors": {
    alarmDescription: "5 % or more of the requests fail, not counting stores that do not answer.",
    metric: failuresOfAll(metrics, FEWEST_FAILURES, PERIOD),
    threshold: 5,
    periods: [2, 3],
  },
  "server-errors-in-a-day": {
    alarmDescription: `In a day, ${FEWEST_IN_A_DAY} or more requests failed, and one in two hundred or more, not counting stores that do not answer.`,
    metric: failuresOfAll(metrics, FEWEST_IN_A_DAY, DAY),
    threshold: 0.5,
  },
  ...Object.fromEntries(
    Object.values<Endpoint>(endpoints).map((endpoint): [string, Condition] => [
      `${endpoint.function}-failing`,
      failuresOf(metrics, endpoint),
    ]),
  ),
});
