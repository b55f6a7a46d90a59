import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  DEVELOPMENT,
  FUNCTIONS,
  functionOf,
  ofType,
  only,
  stages,
  type Json,
  type Synthesis,
} from "./synthesis.ts";

const { production, development } = stages;

const READS = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Query"];
const CHANGES = ["dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"];

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** The permissions of a function's role. */
const allStatementsOf = (name: string, synthesis: Synthesis): Statement[] => {
  const role = functionOf(name, synthesis)[1].Properties.Role["Fn::GetAtt"][0];
  expect(synthesis.resources[role]?.Properties.ManagedPolicyArns).toBeUndefined();
  return ofType("AWS::IAM::Policy", synthesis)
    .filter(([, { Properties }]) => Properties.Roles[0].Ref === role)
    .flatMap(([, { Properties }]): Statement[] => Properties.PolicyDocument.Statement);
};
const actionsIn = ({ Action }: Pick<Statement, "Action">): string => JSON.stringify(Action);
/** The same, except for its log, its traces and keys. */
const statementsOf = (name: string, synthesis: Synthesis): Statement[] =>
  allStatementsOf(name, synthesis).filter((statement) => !/logs:|xray:|kms:/.test(actionsIn(statement)));

const arn = (service: string, resource: string) => ({
  "Fn::Join": [
    "",
    [
      "arn:",
      { Ref: "AWS::Partition" },
      `:${service}:`,
      { Ref: "AWS::Region" },
      ":",
      { Ref: "AWS::AccountId" },
      `:${resource}`,
    ],
  ],
});

/** Actions on the items of these partitions, `<a>` for the partition of any application. */
const onItems = (partitions: readonly string[], actions: readonly string[]): Statement => ({
  Effect: "Allow",
  Action: actions.length === 1 ? (actions[0] ?? "") : actions,
  Resource: arn("dynamodb", "table/customer-entitlements"),
  Condition: {
    "ForAllValues:StringLike": {
      "dynamodb:LeadingKeys": partitions.map((one) => one.replace("<a>", `APPLICATION#${"?".repeat(36)}`)),
    },
    Null: { "dynamodb:LeadingKeys": "false" },
  },
});
const reading = (reads: readonly string[], changes: readonly string[]): Statement[] => [
  onItems([...reads, ...changes], READS),
  onItems(changes, CHANGES),
];
const readingSecret = (name: string): Statement => ({
  Effect: "Allow",
  Action: "secretsmanager:GetSecretValue",
  Resource: arn("secretsmanager", `secret:${name}`),
});

const FACTS = ["<a>#ACCOUNT#*", "<a>#CUSTOMER#*", "<a>#PURCHASE#*", "<a>#ASK#*", "<a>#CHANGED"];
const IDENTITY = "<a>#IDENTITY#*";
const DELIVERY = "<a>#DESTINATION#*";
const FORWARD = "<a>#FORWARD#*";
/** The secrets with stores' credentials. */
const SECRETS = readingSecret("customer-entitlements/*");
const TELLING: readonly Statement[] = [
  readingSecret("customer-entitlements-master-??????"),
  {
    Effect: "Allow",
    Action: ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(
      (one) => `dynamodb:${one}`,
    ),
    Resource: { Ref: expect.stringContaining("tablestream") },
  },
];

/** What each function may do. None may change an application, its credentials or the audit. */
const ACCESS: Readonly<Record<string, readonly Statement[]>> = {
  AuthorizeCredential: [onItems(["CREDENTIAL#*"], ["dynamodb:GetItem"])],
  ReadAccountEntitlements: [onItems(["<a>", "<a>#ACCOUNT#*"], ["dynamodb:Query"])],
  ReadChanges: [onItems(["<a>#CHANGES*"], ["dynamodb:Query"])],
  WatchNotifications: [onItems(["<a>", "NOTIFICATIONS"], ["dynamodb:Query"])],
  LinkIosStoreCustomer: reading(["<a>"], [...FACTS, IDENTITY, "<a>#TRANSFERS"]),
  LinkAndroidStoreCustomer: [...reading(["<a>"], [...FACTS, "<a>#TRANSFERS"]), SECRETS],
  SynchronizeIosStorePurchases: reading(["<a>", "STORE#*"], [...FACTS, IDENTITY]),
  ReceiveIosStoreNotification: reading(
    ["<a>", "STORE#*"],
    [...FACTS, IDENTITY, "NOTIFICATIONS", DELIVERY, FORWARD],
  ),
  ReceiveAndroidStoreNotification: [
    ...reading(["<a>", "STORE#*"], [...FACTS, "NOTIFICATIONS", DELIVERY]),
    SECRETS,
  ],
  RefreshIosStorePurchases: [...reading(["<a>", "APPLICATIONS"], [...FACTS, IDENTITY]), SECRETS],
  RefreshAndroidStorePurchases: [...reading(["<a>", "APPLICATIONS"], FACTS), SECRETS],
  SweepIosStoreNotifications: [
    ...reading(["<a>", "STORE#*", "APPLICATIONS"], [...FACTS, IDENTITY, DELIVERY]),
    SECRETS,
  ],
  SweepAndroidStoreRefunds: [...reading(["<a>", "APPLICATIONS"], FACTS), SECRETS],
  TellChanges: [
    ...reading(
      ["<a>", "<a>#ACCOUNT#*", "APPLICATIONS"],
      ["<a>#CHANGED", "<a>#TOLD#*", "<a>#CHANGES*", DELIVERY],
    ),
    ...TELLING,
  ],
  DeliverMessages: [...reading(["<a>", "<a>#CHANGES*", "APPLICATIONS"], [DELIVERY, FORWARD]), ...TELLING],
};

