import { Stack } from "aws-cdk-lib";
import { ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { TABLE } from "../../lib/table/dynamodb/key.ts";
import { decryption, encryption } from "./key-permissions.ts";
import { secretArn } from "./secret-arn.ts";
import type { TableReference } from "./service-function.ts";

const READS = [
  "dynamodb:BatchGetItem",
  // For the progress of commands that read the whole table.
  "dynamodb:DescribeTable",
  "dynamodb:GetItem",
  "dynamodb:Query",
  "dynamodb:Scan",
];
const CHANGES = [
  "dynamodb:BatchWriteItem",
  "dynamodb:ConditionCheckItem",
  "dynamodb:DeleteItem",
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
];

/** The secret from which `destination rotate` derives what it prints. */
export interface MasterSecretReference {
  readonly name: string;
  /** Customer's key that encrypts it; null: Secrets Manager's own. */
  readonly keyArn: string | null;
}

/**
 * Policies to attach to the roles of people and pipelines: for commands that only show something, and for all commands.
 * Neither allows a deployment or a change of the table itself.
 */
export class OperatorPolicies extends Construct {
  readonly reads: ManagedPolicy;
  readonly changes: ManagedPolicy;

  constructor(scope: Construct, id: string, table: TableReference, master: MasterSecretReference) {
    super(scope, id);
    const stack = Stack.of(this);
    const arn = stack.formatArn({ service: "dynamodb", resource: "table", resourceName: table.name });
    const index = `${arn}/index/${TABLE.ownerIndex}`;
    const looks = [
      new PolicyStatement({ actions: READS, resources: [arn] }),
      new PolicyStatement({ actions: ["dynamodb:Query"], resources: [index] }),
      // The table's name and the address are its outputs.
      new PolicyStatement({
        actions: ["cloudformation:DescribeStacks", "cloudformation:ListStackResources"],
        resources: [stack.stackId],
      }),
    ];
    this.reads = new ManagedPolicy(this, "Reads", {
      description: "The operator's commands that show something.",
      statements: [...looks, ...decryption(table.keyArn, "dynamodb", stack)],
    });
    this.changes = new ManagedPolicy(this, "Changes", {
      description: "All of the operator's commands.",
      statements: [
        ...looks,
        new PolicyStatement({ actions: CHANGES, resources: [arn] }),
        ...encryption(table.keyArn, "dynamodb", stack),
        new PolicyStatement({
          actions: ["secretsmanager:GetSecretValue"],
          resources: [secretArn(stack, master.name)],
        }),
        ...decryption(master.keyArn, "secretsmanager", stack),
      ],
    });
  }
}
