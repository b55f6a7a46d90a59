import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { EntitlementsTable } from "../constructs/entitlements-table.ts";
import type { Parameters } from "../parameters.ts";

export interface DataStackProps extends StackProps {
  readonly parameters: Parameters;
}

/** The data that must not be lost, in its own stack: deploying the service does not touch it. */
export class DataStack extends Stack {
  constructor(scope: Construct, id: string, { parameters, ...props }: DataStackProps) {
    super(scope, id, { terminationProtection: parameters.table.deletionProtection, ...props });
    const { name: _, ...tableParameters } = parameters.table;
    const table = new EntitlementsTable(this, "Table", {
      ...tableParameters,
      // The stage's own table, even where `tableName` points the service to another one.
      tableName: parameters.serviceName,
    });
    new CfnOutput(this, "TableName", { description: "The table of this stage.", value: table.name });
  }
}
