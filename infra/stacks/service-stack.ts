import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import type { AssetCode } from "aws-cdk-lib/aws-lambda";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";
import { endpoints, functionName, type Endpoint } from "../../lib/contract/endpoints.ts";
import { masterSecretName } from "../../lib/delivery/webhook-secret.ts";
import { LOOKS_SUFFIX, prefixes } from "../../lib/table/keys.ts";
import { bundledCode, type ModuleOf } from "../bundling/bundled-code.ts";
import { EntitlementsApi } from "../constructs/entitlements-api.ts";
import { addOperatorPolicies } from "../constructs/permissions.ts";
import { ServiceFunction } from "../constructs/service-function.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type FunctionName, type OtherFunction } from "../functions.ts";
import type { Parameters } from "../read-parameters.ts";
import { addMonthlyBudget, Alarms } from "../watch/alarms.ts";
import { addHealthDashboard } from "../watch/health-dashboard.ts";
import { ServiceMetrics } from "../watch/service-metrics.ts";
import { streamParameter } from "./data-stack.ts";

interface ServiceStackProps extends StackProps {
  readonly parameters: Parameters;
  readonly moduleOf: ModuleOf;
}

const NAME_LOOKUPS = 64;

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
  readonly #parameters: Parameters;
  readonly #codeOf: (name: string) => AssetCode;
  readonly #functionNames: Record<string, string> = {};
  readonly #writers: ServiceFunction[] = [];
  readonly #askingGoogle: ServiceFunction[] = [];

  constructor(scope: Construct, id: string, { parameters, moduleOf, ...props }: ServiceStackProps) {
    // `cdk destroy` starts with this stack, which without a custom domain would lose the API's address.
    super(scope, id, { terminationProtection: parameters.deletionProtection, ...props });
    this.#parameters = parameters;
    this.#codeOf = bundledCode(moduleOf);
    const authorizer = this.#newFunction("authorizeCredential", AUTHORIZER.description, AUTHORIZER);
    const handlers = mapOf(endpoints, (name) => {
      const { summary, readsSecrets }: Endpoint = endpoints[name];
      const made = this.#newFunction(name, summary, endpoints[name]);
      if (readsSecrets) made.readsSecrets(parameters.secretPrefix, parameters.secretsKeyArn);
      return made.handler;
    });
    this.#addSchedules();
    const api = new EntitlementsApi(this, "Api", {
      ...parameters,
      authorizer: authorizer.handler,
      handlers,
    });
    this.#addOutputs(api, this.#watch(api));
  }

  #newFunction(
    name: FunctionName,
    description: string,
    { table: access, store }: Pick<OtherFunction, "table" | "store">,
  ): ServiceFunction {
    const folder = functionName(name);
    const made = new ServiceFunction(this, `${name.charAt(0).toUpperCase()}${name.slice(1)}`, {
      ...this.#parameters,
      ...this.#parameters.functions[name],
      code: this.#codeOf(folder),
      description,
      isScheduled: Object.hasOwn(SCHEDULED_FUNCTIONS, name),
    });
    made.uses(this.#parameters, access);
    if (access.changes.length > 0) this.#writers.push(made);
    if (store === "android-store") this.#askingGoogle.push(made);
    this.#functionNames[folder] = made.name;
    return made;
  }

  #addSchedules(): void {
    const { serviceName, tableName, secretPrefix, secretsKeyArn, eventBuses } = this.#parameters;
    const { tellChanges: teller, deliverMessages: deliverer } = mapOf(SCHEDULED_FUNCTIONS, (name) => {
      const { description, schedule, everyMinutes, secrets } = SCHEDULED_FUNCTIONS[name];
      const made = this.#newFunction(name, description, SCHEDULED_FUNCTIONS[name]);
      made.runsEvery(Duration.minutes(everyMinutes), schedule);
      if (secrets === "store-credentials") made.readsSecrets(secretPrefix, secretsKeyArn);
      if (secrets === "master-secret") made.readsMasterSecret(masterSecretName(serviceName), secretsKeyArn);
      return made;
    });
    deliverer.putsEvents(eventBuses ?? []);
    deliverer.resolvesAtOnce(NAME_LOOKUPS);
    // A table other than the stage's own, such as a restored one, has no stream that this stack knows.
    if (tableName !== serviceName) return;
    const stream = StringParameter.valueForStringParameter(this, streamParameter(serviceName));
    // No more than these two: DynamoDB serves at most two readers of a stream without throttling.
    teller.wakesOn(stream, { pk: [{ suffix: LOOKS_SUFFIX }], sk: [{ prefix: prefixes.look }] });
    deliverer.wakesOn(stream, {
      pk: [{ prefix: prefixes.application }],
      sk: [prefixes.delivery, prefixes.requestDelivery, prefixes.forward].map((prefix) => ({ prefix })),
    });
  }

  #watch({ stageName, accessLogs }: EntitlementsApi): Alarms {
    const { serviceName, tableName, monthlyBudget, dashboard } = this.#parameters;
    const metrics = new ServiceMetrics({
      serviceName,
      stageName,
      tableName,
      functionNames: this.#functionNames,
    });
    const alarms = new Alarms(this, "Alarms", this.#parameters, metrics);
    if (monthlyBudget !== null)
      addMonthlyBudget(new Construct(this, "Budget"), serviceName, monthlyBudget, alarms.topic);
    if (dashboard)
      addHealthDashboard(new Construct(this, "Health"), serviceName, metrics, alarms.all, accessLogs);
    return alarms;
  }

  #addOutputs({ address, domainTarget }: EntitlementsApi, { topic }: Alarms): void {
    const output = (name: string, description: string, value: string): void => {
      new CfnOutput(this, name, { description, value });
    };
    output("Address", "Base URL of the API, without the contract's paths.", address);
    output("Version", "Version that is deployed.", this.#parameters.version);
    output("TableName", "The table's name, for the operator's command line.", this.#parameters.tableName);
    output(
      "AndroidStoreRoles",
      "Roles that call Google's API; a workload identity pool has to admit them.",
      this.#askingGoogle.map(({ roleName }) => roleName).join(" "),
    );
    output(
      "Writers",
      "Functions that may change the table, by their logical identifiers.",
      this.#writers.map(({ logicalId }) => logicalId).join(" "),
    );
    const { reads, changes } = addOperatorPolicies(new Construct(this, "Operator"), this.#parameters);
    output("OperatorReadsPolicy", "Policy for the operator's commands that show something.", reads);
    output("OperatorChangesPolicy", "Policy for all of the operator's commands.", changes);
    output("AlarmTopic", "SNS topic that the alarms notify.", topic.topicArn);
    if (domainTarget !== null)
      output("DomainTarget", "Target of the DNS record for the custom domain.", domainTarget);
  }
}
