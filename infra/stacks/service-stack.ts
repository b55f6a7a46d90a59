import { join } from "node:path";
import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { endpoints, type EndpointName } from "../../lib/contract/endpoints.ts";
import { entryOf } from "../bundling/entries.ts";
import { Alarms } from "../constructs/alarms.ts";
import { EntitlementsApi } from "../constructs/entitlements-api.ts";
import { HealthDashboard } from "../constructs/health-dashboard.ts";
import { Schedule } from "../constructs/schedule.ts";
import { ServiceFunction } from "../constructs/service-function.ts";
import { ServiceMetrics } from "../constructs/service-metrics.ts";
import type { FunctionName, Parameters } from "../parameters.ts";

export interface ServiceStackProps extends StackProps {
  readonly parameters: Parameters;
  /** Holds the module of each function, where `bundling/entries.ts` says. */
  readonly functionsFolder: string;
}

const AUTHORIZER = "authorize-credential";
const ACKNOWLEDGER = "acknowledge-due-purchases";

const idOf = (name: FunctionName): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const mapEndpoints = <Value>(valueOf: (name: EndpointName) => Value): Record<EndpointName, Value> =>
  Object.fromEntries(
    (Object.keys(endpoints) as EndpointName[]).map((name) => [name, valueOf(name)]),
  ) as Record<EndpointName, Value>;

/** All that can be made again from the sources: functions, API, schedule, alarms, dashboard. */
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
      "Acknowledge the Android-store purchases that wait for it",
    );
    acknowledger.changes(table);
    acknowledger.readsSecrets(secretPrefix);
    new Schedule(this, "AcknowledgementSchedule", { of: acknowledger });

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
    output("Address", "The base address: paths of the contract follow it.", api.address);
    output("TableName", "The table, as the operator's command line takes it.", table.name);
    output(
      "AndroidStoreRoles",
      "The roles that ask Google, as a workload identity pool has to know them.",
      [served.linkAndroidStoreCustomer, acknowledger].map(({ roleName }) => roleName).join(" "),
    );
    output("AlarmTopic", "Who subscribes to it hears the alarms.", alarms.topic.topicArn);
    if (api.domainTarget !== null)
      output("DomainTarget", "What a DNS record of the own domain has to point to.", api.domainTarget);
  }
}
