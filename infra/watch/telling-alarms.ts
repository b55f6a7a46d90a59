import { Duration } from "aws-cdk-lib";
import type { Conditions } from "./condition.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

/** Milliseconds for which a change may wait to be published. */
const LATEST_CHANGE = 10 * 60 * 1000;

/** Age in milliseconds of an undelivered message that expires in ten days. */
const NEARLY_LOST = 20 * 24 * 3600 * 1000;

/** Conditions for changes that are published late or not delivered. */
export const tellingConditions = (metrics: ServiceMetrics): Conditions => ({
  "changes-late": {
    alarmDescription: "Account changes have waited ten minutes to be published.",
    metric: metrics.own("changeAge", {}, "Maximum"),
    threshold: LATEST_CHANGE,
    periods: [2, 3],
  },
  "destination-down": {
    alarmDescription: "A destination has accepted nothing for an hour, or answered 410.",
    metric: metrics.own("destinationsDown", {}, "Maximum"),
    threshold: 1,
    periods: [2, 3],
  },
  "messages-nearly-lost": {
    alarmDescription:
      "A message waits for 20 days: after 30 days it is dropped, and its destination misses a change.",
    metric: metrics.own("deliveryAge", {}, "Maximum").with({ period: Duration.hours(1) }),
    threshold: NEARLY_LOST,
  },
});
