import { RemovalPolicy } from "aws-cdk-lib";
import {
  AttributeType,
  Billing,
  ProjectionType,
  StreamViewType,
  CfnGlobalTable,
  TableV2,
} from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { TABLE } from "../../lib/table/dynamodb/key.ts";
import type { Parameters } from "../parameters.ts";

const text = (name: string) => ({ name, type: AttributeType.STRING });

export type EntitlementsTableProps = Pick<
  Parameters,
  | "deletionProtection"
  | "maxReadCapacity"
  | "maxWriteCapacity"
  | "pointInTimeRecovery"
  | "removal"
  | "tableKeyArn"
  | "tableName"
>;

/** The single table, billed on demand. Its name is fixed, so that a change that would replace the table fails. */
export class EntitlementsTable extends Construct {
  readonly name: string;
  /** ARN of the stream of changed keys. */
  readonly streamArn: string;

  constructor(scope: Construct, id: string, props: EntitlementsTableProps) {
    super(scope, id);
    const { maxReadCapacity, maxWriteCapacity } = props;
    const table = new TableV2(this, "Table", {
      tableName: props.tableName,
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
          // A new purchase takes a third as many units in the index as in the table, and only the operator reads the
          // index.
          ...(maxReadCapacity !== null && { maxReadRequestUnits: Math.ceil(maxReadCapacity / 10) }),
          ...(maxWriteCapacity !== null && { maxWriteRequestUnits: Math.ceil(maxWriteCapacity / 2) }),
        },
      ],
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: props.pointInTimeRecovery },
      deletionProtection: props.deletionProtection,
      removalPolicy:
        props.removal === "retain" ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    if (props.tableKeyArn !== null) encryptWith(props.tableKeyArn, table);
    this.name = table.tableName;
    if (table.tableStreamArn === undefined) throw new Error("The table has no stream.");
    this.streamArn = table.tableStreamArn;
  }
}

/** Set by hand: the CDK's property needs a stack with a known region. */
const encryptWith = (keyArn: string, { node: { defaultChild } }: TableV2): void => {
  if (!(defaultChild instanceof CfnGlobalTable)) throw new Error("The table is of another kind.");
  defaultChild.sseSpecification = { sseEnabled: true, sseType: "KMS" };
  defaultChild.addPropertyOverride("Replicas.0.SSESpecification.KMSMasterKeyId", keyArn);
};
