import { CfnOutput, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import {
  AttributeType,
  Billing,
  CfnGlobalTable,
  ProjectionType,
  StreamViewType,
  TableV2,
} from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";
import { masterSecretName } from "../../lib/delivery/webhook-secret.ts";
import { TABLE } from "../../lib/table/keys.ts";
import { acceptFinding } from "../constructs/accept-finding.ts";
import type { Parameters } from "../read-parameters.ts";

/** Parameter with the ARN of the table's stream, by which neither stack depends on a resource of the other. */
export const streamParameter = (serviceName: string): string => `/${serviceName}/table-stream`;

const removalPolicyOf = ({ removal }: Parameters): RemovalPolicy =>
  removal === "retain" ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** The single table, billed on demand. Its name is fixed, so that a change that would replace the table fails. */
const newTable = (scope: Construct, parameters: Parameters): TableV2 => {
  const { maxReadCapacity, maxWriteCapacity, tableKeyArn } = parameters;
  const table = new TableV2(scope, "Table", {
    // The stage's own table, even where `tableName` points the service to another one.
    tableName: parameters.serviceName,
    partitionKey: text(TABLE.partitionKey),
    sortKey: text(TABLE.sortKey),
    billing: Billing.onDemand({
      ...(maxReadCapacity !== null && { maxReadRequestUnits: maxReadCapacity }),
      ...(maxWriteCapacity !== null && { maxWriteRequestUnits: maxWriteCapacity }),
    }),
    // It carries no data, and only wakes functions that a schedule calls anyway.
    dynamoStream: StreamViewType.KEYS_ONLY,
    timeToLiveAttribute: TABLE.timeToLiveAttribute,
    globalSecondaryIndexes: [
      {
        // No sort key: it may have at most 1,024 bytes, and a partition key with a long account identifier has more.
        indexName: TABLE.ownerIndex,
        partitionKey: text(TABLE.ownerAttribute),
        projectionType: ProjectionType.KEYS_ONLY,
        // A new purchase takes a third as many units in the index as in the table, and only the operator reads the index.
        ...(maxReadCapacity !== null && { maxReadRequestUnits: Math.ceil(maxReadCapacity / 10) }),
        ...(maxWriteCapacity !== null && { maxWriteRequestUnits: Math.ceil(maxWriteCapacity / 2) }),
      },
    ],
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: parameters.pointInTimeRecovery },
    deletionProtection: parameters.deletionProtection,
    removalPolicy: removalPolicyOf(parameters),
  });
  if (tableKeyArn !== null) encryptWith(tableKeyArn, table);
  return table;
};

/** The CDK's property needs a stack with a known region. */
const encryptWith = (keyArn: string, { node: { defaultChild } }: TableV2): void => {
  if (!(defaultChild instanceof CfnGlobalTable)) throw new Error("The table is of another kind.");
  defaultChild.sseSpecification = { sseEnabled: true, sseType: "KMS" };
  defaultChild.addPropertyOverride("Replicas.0.SSESpecification.KMSMasterKeyId", keyArn);
};

/** Destinations' secrets and hashes of erased accounts derive from it, so it is removed only with the table. */
const newMasterSecret = (scope: Construct, parameters: Parameters): Secret => {
  const { serviceName, secretsKeyArn } = parameters;
  const secret = new Secret(scope, "Secret", {
    secretName: masterSecretName(serviceName),
    description: "Master secret of the destinations' secrets. Never change it.",
    generateSecretString: { passwordLength: 64, excludePunctuation: true },
    ...(secretsKeyArn !== null && { encryptionKey: Key.fromKeyArn(scope, "Key", secretsKeyArn) }),
    removalPolicy: removalPolicyOf(parameters),
  });
  acceptFinding(secret, {
    "AwsSolutions-SMG4":
      "A new value would change all destinations' secrets at once; each is rotated by itself, with an overlap.",
  });
  return secret;
};

/** Table and secret that must not be lost: deploying the service does not touch them. A failed creation leaves nothing. */
export class DataStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    { parameters, ...props }: StackProps & { readonly parameters: Parameters },
  ) {
    super(scope, id, { terminationProtection: parameters.deletionProtection, ...props });
    const table = newTable(new Construct(this, "Table"), parameters);
    // A rollback of the stack's creation cannot delete a protected table, so what may fail comes before it.
    table.node.addDependency(newMasterSecret(new Construct(this, "Master"), parameters));
    if (table.tableStreamArn === undefined) throw new Error("The table has no stream.");
    new StringParameter(this, "Stream", {
      parameterName: streamParameter(parameters.serviceName),
      description: "The stream of the table's keys, for the service's functions.",
      stringValue: table.tableStreamArn,
    });
    new CfnOutput(this, "TableName", { description: "The table of this stage.", value: table.tableName });
  }
}
