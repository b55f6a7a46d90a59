import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, Billing, ProjectionType, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { TABLE } from "../../lib/table/keys.ts";

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** The one table, on demand; it survives its stack. */
export class EntitlementsTable extends Construct {
  readonly name: string;
  readonly arn: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const table = new TableV2(this, "Table", {
      partitionKey: text(TABLE.partitionKey),
      sortKey: text(TABLE.sortKey),
      billing: Billing.onDemand(),
      timeToLiveAttribute: TABLE.timeToLiveAttribute,
      globalSecondaryIndexes: [
        {
          indexName: TABLE.ownerIndex,
          partitionKey: text(TABLE.ownerAttribute),
          sortKey: text(TABLE.partitionKey),
          projectionType: ProjectionType.KEYS_ONLY,
        },
      ],
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    this.name = table.tableName;
    this.arn = table.tableArn;
  }
}
