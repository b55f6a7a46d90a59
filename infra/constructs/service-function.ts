import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import { Role, ServicePrincipal, type Conditions, type PolicyStatement } from "aws-cdk-lib/aws-iam";
import {
  ApplicationLogLevel,
  Architecture,
  EventSourceMapping,
  FilterCriteria,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  StartingPosition,
  SystemLogLevel,
  Tracing,
  type CfnFunction,
  type Code,
  type IFunction,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { ItemKind, TableAccess } from "../../lib/contract/table-access.ts";
import { partitionPatterns } from "../../lib/table/keys.ts";
import type { FunctionValues } from "../functions.ts";
import type { Parameters } from "../read-parameters.ts";
import { acceptFinding } from "./accept-finding.ts";
import {
  allowing,
  exactly,
  secretReading,
  tableArn,
  tableKeyUse,
  type TableReference,
} from "./permissions.ts";

interface ServiceFunctionProps
  extends FunctionValues, Pick<Parameters, "serviceName" | "logRetentionDays" | "invocationReports"> {
  /** Bundle whose `index.cjs` exports `handler`. */
  readonly code: Code;
  readonly description: string;
  /** Whether a schedule invokes it: X-Ray then records nothing, as it would record runs whatever is sampled. */
  readonly isScheduled: boolean;
}

/** A transaction checks conditions of items that it only reads. */
const READS = {
  gets: ["dynamodb:GetItem"],
  queries: ["dynamodb:Query"],
  changes: ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Query"],
} as const satisfies Record<TableAccess["by"], readonly string[]>;

const CHANGES = ["dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"];

/**
 * Condition that every item of a request is of these kinds. A request without a partition key does not meet it.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
 */
const inPartitionsOf = (kinds: readonly ItemKind[]): Conditions => {
  const patterns = partitionPatterns();
  return {
    "ForAllValues:StringLike": { "dynamodb:LeadingKeys": kinds.map((kind) => patterns[kind]) },
    Null: { "dynamodb:LeadingKeys": "false" },
  };
};

/** Lambda function with its own role and log group. Its methods grant permissions, and set the variables for them. */
export class ServiceFunction extends Construct {
  /** Invocation target: the function, or its alias with provisioned concurrency. */
  readonly handler: IFunction;
  readonly name: string;
  readonly logicalId: string;
  readonly roleName: string;
  readonly #function: LambdaFunction;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const { reservedConcurrency, provisionedConcurrency } = props;
    const logGroup = new LogGroup(this, "Logs", {
      retention: props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    logGroup.grantWrite(role);
    this.#function = new LambdaFunction(this, "Function", {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: "index.handler",
      code: props.code,
      memorySize: props.memory,
      timeout: Duration.seconds(props.timeout),
      role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      // Lambda's INFO reports mostly repeat what the function logs itself.
      systemLogLevelV2: props.invocationReports ? SystemLogLevel.INFO : SystemLogLevel.WARN,
      tracing: props.isScheduled ? Tracing.PASS_THROUGH : Tracing.ACTIVE,
      environment: { POWERTOOLS_SERVICE_NAME: props.serviceName },
      ...(reservedConcurrency !== null && { reservedConcurrentExecutions: reservedConcurrency }),
    });
    this.name = this.#function.functionName;
    this.logicalId = Stack.of(this).getLogicalId(this.#function.node.defaultChild as CfnFunction);
    this.roleName = role.roleName;
    this.handler =
      provisionedConcurrency === null
        ? this.#function
        : // The CDK's own types differ in whether an absent role may be undefined.
          (this.#function.addAlias("ready", {
            provisionedConcurrentExecutions: provisionedConcurrency,
          }) as IFunction);
    acceptFinding(role, {
      "AwsSolutions-IAM5[Resource::*]":
        "X-Ray's PutTraceSegments and PutTelemetryRecords support no resource-level permissions.",
    });
    acceptFinding(this.#function, {
      ...(props.isScheduled && {
        "Serverless-LambdaTracing":
          "No caller samples a schedule's runs, and X-Ray would bill each minute's.",
      }),
      "Serverless-LambdaDLQ": "Invoked synchronously, or again at the next tick of its schedule.",
      "Serverless-LambdaAsyncFailureDestination":
        "Invoked synchronously, or again at the next tick of its schedule.",
    });
  }

  /** Grants access to the table's items, each kind by its partition keys. */
  uses(table: TableReference, { by, reads, changes }: TableAccess): void {
    const stack = Stack.of(this);
    this.#allow(tableKeyUse(stack, table, by === "changes" ? "write" : "read"));
    const may = (actions: readonly string[], kinds: readonly ItemKind[]): void => {
      if (kinds.length > 0) this.#may(actions, tableArn(stack, table), inPartitionsOf(kinds));
    };
    may(READS[by], [...reads, ...changes]);
    may(CHANGES, changes);
    this.#function.addEnvironment("TABLE_NAME", table.tableName);
  }

  /** Invokes it at a fixed rate, without retries: the next run does what this one leaves undone. */
  runsEvery(every: Duration, id: string): void {
    const once = { retryAttempts: 0, maxEventAge: Duration.minutes(1) };
    this.handler.configureAsyncInvoke(once);
    const rule = new Rule(new Construct(Stack.of(this), id), "Rule", {
      description: `Every ${every.toMinutes()} minutes`,
      schedule: Schedule.rate(every),
      targets: [new LambdaTarget(this.handler, once)],
    });
    acceptFinding(rule, {
      "Serverless-EventBusDLQ": "The next invocation does what this one leaves undone.",
    });
  }

  /**
   * Invokes it for new items whose keys match, from the table's stream. A record that fails is dropped: the function's
   * schedule does the same work. At most two functions do so: DynamoDB throttles more readers of a shard.
   *
   * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
   */
  wakesOn(streamArn: string, pattern: Readonly<Record<"pk" | "sk", readonly object[]>>): void {
    const { pk, sk } = pattern;
    const mapping = new EventSourceMapping(this, "Stream", {
      target: this.#function,
      eventSourceArn: streamArn,
      startingPosition: StartingPosition.LATEST,
      batchSize: 1000,
      maxBatchingWindow: Duration.seconds(2),
      retryAttempts: 0,
      maxRecordAge: Duration.minutes(1),
      filters: [
        FilterCriteria.filter({
          eventName: ["INSERT"],
          dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } } },
        }),
      ],
    });
    acceptFinding(mapping, {
      "Serverless-LambdaEventSourceMappingDestination":
        "A record carries no data and only wakes the function early; its schedule does the same work.",
    });
    // Lambda creates no mapping for a role that lacks one of the four.
    this.#may(
      ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"],
      streamArn,
    );
  }

  /** @param keyArn customer's key that encrypts the secrets; null: Secrets Manager's own */
  readsSecrets(prefix: string, keyArn: string | null): void {
    this.#allow(secretReading(Stack.of(this), `${prefix}*`, keyArn));
    acceptFinding(this, {
      [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${prefix}*]`]:
        "The operator names a secret for each application, and AWS appends six characters to each ARN.",
    });
  }

  readsMasterSecret(name: string, keyArn: string | null): void {
    this.#allow(secretReading(Stack.of(this), exactly(name), keyArn));
    this.#function.addEnvironment("MASTER_SECRET", name);
  }

  /** Name lookups at once, so that a name server that does not answer holds up no other destination. */
  resolvesAtOnce(lookups: number): void {
    this.#function.addEnvironment("UV_THREADPOOL_SIZE", String(lookups));
  }

  putsEvents(buses: readonly string[]): void {
    for (const bus of buses) this.#may(["events:PutEvents"], bus);
  }

  #may(actions: readonly string[], resource: string, conditions: Conditions = {}): void {
    this.#allow([allowing(actions, resource, conditions)]);
  }

  #allow(statements: readonly PolicyStatement[]): void {
    for (const statement of statements) this.#function.addToRolePolicy(statement);
  }
}
