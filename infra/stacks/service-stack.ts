import { join } from "node:path";
import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import { endpoints, type EndpointName } from "../../lib/contract/endpoints.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import { refreshSuffixes } from "../../lib/table/keys.ts";
import { entryOf } from "../bundling/entries.ts";
import { Alarms } from "../constructs/alarms.ts";
import { EntitlementsApi } from "../constructs/entitlements-api.ts";
import { HealthDashboard } from "../constructs/health-dashboard.ts";
import { Schedule } from "../constructs/schedule.ts";
import { ServiceFunction } from "../constructs/service-function.ts";
import { ServiceMetrics } from "../constructs/service-metrics.ts";
import type { FunctionName, Parameters } from "../parameters.ts";
import { streamParameter } from "./data-stack.ts";

export interface ServiceStackProps extends StackProps {
  readonly parameters: Parameters;
  /** Root of the modules that `bundling/entries.ts` lists. */
  readonly functionsFolder: string;
}

const AUTHORIZER = "authorize-credential";
const ACKNOWLEDGER = "acknowledge-due-purchases";
const WATCHER = "watch-notifications";
const REFRESHERS: Readonly<Record<Store, string>> = {
  "ios-store": "refresh-ios-store-purchases",
  "android-store": "refresh-android-store-purchases",
};

const idOf = (name: FunctionName): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const mapEndpoints = <Value>(valueOf: (name: EndpointName) => Value): Record<EndpointName, Value> =>
  Object.fromEntries(
    (Object.keys(endpoints) as EndpointName[]).map((name) => [name, valueOf(name)]),
  ) as Record<EndpointName, Value>;

/** Everything that can be deployed again from source: functions, API, schedule, alarms, dashboard. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, { parameters, functionsFolder, ...props }: ServiceStackProps) {
    super(scope, id, props);
    const { serviceName, secretPrefix, table } = parameters;
    const logRetentionDays: RetentionDays = parameters.logRetentionDays;
    const functionNames: Record<string, string> = {};
    const functionOf = (name: FunctionName, folder: string, description: string): ServiceFunction => {
      const made = new ServiceFunction(this, idOf(name), {
        entry: join(functionsFolder, entryOf(folder)),
        description,
        serviceName,
        logRetentionDays,
        ...parameters.functions[name],
      });
      functionNames[folder] = made.name;
      return made;
    };
    const serving = (name: EndpointName): ServiceFunction => {
      const { function: folder, summary, table: use, readsSecrets } = endpoints[name];
      const made = functionOf(name, folder, summary);
      if (use === "queries") made.queries(table);
      else made.changes(table);
      if (readsSecrets) made.readsSecrets(secretPrefix);
      return made;
    };

    const authorizer = functionOf("authorizeCredential", AUTHORIZER, "Authorize an API key");
    authorizer.getsItemsOf(table);

    const served = mapEndpoints(serving);

    const acknowledger = functionOf(
      "acknowledgeDuePurchases",
      ACKNOWLEDGER,
      "Acknowledge due Android-store purchases",
    );
    acknowledger.changes(table);
    acknowledger.readsSecrets(secretPrefix);
    new Schedule(this, "AcknowledgementSchedule", { of: acknowledger, every: Duration.minutes(15) });

    const watcher = functionOf("watchNotifications", WATCHER, "Find applications that stores notify no more");
    watcher.queries(table);
    new Schedule(this, "NotificationWatchSchedule", { of: watcher, every: Duration.hours(1) });

    const refreshing = (store: Store): ServiceFunction => {
      const made =
        store === "android-store"
          ? functionOf("refreshAndroidStorePurchases", REFRESHERS[store], "Ask Google about due purchases")
          : functionOf("refreshIosStorePurchases", REFRESHERS[store], "Ask Apple about due purchases");
      made.changes(table);
      made.readsSecrets(secretPrefix);
      new Schedule(this, `${made.node.id}Schedule`, { of: made, every: Duration.minutes(1) });
      // Another table than the stage's own, such as a restored one, has no stream that this stack knows.
      if (table.name === serviceName)
        made.wakesOn(StringParameter.valueForStringParameter(this, streamParameter(serviceName)), {
          pk: refreshSuffixes(store).map((suffix) => ({ suffix })),
          sk: [{ prefix: "2" }],
        });
      return made;
    };
    refreshing("ios-store");
    const androidRefresher = refreshing("android-store");

    const sweeping = (name: FunctionName, folder: string, description: string): ServiceFunction => {
      const made = functionOf(name, folder, description);
      made.changes(table);
      made.readsSecrets(secretPrefix);
      new Schedule(this, `${made.node.id}Schedule`, { of: made, every: Duration.hours(1) });
      return made;
    };
    const androidSweeper = sweeping(
      "sweepAndroidStoreRefunds",
      "sweep-android-store-refunds",
      "Read Google's lists of voided purchases",
    );
    sweeping(
      "sweepIosStoreNotifications",
      "sweep-ios-store-notifications",
      "Read Apple's histories of undelivered notifications",
    );

    const api = new EntitlementsApi(this, "Api", {
      ...parameters.api,
      serviceName,
      stage: parameters.stage,
      tracedPercent: parameters.tracedPercent,
      logRetentionDays,
      authorizer: authorizer.handler,
      handlers: mapEndpoints((name) => served[name].handler),
    });

    const metrics = new ServiceMetrics({
      serviceName,
      apiName: api.name,
      stageName: api.stageName,
      tableName: table.name,
      functionNames,
    });
    const alarms = new Alarms(this, "Alarms", {
      ...parameters.alarms,
      serviceName,
      metrics,
      acknowledger: ACKNOWLEDGER,
    });
    new HealthDashboard(this, "Health", {
      serviceName,
      metrics,
      alarms: alarms.all,
      accessLogGroupName: api.accessLogs.logGroupName,
    });

    const output = (name: string, description: string, value: string): void => {
      new CfnOutput(this, name, { description, value });
    };
    output("Address", "Base URL of the API, without the contract's paths.", api.address);
    output("TableName", "The table's name, for the operator's command line.", table.name);
    output(
      "AndroidStoreRoles",
      "Roles that call Google's API; a workload identity pool has to admit them.",
      [
        served.linkAndroidStoreCustomer,
        served.receiveAndroidStoreNotification,
        acknowledger,
        androidRefresher,
        androidSweeper,
      ]
        .map(({ roleName }) => roleName)
        .join(" "),
    );
    output("AlarmTopic", "SNS topic that the alarms notify.", alarms.topic.topicArn);
    if (api.domainTarget !== null)
      output("DomainTarget", "Target of the DNS record for the custom domain.", api.domainTarget);
  }
}
