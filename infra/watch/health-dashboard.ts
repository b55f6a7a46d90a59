import { Aws, Duration } from "aws-cdk-lib";
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  SingleValueWidget,
  Stats,
  type Alarm,
  type IMetric,
} from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { STORES } from "../../lib/contract/schemas.ts";
import { PERIOD, sumOf, type ServiceMetrics } from "./service-metrics.ts";

export interface HealthDashboardProps {
  readonly serviceName: string;
  readonly metrics: ServiceMetrics;
  readonly alarms: readonly Alarm[];
  readonly accessLogGroupName: string;
}

const WHOLE = 24;
const THIRD = 8;
const HEIGHT = 6;

const graph = (title: string, left: readonly IMetric[], right: readonly IMetric[] = []): GraphWidget =>
  new GraphWidget({
    title,
    left: [...left],
    right: [...right],
    width: THIRD,
    height: HEIGHT,
    leftYAxis: { min: 0 },
    period: PERIOD,
  });

const percentiles = (of: (statistic: string) => IMetric): IMetric[] => [Stats.p(50), Stats.p(99)].map(of);

/** Dashboard of the service's health: alarms first, then callers, stores, and the AWS resources underneath. */
export class HealthDashboard extends Construct {
  constructor(scope: Construct, id: string, props: HealthDashboardProps) {
    super(scope, id);
    const { metrics, alarms } = props;
    new Dashboard(this, "Dashboard", {
      // An account has one list of dashboards for all regions, and a stage may be in two while it moves.
      dashboardName: `${props.serviceName}-${Aws.REGION}`,
      defaultInterval: Duration.hours(6),
      widgets: [
        [new AlarmStatusWidget({ title: "Is it well?", alarms: [...alarms], width: WHOLE, height: 3 })],
        [
          new SingleValueWidget({
            title: "Callers",
            metrics: [
              metrics.api("Count").with({ label: "requests" }),
              metrics.api("5XXError").with({ label: "failed" }),
              metrics.api("Latency", Stats.p(99)).with({ label: "99th percentile" }),
            ],
            width: WHOLE,
            height: 3,
          }),
        ],
        [
          graph("Requests by endpoint and outcome", [metrics.ownByAll("requests", ["endpoint", "outcome"])]),
          graph("Refused and failed at the gateway", [
            metrics.api("4XXError"),
            metrics.api("5XXError"),
            metrics.own("harmlessFailures"),
            metrics.own("unansweredRequests"),
            metrics.own("credentialsRefused"),
          ]),
          graph(
            "Latency",
            percentiles((statistic) => metrics.api("Latency", statistic)),
          ),
        ],
        [
          graph(
            "Stores: latency, errors",
            STORES.flatMap((store) =>
              percentiles((statistic) => metrics.own("storeLatency", { store }, statistic)),
            ),
            [metrics.ownByAll("storeErrors", ["store", "reason"]), metrics.own("storeCredentialsRejected")],
          ),
          graph("Signatures refused, by reason", [
            metrics.ownByAll("verificationFailures", ["reason"]),
            metrics.own("transactionsRefused"),
          ]),
          graph("Products that grant nothing, links refused, conflicts retried", [
            metrics.ownByAll("ungrantedProducts", ["store", "reason"]),
            metrics.ownByAll("linksRefused", ["outcome"]),
            metrics.own("conflictsRetried"),
          ]),
        ],
        [
          graph("Notifications by store and outcome", [
            metrics.ownByAll("notifications", ["store", "outcome"]),
            metrics.own("notificationsRefused"),
          ]),
          graph("Silent bundles and packages", [metrics.own("silentApplications", {}, "Maximum")]),
          graph(
            "Purchases asked about again; age of the oldest due",
            [
              metrics.ownByAll("refreshes", ["store", "outcome"]),
              metrics.ownByAll("swept", ["store"]),
              metrics.ownByAll("sweepsBehind", ["store"]),
            ],
            [metrics.own("refreshAge", {}, "Maximum")],
          ),
        ],
        [
          graph(
            "Acknowledgements; age of the oldest due",
            [
              metrics.own("acknowledgementsDue", {}, "Maximum"),
              metrics.own("acknowledgementsNearDeadline", {}, "Maximum"),
              metrics.own("acknowledgementsFailed"),
            ],
            [metrics.own("acknowledgementAge", {}, "Maximum")],
          ),
          graph(
            "Table: units, refused",
            [metrics.table("ConsumedReadCapacityUnits"), metrics.table("ConsumedWriteCapacityUnits")],
            [sumOf("throttled", metrics.tableThrottles()), sumOf("failed", metrics.tableErrors())],
          ),
          graph("Cold starts, throttles", [
            metrics.own("coldStarts"),
            sumOf("throttled", metrics.ofFunctions("Throttles")),
          ]),
        ],
        [
          graph(
            "Changes published; age of the oldest to publish",
            [metrics.own("changesTold")],
            [metrics.own("changeAge", {}, "Maximum")],
          ),
          graph(
            "Messages by outcome; age of the oldest that waits",
            [metrics.ownByAll("deliveries", ["outcome"])],
            [metrics.own("deliveryAge", {}, "Maximum")],
          ),
          graph("Destinations that take nothing", [metrics.own("destinationsDown", {}, "Maximum")]),
        ],
        [
          graph("Functions: duration, 99th percentile", metrics.ofFunctions("Duration", Stats.p(99))),
          graph("Functions: at a time", metrics.ofFunctions("ConcurrentExecutions", Stats.MAXIMUM)),
          new LogQueryWidget({
            title: "What the gateway answered itself",
            logGroupNames: [props.accessLogGroupName],
            view: LogQueryVisualizationType.TABLE,
            queryLines: [
              'filter ispresent(gatewayError) and gatewayError != "-"',
              "stats count(*) as requests by gatewayError, status, route",
              "sort requests desc",
              "limit 20",
            ],
            width: THIRD,
            height: HEIGHT,
          }),
        ],
      ],
    });
  }
}
