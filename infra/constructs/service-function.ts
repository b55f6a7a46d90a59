import { ArnFormat, RemovalPolicy, Stack, type Duration } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { bundledCode } from "./bundled-code.ts";
import type { EntitlementsTable } from "./entitlements-table.ts";

export interface ServiceFunctionProps {
  /** The module that exports `handler`. */
  readonly entry: string;
  readonly description: string;
  /** In MB; the share of a processor grows with it. */
  readonly memory: number;
  readonly timeout: Duration;
}

/**
 * A function with a role and a log group of its own. What it may do and what it is told come together: each method
 * below grants the actions and sets the environment variable that names their object.
 */
export class ServiceFunction extends Construct {
  readonly handler: LambdaFunction;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const logGroup = new LogGroup(this, "Logs", {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    logGroup.grantWrite(role);
    this.handler = new LambdaFunction(this, "Function", {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: "index.handler",
      code: bundledCode(props.entry),
      memorySize: props.memory,
      timeout: props.timeout,
      role,
      logGroup,
    });
  }

  /** Reads single items by key. */
  getsItemsOf(table: EntitlementsTable): void {
    this.#uses(table, ["dynamodb:GetItem"]);
  }

  /** Reads partitions, and nothing else. */
  queries(table: EntitlementsTable): void {
    this.#uses(table, ["dynamodb:Query"]);
  }

  /** Reads by key and by partition, and writes, in transactions. */
  changes(table: EntitlementsTable): void {
    this.#uses(table, [
      "dynamodb:BatchGetItem",
      "dynamodb:ConditionCheckItem",
      "dynamodb:DeleteItem",
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:Query",
      "dynamodb:UpdateItem",
    ]);
  }

  /** Reads the secrets of this account and region whose names start with the prefix. */
  readsSecrets(prefix: string): void {
    this.#may(
      ["secretsmanager:GetSecretValue"],
      Stack.of(this).formatArn({
        service: "secretsmanager",
        resource: "secret",
        resourceName: `${prefix}*`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    );
  }

  #uses(table: EntitlementsTable, actions: string[]): void {
    this.#may(actions, table.arn);
    this.handler.addEnvironment("TABLE_NAME", table.name);
  }

  #may(actions: string[], resource: string): void {
    this.handler.addToRolePolicy(
      new PolicyStatement({ effect: Effect.ALLOW, actions, resources: [resource] }),
    );
  }
}
