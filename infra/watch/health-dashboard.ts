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
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { STORES } from "../../lib/contract/schemas.ts";
import { PERIOD, sumOf, type MetricName, type ServiceMetrics } from "./service-metrics.ts";

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

/** Graphs of callers and stores, then of the AWS resources underneath; three in a row. */
const graphsOf = (metrics: ServiceMetrics): readonly GraphWidget[] => {
  const sums = (...names: readonly MetricName[]) => names.map((name) => metrics.own(name));
  const maximum = (name: MetricName) => metrics.own(name, {}, Stats.MAXIMUM);
  const by = metrics.ownByAll.bind(metrics);
  return [
    graph("Requests by endpoint and outcome", [by("requests", ["endpoint", "outcome"])]),
    graph("Refused and failed at the gateway", [
      metrics.api("4XXError"),
      metrics.api("5XXError"),
      ...sums("harmlessFailures", "unansweredRequests", "credentialsRefused"),
    ]),
    graph(
      "Latency",
      percentiles((statistic) => metrics.api("Latency", statistic)),
    ),
    graph(
      "Stores: latency, errors",
      STORES.flatMap((store) =>
        percentiles((statistic) => metrics.own("storeLatency", { store }, statistic)),
      ),
      [by("storeErrors", ["store", "reason"]), ...sums("storeCredentialsRejected")],
    ),
    graph("Signatures refused, by reason", [
      by("verificationFailures", ["reason"]),
      ...sums("transactionsRefused"),
    ]),
    graph("Products that grant nothing, links refused, conflicts retried", [
      by("ungrantedProducts", ["store", "reason"]),
      by("linksRefused", ["outcome"]),
      ...sums("conflictsRetried"),
    ]),
    graph("Notifications by store and outcome", [
      by("notifications", ["store", "outcome"]),
      ...sums("notificationsRefused"),
    ]),
    graph("Silent bundles and packages", [maximum("silentApplications")]),
    graph(
      "Purchases asked about again; age of the oldest due",
      [by("refreshes", ["store", "outcome"]), by("swept", ["store"]), by("sweepsBehind", ["store"])],
      [maximum("refreshAge")],
    ),
    graph(
      "Acknowledgements; age of the oldest due",
      [
        maximum("acknowledgementsDue"),
        maximum("acknowledgementsNearDeadline"),
        ...sums("acknowledgementsFailed"),
      ],
      [maximum("acknowledgementAge")],
    ),
    graph(
      "Table: units, refused",
      [metrics.table("ConsumedReadCapacityUnits"), metrics.table("ConsumedWriteCapacityUnits")],
      [sumOf("throttled", metrics.tableThrottles()), sumOf("failed", metrics.tableErrors())],
    ),
    graph("Cold starts, throttles", [
      ...sums("coldStarts"),
      sumOf("throttled", metrics.ofFunctions("Throttles")),
    ]),
    graph("Changes published; age of the oldest to publish", sums("changesTold"), [maximum("changeAge")]),
    graph(
      "Messages by outcome; age of the oldest that waits",
      [by("deliveries", ["outcome"])],
      [maximum("deliveryAge")],
    ),
    graph("Destinations that take nothing", [maximum("destinationsDown")]),
    graph("Functions: duration, 99th percentile", metrics.ofFunctions("Duration", Stats.p(99))),
    graph("Functions: at a time", metrics.ofFunctions("ConcurrentExecutions", Stats.MAXIMUM)),
  ];
};

/** Dashboard of the service's health: alarms and callers first. */
export const addHealthDashboard = (
  scope: Construct,
  serviceName: string,
  metrics: ServiceMetrics,
  alarms: readonly Alarm[],
  accessLogs: ILogGroup,
): void => {
  const gateway = new LogQueryWidget({
    title: "What the gateway answered itself",
    logGroupNames: [accessLogs.logGroupName],
    view: LogQueryVisualizationType.TABLE,
    queryLines: [
      'filter ispresent(gatewayError) and gatewayError != "-"',
      "stats count(*) as requests by gatewayError, status, route",
      "sort requests desc",
      "limit 20",
    ],
    width: THIRD,
    height: HEIGHT,
  });
  new Dashboard(scope, "Dashboard", {
    // An account has one list of dashboards for all regions, and a stage may be in two while it moves.
    dashboardName: `${serviceName}-${Aws.REGION}`,
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
      [...graphsOf(metrics), gateway],
    ],
  });
};