test.each(FUNCTIONS)("%s may do what it does to items, read its secrets, and no more", (name) => {
  const statements = statementsOf(name, production);
  expect(statements).toEqual(ACCESS[name]);
  const ofDevelopment = JSON.stringify(statementsOf(name, development));
  expect(ofDevelopment.includes("secret:trails/*")).toBe(ACCESS[name]?.includes(SECRETS));
  // A role's policies have 10,240 characters: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  expect(JSON.stringify(statements).length).toBeLessThan(5_000);
  const all = allStatementsOf(name, production);
  expect(all.map(actionsIn).join()).not.toContain("*");
  expect(all.filter(({ Resource }) => Resource === "*").map(({ Action }) => Action)).toEqual([
    ["xray:PutTelemetryRecords", "xray:PutTraceSegments"],
  ]);
});

test.each([
  ["ReadAccountEntitlements", ["reads of-the-table by dynamodb"]],
  ["AuthorizeCredential", ["reads of-the-table by dynamodb"]],
  ["LinkIosStoreCustomer", ["writes of-the-table by dynamodb"]],
  [
    "LinkAndroidStoreCustomer",
    ["writes of-the-table by dynamodb", "reads 0198c0de-0000-4000-8000-0000000000a5 by secretsmanager"],
  ],
])("%s may use a customer's keys through their services alone", (name, uses) => {
  const statements = allStatementsOf(name, development).filter((one) => actionsIn(one).includes("kms:"));
  expect(
    statements.map((statement) => {
      const verb = statement.Action.includes("kms:GenerateDataKey") ? "writes" : "reads";
      const { StringEquals } = statement.Condition as Json;
      const [, service] = /"(\w+)\./.exec(JSON.stringify(StringEquals["kms:ViaService"])) ?? [];
      return `${verb} ${String(statement.Resource).split("/")[1]} by ${service}`;
    }),
  ).toEqual(uses);
});

test("a customer's key encrypts the table; without one no role uses any", () => {
  expect(only("AWS::DynamoDB::GlobalTable", development).Properties).toMatchObject({
    SSESpecification: { SSEEnabled: true, SSEType: "KMS" },
    Replicas: [{ SSESpecification: { KMSMasterKeyId: DEVELOPMENT.tableKeyArn } }],
  });
  expect(JSON.stringify(production.resources)).not.toContain("kms:");
  expect(only("AWS::DynamoDB::GlobalTable", production).Properties.SSESpecification).toBeUndefined();
});

/** Actions that the operator's requests take. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  BatchGetCommand: ["dynamodb:BatchGetItem"],
  BatchWriteCommand: ["dynamodb:BatchWriteItem"],
  DeleteCommand: ["dynamodb:DeleteItem"],
  // IAM asks for no permission.
  GetCallerIdentityCommand: [],
  GetCommand: ["dynamodb:GetItem"],
  GetSecretValueCommand: ["secretsmanager:GetSecretValue"],
  PutCommand: ["dynamodb:PutItem"],
  QueryCommand: ["dynamodb:Query"],
  ScanCommand: ["dynamodb:Scan"],
  TransactGetCommand: ["dynamodb:GetItem"],
  TransactWriteCommand: ["dynamodb:ConditionCheckItem", ...CHANGES],
  UpdateCommand: ["dynamodb:UpdateItem"],
};

test("an operator's policies allow every request; the one for reading changes nothing", () => {
  const actionsOf = (id: string): string[] =>
    ofType("AWS::IAM::ManagedPolicy", production)
      .filter(([name]) => name.startsWith(id))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
      .flatMap(({ Action }: Json): string[] => [Action].flat());
  const sources = ["lib/table", "operator"].flatMap((folder) =>
    readdirSync(folder, { encoding: "utf8", recursive: true })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(folder, file), "utf8")),
  );
  const commands = sources.flatMap((source) =>
    [...source.matchAll(/new (\w+Command)\(/g)].map(([, name = ""]) => name),
  );
  const [reads, changes] = [actionsOf("OperatorReads"), actionsOf("OperatorChanges")];
  for (const command of new Set(commands)) {
    expect(NEEDED).toHaveProperty(command);
    expect(changes).toEqual(expect.arrayContaining([...(NEEDED[command] ?? [])]));
  }
  expect(reads.filter((action) => !/:(?:BatchGet|Get|Query|Scan|Describe|List)/.test(action))).toEqual([]);
  expect(changes).toEqual(expect.arrayContaining(reads));
  expect(changes.filter((action) => action.includes("*"))).toEqual([]);
});
