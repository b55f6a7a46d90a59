import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { functionName } from "../../lib/contract/function-name.ts";
import { LOOKS_SUFFIX, prefixes } from "../../lib/table/keys.ts";
import { masterSecretName } from "../../lib/delivery/master-secret.ts";
import { bundledCode } from "../bundling/bundled-code.ts";
import { ENTRIES } from "../bundling/entries.ts";
import { Alarms } from "../watch/alarms.ts";
import { EntitlementsApi } from "../constructs/entitlements-api.ts";
import { HealthDashboard } from "../watch/health-dashboard.ts";
import { MonthlyBudget } from "../constructs/monthly-budget.ts";
import { OperatorPolicies } from "../constructs/operator-policies.ts";
import { Schedule } from "../constructs/schedule.ts";
import { ServiceFunction } from "../constructs/service-function.ts";
import { ServiceMetrics } from "../watch/service-metrics.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type OtherFunction } from "../other-functions.ts";
import type { FunctionName } from "../function-parameters.ts";
import type { Parameters } from "../parameters.ts";
import { streamParameter } from "./data-stack.ts";

export interface ServiceStackProps extends StackProps {
  readonly parameters: Parameters;
  /** Module that exports the handler of a function, by the function's name. */
  readonly moduleOf: (name: string) => string;
}

const NAME_LOOKUPS = 64;

/**
 * Prevents Lambda's own two retries of a failed scheduled function, up to six hours later: its next run does the same
 * work.
 */
const runOnce = ({ handler }: ServiceFunction): void =>
  handler.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
const idOf = (name: FunctionName): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const mapOf = <Name extends string, Value>(
  data: Readonly<Record<Name, unknown>>,
  valueOf: (name: Name) => Value,
): Record<Name, Value> =>
  Object.fromEntries((Object.keys(data) as Name[]).map((name) => [name, valueOf(name)])) as Record<
    Name,
    Value
  >;

/** Everything that can be redeployed from source: functions, API, schedule, alarms, dashboard. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, { parameters, moduleOf, ...props }: ServiceStackProps) {
    // `cdk destroy` starts with this stack, which without a custom domain would lose the API's address.
    super(scope, id, { terminationProtection: parameters.deletionProtection, ...props });
    const { serviceName, secretPrefix, secretsKeyArn, requestsPerAddress, synchronizesPerAddress } =
      parameters;
    const table = { name: parameters.tableName, keyArn: parameters.tableKeyArn };
    const logRetentionDays: RetentionDays = parameters.logRetentionDays;
    const functionNames: Record<string, string> = {};
    const writers: ServiceFunction[] = [];
    const askingGoogle: ServiceFunction[] = [];
    const codeOf = bundledCode(mapOf(ENTRIES, moduleOf));
    const functionOf = (
      name: FunctionName,
      description: string,
      { table: access, store }: Pick<OtherFunction, "table" | "store">,
    ): ServiceFunction => {
      const folder = functionName(name);
      const made = new ServiceFunction(this, idOf(name), {
        code: codeOf(folder),
        description,
        serviceName,
        logRetentionDays,
        reportsInvocations: parameters.invocationReports,
        isScheduled: Object.hasOwn(SCHEDULED_FUNCTIONS, name),
        ...parameters.functions[name],
      });
      made.uses(table, access);
      if (access.changes.length > 0) writers.push(made);
      if (store === "android-store") askingGoogle.push(made);
      functionNames[folder] = made.name;
      return made;
    };
    const authorizer = functionOf("authorizeCredential", AUTHORIZER.description, AUTHORIZER);
    const served = mapOf(endpoints, (name) => {
      const { summary, readsSecrets } = endpoints[name];
      const made = functionOf(name, summary, endpoints[name]);
      if (readsSecrets) made.readsSecrets(secretPrefix, secretsKeyArn);
      return made;
    });
    const scheduled = mapOf(SCHEDULED_FUNCTIONS, (name) => {
      const { description, schedule, everyMinutes, secrets } = SCHEDULED_FUNCTIONS[name];
      const made = functionOf(name, description, SCHEDULED_FUNCTIONS[name]);
      runOnce(made);
      new Schedule(this, schedule, { of: made, every: Duration.minutes(everyMinutes) });
      if (secrets === "store-credentials") made.readsSecrets(secretPrefix, secretsKeyArn);
      if (secrets === "master-secret") made.readsMasterSecret(masterSecretName(serviceName), secretsKeyArn);
      return made;
    });
    const { tellChanges: teller, deliverMessages: deliverer } = scheduled;
    deliverer.putsEvents(parameters.eventBuses ?? []);
    deliverer.resolvesAtOnce(NAME_LOOKUPS);
    // A table other than the stage's own, such as a restored one, has no stream that this stack knows.
    if (table.name === serviceName) {
      const stream = StringParameter.valueForStringParameter(this, streamParameter(serviceName));
      // No more than these two: DynamoDB serves at most two readers of a stream without throttling.
      teller.wakesOn(stream, { pk: [{ suffix: LOOKS_SUFFIX }], sk: [{ prefix: prefixes.look }] });
      deliverer.wakesOn(stream, {
        pk: [{ prefix: prefixes.application }],
        sk: [
          { prefix: prefixes.delivery },
          { prefix: prefixes.requestDelivery },
          { prefix: prefixes.forward },
        ],
      });
    }

    const api = new EntitlementsApi(this, "Api", {
      ...parameters,
      logRetentionDays,
      authorizer: authorizer.handler,
      handlers: mapOf(endpoints, (name) => served[name].handler),
    });

    const metrics = new ServiceMetrics({
      serviceName,
      apiName: api.name,
      stageName: api.stageName,
      tableName: table.name,
      functionNames,
    });
    const alarms = new Alarms(this, "Alarms", {
      ...parameters,
      metrics,
      limitsAddresses: requestsPerAddress !== null || synchronizesPerAddress !== null,
    });
    const { monthlyBudget } = parameters;
    if (monthlyBudget !== null)
      new MonthlyBudget(this, "Budget", { serviceName, dollars: monthlyBudget, topic: alarms.topic });
    if (parameters.dashboard)
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
      askingGoogle.map(({ roleName }) => roleName).join(" "),
    );
    output(
      "Writers",
      "Functions that may change the table, by their logical identifiers.",
      writers.map(({ logicalId }) => logicalId).join(" "),
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
