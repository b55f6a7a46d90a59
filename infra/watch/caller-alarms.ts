import { Duration } from "aws-cdk-lib";
import { MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { functionName } from "../../lib/contract/function-name.ts";
import type { Conditions } from "./condition.ts";
import { sumOf, type ServiceMetrics } from "./service-metrics.ts";

/** Refused credentials in five minutes that justify an alarm: a backend with a dead key, or somebody guessing keys. */
const FEWEST_CREDENTIALS = 100;

/** Refused iOS-store requests in an hour that justify an alarm, if their share does. */
const FEWEST_TRANSACTIONS = 50;

/** Blocked requests in five minutes that justify an alarm: one address is a tenth over its limit. */
const FEWEST_BLOCKED = 100;

/** Response time in milliseconds of the slowest tenth of the reads: a backend's page waits for it. */
const SLOW_READ = 1000;

export interface CallerAlarmsProps {
  readonly metrics: ServiceMetrics;
  /** Whether the number of requests of one address is limited. */
  readonly limitsAddresses: boolean;
}

/** Callers' alarm conditions, apart from failures: slow reads, refused credentials, refused signatures, blocked addresses. */
export const callerConditions = ({ metrics, limitsAddresses }: CallerAlarmsProps): Conditions => {
  const refusedBy = (endpoint: { readonly function: string }, outcome: string) =>
    metrics.own("requests", { endpoint: endpoint.function, outcome });
  const { synchronizeIosStorePurchases, linkIosStoreCustomer } = endpoints;
  const refused = "FILL(apps, 0) + FILL(purchases, 0) + FILL(linkedApps, 0) + FILL(linkedPurchases, 0)";
  const served = "FILL(synchronized, 0) + FILL(linked, 0)";
  return {
    "reads-slow": {
      alarmDescription: "A tenth of the reads of entitlements take a second or longer, for 15 minutes.",
      metric: metrics.ofFunction(endpoints.readAccountEntitlements.function, "Duration", Stats.p(90)),
      threshold: SLOW_READ,
      periods: [3, 3],
      evaluateLowSampleCountPercentile: "ignore",
    },
    "credentials-refused": {
      alarmDescription: `${FEWEST_CREDENTIALS} or more API keys and push tokens were refused in five minutes.`,
      metric: sumOf("refused", [
        metrics.own("requests", { endpoint: functionName("authorizeCredential"), outcome: "REFUSED" }),
        refusedBy(endpoints.receiveAndroidStoreNotification, "INVALID_CREDENTIAL"),
      ]),
      threshold: FEWEST_CREDENTIALS,
      periods: [2, 3],
    },
    "transactions-refused": {
      alarmDescription: `In an hour, ${FEWEST_TRANSACTIONS} or more iOS-store requests were refused for their signatures, and 20 % or more.`,
      metric: new MathExpression({
        label: "refused, in %",
        expression: `IF((${refused}) >= ${FEWEST_TRANSACTIONS}, 100 * (${refused}) / (${served}), 0)`,
        usingMetrics: {
          apps: refusedBy(synchronizeIosStorePurchases, "INVALID_APP_TRANSACTION"),
          purchases: refusedBy(synchronizeIosStorePurchases, "INVALID_TRANSACTION"),
          linkedApps: refusedBy(linkIosStoreCustomer, "INVALID_APP_TRANSACTION"),
          linkedPurchases: refusedBy(linkIosStoreCustomer, "INVALID_TRANSACTION"),
          synchronized: metrics.ofFunction(synchronizeIosStorePurchases.function, "Invocations"),
          linked: metrics.ofFunction(linkIosStoreCustomer.function, "Invocations"),
        },
        period: Duration.hours(1),
      }),
      threshold: 20,
    },
    ...(limitsAddresses && {
      "addresses-blocked": {
        alarmDescription: `A limit of an address refused ${FEWEST_BLOCKED} or more requests in five minutes.`,
        metric: sumOf("blocked", metrics.blockedAddresses()),
        threshold: FEWEST_BLOCKED,
        periods: [2, 3],
      },
    }),
  };
};
