import { join } from "node:path";
import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import { endpoints, type EndpointName } from "../../lib/contract/endpoints.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import { DELIVERIES, LOOKS_SUFFIX, REQUESTS } from "../../lib/table/keys.ts";
import { masterSecretName } from "../../lib/telling/master-secret.ts";
import { entryOf } from "../bundling/entries.ts";
import { Alarms } from "../constructs/alarms.ts";
import { EntitlementsApi } from "../constructs/entitlements-api.ts";
import { HealthDashboard } from "../constructs/health-dashboard.ts";
import { MonthlyBudget } from "../constructs/monthly-budget.ts";
import { OperatorPolicies } from "../constructs/operator-policies.ts";
import { Schedule } from "../constructs/schedule.ts";
import { ServiceFunction } from "../constructs/service-function.ts";
import { ServiceMetrics } from "../constructs/service-metrics.ts";
import { FUNCTION_ACCESS } from "../function-access.ts";
import type { FunctionName, Parameters } from "../parameters.ts";
import { streamParameter } from "./data-stack.ts";

export interface ServiceStackProps extends StackProps {
  readonly parameters: Parameters;
  /** Root of the modules that `bundling/entries.ts` lists. */
  readonly functionsFolder: string;
}

const NAME_LOOKUPS = 64;
const AUTHORIZER = "authorize-credential";
const ACKNOWLEDGER = "acknowledge-due-purchases";
const WATCHER = "watch-notifications";
const TELLER = "tell-changes";
const DELIVERER = "deliver-messages";
const SWEEPERS = {
  "ios-store": "sweep-ios-store-notifications",
  "android-store": "sweep-android-store-refunds",
} as const satisfies Record<Store, string>;
const REFRESHERS = {
  "ios-store": "refresh-ios-store-purchases",
  "android-store": "refresh-android-store-purchases",
} as const satisfies Record<Store, string>;
/**
 * Prevents Lambda's own two retries of a failed scheduled function, up to six hours later: its next run does the same
 * work.
 */
const runOnce = ({ handler }: ServiceFunction): void =>
  handler.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
const idOf = (name: FunctionName): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const mapEndpoints = <Value>(valueOf: (name: EndpointName) => Value): Record<EndpointName, Value> =>
  Object.fromEntries(
    (Object.keys(endpoints) as EndpointName[]).map((name) => [name, valueOf(name)]),
  ) as Record<EndpointName, Value>;

