import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { EntitlementsTable } from "../constructs/entitlements-table.ts";
import type { Parameters } from "../parameters.ts";

export interface DataStackProps extends StackProps {
  readonly parameters: Parameters;
}

/** What must not be lost, and nothing else: no deployment of the service touches this stack. */
export class DataStack extends Stack {
  constructor(scope: Construct, id: string, { parameters, ...props }: DataStackProps) {
    super(scope, id, { terminationProtection: parameters.table.deletionProtection, ...props });
    const { name: _, ...tableParameters } = parameters.table;
    const table = new EntitlementsTable(this, "Table", {
      ...tableParameters,
      // Always the stage's own, whichever table the service works on.
      tableName: parameters.serviceName,
    });
    new CfnOutput(this, "TableName", { description: "The table of this stage.", value: table.name });
  }
}
