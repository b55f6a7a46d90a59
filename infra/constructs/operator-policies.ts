import { Stack } from "aws-cdk-lib";
import { ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { masterSecretName } from "../../lib/delivery/webhook-secret.ts";
import { TABLE } from "../../lib/table/keys.ts";
import type { Parameters } from "../parameters.ts";
import { exactly, secretReading, tableArn, tableKeyUse, type TableReference } from "./permissions.ts";

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
