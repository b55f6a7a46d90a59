import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import { EntitlementsTable } from "../constructs/entitlements-table.ts";
import { MasterSecret } from "../constructs/master-secret.ts";
import type { Parameters } from "../parameters.ts";

export interface DataStackProps extends StackProps {
  readonly parameters: Parameters;
}

/**
 * Name of the parameter that holds the ARN of the table's stream. Referenced by name, so that neither stack depends on
 * a resource of the other.
 */
export const streamParameter = (serviceName: string): string => `/${serviceName}/table-stream`;

/**
 * The data that must not be lost, in its own stack: deploying the service does not touch it. Retained once it is there: a
 * creation that fails leaves nothing behind under a fixed name.
 */
export class DataStack extends Stack {
  constructor(scope: Construct, id: string, { parameters, ...props }: DataStackProps) {
    super(scope, id, { terminationProtection: parameters.deletionProtection, ...props });
    const table = new EntitlementsTable(this, "Table", {
      ...parameters,
      // The stage's own table, even where `tableName` points the service to another one.
      tableName: parameters.serviceName,
    });
    const master = new MasterSecret(this, "Master", {
      serviceName: parameters.serviceName,
      removal: parameters.removal,
      keyArn: parameters.secretsKeyArn,
    });
    // A rollback of the stack's creation cannot delete a protected table, so what may fail comes before it.
    table.node.addDependency(master);
    new StringParameter(this, "Stream", {
      parameterName: streamParameter(parameters.serviceName),
      description: "The stream of the table's keys, for the service's functions.",
      stringValue: table.streamArn,
    });
    new CfnOutput(this, "TableName", { description: "The table of this stage.", value: table.name });
  }
}
