import type { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";

const DECRYPT = ["kms:Decrypt", "kms:DescribeKey"];
const ENCRYPT = [
  "kms:Encrypt",
  "kms:GenerateDataKey",
  "kms:GenerateDataKeyWithoutPlaintext",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
];

const using = (
  actions: readonly string[],
  keyArn: string | null,
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

type Given = [keyArn: string | null, service: "dynamodb" | "secretsmanager", stack: Stack];

/** Permission to read, through a service, data encrypted with a customer's key; none without such a key. */
export const decryption = (...given: Given): PolicyStatement[] => using(DECRYPT, ...given);

/** Permission to write, too. */
export const encryption = (...given: Given): PolicyStatement[] => using([...DECRYPT, ...ENCRYPT], ...given);
