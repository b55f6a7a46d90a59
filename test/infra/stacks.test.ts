import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TABLE } from "../../lib/table/keys.ts";
import {
  checked,
  DATA,
  DEVELOPMENT,
  FUNCTIONS,
  only,
  ofType,
  stages,
  type Json,
  type StageName,
  type Synthesis,
} from "./synthesis.ts";

const { version: VERSION } = JSON.parse(readFileSync("package.json", "utf8"));
const TABLE_TYPE = "AWS::DynamoDB::GlobalTable";

/** What the checks have found in an assembly. */
const reportsOf = (name: string): Json =>
  JSON.parse(readFileSync(join(checked, name, "validation-report.json"), "utf8")).pluginReports;

const listing = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      // Metadata names the source line that created a resource, which differs between the two applications.
      .filter((entry) => entry.isFile() && !/(?:metadata|report)\.json$/.test(entry.name))
      .map((entry) => {
        const file = join(entry.parentPath, entry.name);
        return [file.slice(folder.length), readFileSync(file, "utf8").replaceAll(folder, "")];
      }),
  );

test("the same sources give the same assembly in any environment", () => {
  expect(listing(join(checked, "production"))).toEqual(listing(stages.production.folder));
});

describe("the checks (cdk-nag's packs for solutions and serverless, and CloudFormation's schemas)", () => {
  test.each(["production", "development", "guarded"])("find nothing unexplained in %s", (name) => {
    expect(reportsOf(name)).toEqual([]);
  });

  test("find the faults of a faulty stack", () => {
    const found = JSON.stringify(reportsOf("faulty"));
    for (const rule of ["AwsSolutions-S10", "Serverless-LambdaTracing", "F3034"])
      expect(found).toContain(rule);
  });
});

describe("two stacks", () => {
  test("the table has its own stack, and the service follows it", () => {
    const { data, manifest, folder } = stages.production;
    expect(Object.values(data).map(({ Type }) => Type)).toEqual([
      TABLE_TYPE,
      // Nobody could make it again: the secrets of all webhooks are derived from it.
      "AWS::SecretsManager::Secret",
      // The stream's name, for the service.
      "AWS::SSM::Parameter",
    ]);
    const { dependencies } = manifest.artifacts["customer-entitlements-service"];
    expect(dependencies).toContain("customer-entitlements-data");
    for (const part of ["data", "service"])
      expect(readFileSync(join(folder, `customer-entitlements-${part}.template.json`), "utf8")).not.toMatch(
        /"Export"|Fn::ImportValue|Fn::GetStackOutput/,
      );
  });

  test.each<[StageName, name: string, isProtected: boolean]>([
    ["production", "customer-entitlements", true],
    ["development", "customer-entitlements-development", false],
  ])("both stacks of %s are protected, or neither", (stage, name, isProtected) => {
    const stacks = Object.entries<Json>(stages[stage].manifest.artifacts)
      .filter(([, { type }]) => type === "aws:cloudformation:stack")
      .map(([id, { properties }]) => [id, properties.terminationProtection === true]);
    expect(Object.fromEntries(stacks)).toEqual({
      [`${name}-data`]: isProtected,
      [`${name}-service`]: isProtected,
    });
  });

  test("stages share no resource name", () => {
    const names = ({ resources }: Synthesis): string[] =>
      Object.values(resources).flatMap(({ Properties }) =>
        ["TableName", "AlarmName", "Name"].flatMap((key) =>
          typeof Properties?.[key] === "string" && Properties[key] !== "ready" ? [Properties[key]] : [],
        ),
      );
    const production = new Set(names(stages.production));
    expect(production.size).toBeGreaterThan(9);
    expect(names(stages.development).filter((name) => production.has(name))).toEqual([]);
  });

  test("the service's stack has stage and version as tags, the data's none", () => {
    const tagsOf = ({ manifest }: Synthesis, name: string): Json => manifest.artifacts[name].properties.tags;
    for (const [synthesis, name, stage, version] of [
      [stages.production, "customer-entitlements", "production", VERSION],
      [stages.development, "customer-entitlements-development", "development", DEVELOPMENT.version],
    ] as const) {
      expect(tagsOf(synthesis, `${name}-service`)).toEqual({
        "customer-entitlements:stage": stage,
        "customer-entitlements:version": version,
      });
      expect(tagsOf(synthesis, `${name}-data`)).toBeUndefined();
      expect(synthesis.outputs["Version"]?.Value).toBe(version);
    }
  });
});

const capped = (index: number, table: number) => ({
  WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: table },
  GlobalSecondaryIndexes: [{ WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: index } }],
});
const safe = (isSafe: boolean) => ({
  DeletionProtectionEnabled: isSafe,
  PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: isSafe },
});
const inItsRegion = (name: string) => ({ "Fn::Join": ["", [`${name}-`, { Ref: "AWS::Region" }]] });
/** A first creation that fails leaves neither. */
const RETAINED = { DeletionPolicy: "RetainExceptOnCreate", UpdateReplacePolicy: "Retain" };

