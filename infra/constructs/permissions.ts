import { ArnFormat, type Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";

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
