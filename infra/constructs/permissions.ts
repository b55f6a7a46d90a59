import { ArnFormat, Stack } from "aws-cdk-lib";
import { ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
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

/** Permissions to use a customer's key through a service alone; none without such a key. */
const keyUse = (
  actions: readonly string[],
  keyArn: KeyArn,
  service: "dynamodb" | "secretsmanager",
  { region, urlSuffix }: Stack,
): PolicyStatement[] =>
  keyArn === null
    ? []
    : [
        new PolicyStatement({
          actions: [...actions],
          resources: [keyArn],
          conditions: { StringEquals: { "kms:ViaService": `${service}.${region}.${urlSuffix}` } },
        }),
      ];

/** The table that functions and operators use; the data stack, or a restore, creates it. */
export interface TableReference {
  readonly name: string;
  readonly keyArn: KeyArn;
}

export const tableArn = (stack: Stack, { name }: TableReference): string =>
  stack.formatArn({ service: "dynamodb", resource: "table", resourceName: name });

export const tableKeyUse = (
  stack: Stack,
  { keyArn }: TableReference,
  use: "read" | "write",
): PolicyStatement[] =>
  keyUse(use === "read" ? DECRYPT : [...DECRYPT, ...ENCRYPT], keyArn, "dynamodb", stack);

/** AWS appends a hyphen and six characters to the name of each secret. */
export const exactly = (secretName: string): string => `${secretName}-??????`;

/** Permissions to read the account's and region's secrets whose names match, and to use their key. */
export const secretReading = (stack: Stack, pattern: string, keyArn: KeyArn): readonly PolicyStatement[] => [
  ...keyUse(DECRYPT, keyArn, "secretsmanager", stack),
  new PolicyStatement({
    actions: ["secretsmanager:GetSecretValue"],
    resources: [
      stack.formatArn({
        service: "secretsmanager",
        resource: "secret",
        resourceName: pattern,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    ],
  }),
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
 * Policies for the roles of people and pipelines: for commands that only show something, and for all commands. Neither
 * allows a deployment or a change of the table itself.
 */
export const addOperatorPolicies = (
  scope: Construct,
  table: TableReference,
  { serviceName, secretsKeyArn }: Parameters,
) => {
  const stack = Stack.of(scope);
  const arn = tableArn(stack, table);
  const looks = [
    new PolicyStatement({ actions: READS, resources: [arn] }),
    new PolicyStatement({
      actions: ["dynamodb:Query"],
      resources: [`${arn}/index/${TABLE.ownerIndex}`],
    }),
    // The table's name and the address are its outputs.
    new PolicyStatement({
      actions: ["cloudformation:DescribeStacks", "cloudformation:ListStackResources"],
      resources: [stack.stackId],
    }),
  ];
  const reads = new ManagedPolicy(scope, "Reads", {
    description: "The operator's commands that show something.",
    statements: [...looks, ...tableKeyUse(stack, table, "read")],
  });
  const changes = new ManagedPolicy(scope, "Changes", {
    description: "All of the operator's commands.",
    statements: [
      ...looks,
      new PolicyStatement({ actions: CHANGES, resources: [arn] }),
      ...tableKeyUse(stack, table, "write"),
      // `destination rotate` derives from it what it prints.
      ...secretReading(stack, exactly(masterSecretName(serviceName)), secretsKeyArn),
    ],
  });
  return { reads, changes };
};