test.each<[rule: string, type: string, stage: StageName, resource: object]>([
  ["is retained once it stands", TABLE_TYPE, "production", RETAINED],
  ["is retained once it stands", "AWS::SecretsManager::Secret", "production", RETAINED],
  ["is deleted with its stack", TABLE_TYPE, "development", { DeletionPolicy: "Delete" }],
  ["is protected", TABLE_TYPE, "production", { Properties: { Replicas: [safe(true)] } }],
  ["is not protected", TABLE_TYPE, "development", { Properties: { Replicas: [safe(false)] } }],
  ["has caps of writes", TABLE_TYPE, "production", { Properties: capped(2000, 4000) }],
  [
    "has caps of reads",
    TABLE_TYPE,
    "production",
    {
      Properties: {
        Replicas: [
          {
            ReadOnDemandThroughputSettings: { MaxReadRequestUnits: 4000 },
            GlobalSecondaryIndexes: [
              { IndexName: TABLE.ownerIndex, ReadOnDemandThroughputSettings: { MaxReadRequestUnits: 400 } },
            ],
          },
        ],
      },
    },
  ],
  [
    "is on demand, with the code's keys and a stream of keys alone",
    TABLE_TYPE,
    "production",
    {
      Properties: {
        BillingMode: "PAY_PER_REQUEST",
        KeySchema: [
          { AttributeName: TABLE.partitionKey, KeyType: "HASH" },
          { AttributeName: TABLE.sortKey, KeyType: "RANGE" },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: TABLE.ownerIndex,
            // An index's sort key is limited to 1,024 bytes; a key with a long account is longer.
            KeySchema: [{ AttributeName: TABLE.ownerAttribute, KeyType: "HASH" }],
            Projection: { ProjectionType: "KEYS_ONLY" },
          },
        ],
        TimeToLiveSpecification: { AttributeName: TABLE.timeToLiveAttribute, Enabled: true },
        StreamSpecification: { StreamViewType: "KEYS_ONLY" },
      },
    },
  ],
  [
    "has a name for each region",
    "AWS::CloudWatch::Dashboard",
    "guarded",
    { Properties: { DashboardName: inItsRegion("customer-entitlements-guarded") } },
  ],
  [
    "has a name for each region",
    "AWS::Budgets::Budget",
    "development",
    { Properties: { Budget: { BudgetName: inItsRegion("customer-entitlements-development") } } },
  ],
])("%s: %s of %s", (_, type, stage, resource) => {
  expect(only(type, stages[stage])).toMatchObject(resource);
});

test("the table, which cannot be rolled back, is created last", () => {
  const [[secret] = [""]] = ofType("AWS::SecretsManager::Secret", stages.production);
  expect(only(TABLE_TYPE, stages.production).DependsOn).toEqual([secret]);
});

test("a parameter's budget notifies the alarms' topic, and may", () => {
  const { production, development } = stages;
  expect(ofType("AWS::Budgets::Budget", production)).toEqual([]);
  const { Budget, NotificationsWithSubscribers } = only("AWS::Budgets::Budget", development).Properties;
  expect(Budget).toMatchObject({ TimeUnit: "MONTHLY", BudgetLimit: { Amount: 50, Unit: "USD" } });
  const topic = { Ref: ofType("AWS::SNS::Topic", development)[0]?.[0] };
  const Subscribers = [{ SubscriptionType: "SNS", Address: topic }];
  expect(NotificationsWithSubscribers).toMatchObject(
    [
      ["ACTUAL", 80],
      ["ACTUAL", 100],
      ["FORECASTED", 100],
    ].map(([NotificationType, Threshold]) => ({
      Notification: { NotificationType, Threshold },
      Subscribers,
    })),
  );
  const statements = (synthesis: Synthesis): Json[] =>
    only("AWS::SNS::TopicPolicy", synthesis).Properties.PolicyDocument.Statement;
  const allowed = { Principal: { Service: "budgets.amazonaws.com" }, Action: "sns:Publish", Resource: topic };
  expect(statements(development)).toContainEqual(expect.objectContaining(allowed));
  expect(JSON.stringify(statements(production))).not.toContain("budgets");
});

test("the outputs are what operators, Google and the alarms need", () => {
  const idOf = (type: string, name = "") =>
    ofType(type, stages.production).find(([id]) => id.startsWith(name))?.[0];
  const ofAndroidStore = FUNCTIONS.filter((name) => DATA[name]?.store === "android-store");
  const writers = FUNCTIONS.filter((name) => (DATA[name]?.table.changes ?? []).length > 0);
  const roles = ofAndroidStore.map((name) => ({ Ref: idOf("AWS::IAM::Role", name) }));
  const join = (...parts: readonly unknown[]) => ({ "Fn::Join": ["", parts] });
  expect(roles.length).toBeGreaterThan(2);
  const { outputs } = stages.production;
  expect(Object.fromEntries(Object.entries(outputs).map(([name, { Value }]) => [name, Value]))).toEqual({
    Address: join(
      "https://",
      { Ref: idOf("AWS::ApiGateway::RestApi") },
      ".execute-api.",
      { Ref: "AWS::Region" },
      ".",
      { Ref: "AWS::URLSuffix" },
      "/live",
    ),
    Version: VERSION,
    OperatorReadsPolicy: { Ref: expect.stringContaining("OperatorReads") },
    OperatorChangesPolicy: { Ref: expect.stringContaining("OperatorChanges") },
    TableName: "customer-entitlements",
    AlarmTopic: { Ref: idOf("AWS::SNS::Topic") },
    Writers: writers.map((name) => idOf("AWS::Lambda::Function", name)).join(" "),
    AndroidStoreRoles: join(...roles.flatMap((role, index) => [...(index > 0 ? [" "] : []), role])),
  });
});