/** Everything that can be redeployed from source: functions, API, schedule, alarms, dashboard. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, { parameters, functionsFolder, ...props }: ServiceStackProps) {
    // `cdk destroy` starts with this stack, which without a custom domain would lose the API's address.
    super(scope, id, { terminationProtection: parameters.table.deletionProtection, ...props });
    const { serviceName, secretPrefix, secretsKeyArn, table } = parameters;
    const logRetentionDays: RetentionDays = parameters.logRetentionDays;
    const functionNames: Record<string, string> = {};
    const scheduled = new Set<string>();
    const functionOf = (name: FunctionName, folder: string, description: string): ServiceFunction => {
      const made = new ServiceFunction(this, idOf(name), {
        entry: join(functionsFolder, entryOf(folder)),
        description,
        serviceName,
        logRetentionDays,
        reportsInvocations: parameters.invocationReports,
        ...parameters.functions[name],
      });
      functionNames[folder] = made.name;
      return made;
    };
    const serving = (name: EndpointName): ServiceFunction => {
      const { function: folder, summary, table: access, readsSecrets } = endpoints[name];
      const made = functionOf(name, folder, summary);
      made.uses(table, access);
      if (readsSecrets) made.readsSecrets(secretPrefix, secretsKeyArn);
      return made;
    };

    const authorizer = functionOf("authorizeCredential", AUTHORIZER, "Authorize an API key");
    authorizer.uses(table, FUNCTION_ACCESS.authorizeCredential);

    const served = mapEndpoints(serving);

    interface Scheduled {
      readonly name: keyof typeof FUNCTION_ACCESS;
      readonly folder: string;
      readonly description: string;
      readonly schedule: string;
      readonly every: Duration;
    }
    const onSchedule = ({ name, folder, description, schedule, every }: Scheduled): ServiceFunction => {
      const made = functionOf(name, folder, description);
      made.uses(table, FUNCTION_ACCESS[name]);
      scheduled.add(folder);
      runOnce(made);
      new Schedule(this, schedule, { of: made, every });
      return made;
    };
    /** A scheduled function that asks a store about due purchases. */
    const asking = (given: Scheduled): ServiceFunction => {
      const made = onSchedule(given);
      made.readsSecrets(secretPrefix, secretsKeyArn);
      return made;
    };

    const acknowledger = asking({
      name: "acknowledgeDuePurchases",
      folder: ACKNOWLEDGER,
      description: "Acknowledge due Android-store purchases",
      schedule: "AcknowledgementSchedule",
      // A licence tester's purchase is refunded after three minutes.
      every: Duration.minutes(1),
    });

    onSchedule({
      name: "watchNotifications",
      folder: WATCHER,
      description: "Find applications that stores notify no more",
      schedule: "NotificationWatchSchedule",
      every: Duration.hours(1),
    });

    const refreshers = {
      "ios-store": asking({
        name: "refreshIosStorePurchases",
        folder: REFRESHERS["ios-store"],
        description: "Ask Apple about due purchases",
        schedule: "IosRefreshSchedule",
        every: Duration.minutes(1),
      }),
      "android-store": asking({
        name: "refreshAndroidStorePurchases",
        folder: REFRESHERS["android-store"],
        description: "Ask Google about due purchases",
        schedule: "AndroidRefreshSchedule",
        every: Duration.minutes(1),
      }),
    };
    const telling = (given: Scheduled): ServiceFunction => {
      const made = onSchedule(given);
      made.readsMasterSecret(masterSecretName(serviceName), secretsKeyArn);
      return made;
    };
    const teller = telling({
      name: "tellChanges",
      folder: TELLER,
      description: "Tell of accounts that have changed",
      schedule: "TellingSchedule",
      every: Duration.minutes(1),
    });
    const deliverer = telling({
      name: "deliverMessages",
      folder: DELIVERER,
      description: "Deliver messages to destinations",
      schedule: "DeliverySchedule",
      every: Duration.minutes(1),
    });
    deliverer.putsEvents(parameters.eventBuses);
    deliverer.resolvesAtOnce(NAME_LOOKUPS);
    // A table other than the stage's own, such as a restored one, has no stream that this stack knows.
    if (table.name === serviceName) {
      const stream = StringParameter.valueForStringParameter(this, streamParameter(serviceName));
      // No more than these two: DynamoDB serves at most two readers of a stream without throttling.
      teller.wakesOn(stream, { pk: [{ suffix: LOOKS_SUFFIX }], sk: [{ prefix: "2" }] });
      deliverer.wakesOn(stream, {
        pk: [{ prefix: "APPLICATION" }],
        sk: [{ prefix: DELIVERIES }, { prefix: REQUESTS }],
      });
    }

    asking({
      name: "sweepIosStoreNotifications",
      folder: SWEEPERS["ios-store"],
      description: "Read Apple's histories of undelivered notifications",
      schedule: "IosSweepSchedule",
      every: Duration.hours(1),
    });
    const androidSweeper = asking({
      name: "sweepAndroidStoreRefunds",
      folder: SWEEPERS["android-store"],
      description: "Read Google's lists of voided purchases",
      schedule: "AndroidSweepSchedule",
      every: Duration.hours(1),
    });

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
      authorizer: AUTHORIZER,
      limitsAddresses: parameters.api.synchronizesPerAddress !== null,
      acknowledger: ACKNOWLEDGER,
      sweepers: Object.values(SWEEPERS),
      watcher: WATCHER,
      tellers: [TELLER, DELIVERER],
      scheduled,
    });
    const { monthlyBudget } = parameters.alarms;
    if (monthlyBudget !== null)
      new MonthlyBudget(this, "Budget", { serviceName, dollars: monthlyBudget, topic: alarms.topic });
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
    output("Version", "Version that is deployed.", parameters.version);
    output("TableName", "The table's name, for the operator's command line.", table.name);
    output(
      "AndroidStoreRoles",
      "Roles that call Google's API; a workload identity pool has to admit them.",
      [
        served.linkAndroidStoreCustomer,
        served.receiveAndroidStoreNotification,
        acknowledger,
        refreshers["android-store"],
        androidSweeper,
      ]
        .map(({ roleName }) => roleName)
        .join(" "),
    );
    const policies = new OperatorPolicies(this, "Operator", table, {
      name: masterSecretName(serviceName),
      keyArn: secretsKeyArn,
    });
    output(
      "OperatorReadsPolicy",
      "Policy for the operator's commands that show something.",
      policies.reads.managedPolicyArn,
    );
    output(
      "OperatorChangesPolicy",
      "Policy for all of the operator's commands.",
      policies.changes.managedPolicyArn,
    );
    output("AlarmTopic", "SNS topic that the alarms notify.", alarms.topic.topicArn);
    if (api.domainTarget !== null)
      output("DomainTarget", "Target of the DNS record for the custom domain.", api.domainTarget);
  }
}
