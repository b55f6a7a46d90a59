import { ArnFormat, Stack } from "aws-cdk-lib";
import { ManagedPolicy, PolicyStatement, type Conditions } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { masterSecretName } from "../../lib/delivery/webhook-secret.ts";
import { TABLE } from "../../lib/table/keys.ts";
import type { Parameters } from "../read-parameters.ts";

/** Encryption key of a table or a secret; null: the AWS service's own. */
type KeyArn = string | null;

const DECRYPT = ["kms:Decrypt", "kms:DescribeKey"];
const ENCRYPT = [
  "kms:Encrypt",
  "kms:GenerateDataKey",
  "kms:GenerateDataKeyWithoutPlaintext",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
];

export const allowing = (
  actions: readonly string[],
  resource: string,
  conditions: Conditions = {},
): PolicyStatement => new PolicyStatement({ actions: [...actions], resources: [resource], conditions });

/** Permissions to use a customer's key through a service alone; none without such a key. */
const keyUse = (
  actions: readonly string[],
  keyArn: KeyArn,
  service: "dynamodb" | "secretsmanager",
  { region, urlSuffix }: Stack,
): PolicyStatement[] => {
  const through = { StringEquals: { "kms:ViaService": `${service}.${region}.${urlSuffix}` } };
  return keyArn === null ? [] : [allowing(actions, keyArn, through)];
};

/** The table that functions and operators use; the data stack, or a restore, creates it. */
export type TableReference = Pick<Parameters, "tableName" | "tableKeyArn">;

export const tableArn = (stack: Stack, { tableName }: TableReference): string =>
  stack.formatArn({ service: "dynamodb", resource: "table", resourceName: tableName });

export const tableKeyUse = (
  stack: Stack,
  { tableKeyArn }: TableReference,
  use: "read" | "write",
): PolicyStatement[] =>
  keyUse(use === "read" ? DECRYPT : [...DECRYPT, ...ENCRYPT], tableKeyArn, "dynamodb", stack);

/** AWS appends a hyphen and six characters to the name of each secret. */
export const exactly = (secretName: string): string => `${secretName}-??????`;

/** Permissions to read the account's and region's secrets whose names match, and to use their key. */
export const secretReading = (stack: Stack, pattern: string, keyArn: KeyArn): readonly PolicyStatement[] => [
  ...keyUse(DECRYPT, keyArn, "secretsmanager", stack),
  allowing(
    ["secretsmanager:GetSecretValue"],
    stack.formatArn({
      service: "secretsmanager",
      resource: "secret",
      resourceName: pattern,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    }),
  ),
];

const READS = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"];
const CHANGES = [
  "dynamodb:BatchWriteItem",
  "dynamodb:ConditionCheckItem",
  "dynamodb:DeleteItem",
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
];

/**
 * ARNs of policies for people and pipelines: for commands that only show something, and for all commands. Neither allows
 * a deployment or a change of the table itself.
 */
export const addOperatorPolicies = (scope: Construct, parameters: Parameters) => {
  const stack = Stack.of(scope);
  const arn = tableArn(stack, parameters);
  const looks = [
    allowing(READS, arn),
    allowing(["dynamodb:Query"], `${arn}/index/${TABLE.ownerIndex}`),
    // The table's name and the address are its outputs.
    allowing(["cloudformation:DescribeStacks", "cloudformation:ListStackResources"], stack.stackId),
  ];
  const reads = new ManagedPolicy(scope, "Reads", {
    description: "The operator's commands that show something.",
    statements: [...looks, ...tableKeyUse(stack, parameters, "read")],
  });
  const changes = new ManagedPolicy(scope, "Changes", {
    description: "All of the operator's commands.",
    statements: [
      ...looks,
      allowing(CHANGES, arn),
      ...tableKeyUse(stack, parameters, "write"),
      // `destination rotate` derives from it what it prints.
      ...secretReading(stack, exactly(masterSecretName(parameters.serviceName)), parameters.secretsKeyArn),
    ],
  });
  return { reads: reads.managedPolicyArn, changes: changes.managedPolicyArn };
};
