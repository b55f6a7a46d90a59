import { Duration } from "aws-cdk-lib";
import { MathExpression, Stats, type IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { functionName } from "../../lib/contract/function-name.ts";
import type { ScheduledFunctionName } from "../other-functions.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

/** Percentage of failures; 0 while there are fewer than `fewest`. */
const shareOf = (
  failed: string,
  served: string,
  { fewest, label = "failed", period }: { fewest: number; label?: string; period: Duration },
  usingMetrics: Record<string, IMetric>,
): MathExpression =>
  new MathExpression({
    label: `${label}, in %`,
    expression: `IF((${failed}) >= ${fewest}, 100 * (${failed}) / ${served}, 0)`,
    usingMetrics,
    period,
  });

/** 5xx responses of the API, except those for requests that Google did not answer, which have their own alarm. */
export const failuresOfAll = (metrics: ServiceMetrics, fewest: number, period: Duration): MathExpression =>
  shareOf(
    "failed - FILL(linked, 0) - FILL(notified, 0)",
    "served",
    { fewest, period },
    {
      failed: metrics.api("5XXError"),
      served: metrics.api("Count"),
      linked: metrics.own("requests", {
        endpoint: endpoints.linkAndroidStoreCustomer.function,
        outcome: "STORE_UNAVAILABLE",
      }),
      notified: metrics.own("notifications", { store: "android-store", outcome: "STORE_UNAVAILABLE" }),
    },
  );

/** A notification that fails here is answered 503 `STORE_UNAVAILABLE`; only its own metric shows that. */
const ownFailuresOf = (
  metrics: ServiceMetrics,
  { function: name, takesNotifications, store }: Endpoint,
): IMetric =>
  takesNotifications === true && store !== null
    ? metrics.own("notifications", { store, outcome: "INTERNAL_ERROR" })
    : metrics.own("requests", { endpoint: name, outcome: "INTERNAL_ERROR" });

/** Failures of an endpoint in an hour: errors, timeouts, and crashes before an answer. */
export const failuresOf = (metrics: ServiceMetrics, endpoint: Endpoint, fewest: number): MathExpression =>
  shareOf(
    "FILL(failed, 0) + FILL(crashed, 0)",
    "served",
    { fewest, period: Duration.hours(1) },
    {
      failed: ownFailuresOf(metrics, endpoint),
      crashed: metrics.ofFunction(endpoint.function, "Errors"),
      served: metrics.ofFunction(endpoint.function, "Invocations"),
    },
  );

/** iOS-store requests in an hour that were refused for their signatures. */
export const refusedSignatures = (metrics: ServiceMetrics, fewest: number): MathExpression => {
  const { synchronizeIosStorePurchases, linkIosStoreCustomer } = endpoints;
  const refusedBy = (endpoint: Endpoint, outcome: string) =>
    metrics.own("requests", { endpoint: endpoint.function, outcome });
  return shareOf(
    "FILL(apps, 0) + FILL(purchases, 0) + FILL(linkedApps, 0) + FILL(linkedPurchases, 0)",
    "(FILL(synchronized, 0) + FILL(linked, 0))",
    { fewest, label: "refused", period: Duration.hours(1) },
    {
      apps: refusedBy(synchronizeIosStorePurchases, "INVALID_APP_TRANSACTION"),
      purchases: refusedBy(synchronizeIosStorePurchases, "INVALID_TRANSACTION"),
      linkedApps: refusedBy(linkIosStoreCustomer, "INVALID_APP_TRANSACTION"),
      linkedPurchases: refusedBy(linkIosStoreCustomer, "INVALID_TRANSACTION"),
      synchronized: metrics.ofFunction(synchronizeIosStorePurchases.function, "Invocations"),
      linked: metrics.ofFunction(linkIosStoreCustomer.function, "Invocations"),
    },
  );
};

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

/** Age of the oldest due refresh of either store. */
export const oldestRefresh = (metrics: ServiceMetrics, period: Duration): MathExpression =>
  new MathExpression({
    label: "oldest, in ms",
    expression: "MAX([FILL(ios, 0), FILL(android, 0)])",
    usingMetrics: {
      ios: metrics.own("refreshAge", { store: "ios-store" }, "Maximum"),
      android: metrics.own("refreshAge", { store: "android-store" }, "Maximum"),
    },
    period,
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
