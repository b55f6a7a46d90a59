import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  FUNCTIONS,
  functionOf,
  ofType,
  only,
  SCHEDULED,
  stages,
  type Json,
  type StageName,
} from "./synthesis.ts";

const { production, development } = stages;

const MASTER = { MASTER_SECRET: "customer-entitlements-master" };
/** Variables of a function beside the table's name and the service's name. */
const MORE: Readonly<Record<string, object>> = {
  TellChanges: MASTER,
  DeliverMessages: { ...MASTER, UV_THREADPOOL_SIZE: "64" },
};

test.each(FUNCTIONS)("%s has one file of code, JSON logs and no more variables than it needs", (name) => {
  const [, { Properties }] = functionOf(name, production);
  expect(Properties).toMatchObject({
    Runtime: "nodejs24.x",
    Architectures: ["arm64"],
    Handler: "index.handler",
    LoggingConfig: { LogFormat: "JSON", ApplicationLogLevel: "INFO", SystemLogLevel: "WARN" },
    // Traced where the gateway samples its request; no run of a schedule is.
    TracingConfig: { Mode: SCHEDULED.has(name) ? "PassThrough" : "Active" },
  });
  expect(Properties.Environment.Variables).toEqual({
    TABLE_NAME: only("AWS::DynamoDB::GlobalTable", production).Properties.TableName,
    POWERTOOLS_SERVICE_NAME: "customer-entitlements",
    ...MORE[name],
  });
  // API Gateway waits for 29 seconds.
  expect(SCHEDULED.has(name) || Properties.Timeout < 29).toBe(true);
  const code = join(production.folder, `asset.${Properties.Code.S3Key.replace(".zip", "")}`);
  expect(readdirSync(code)).toEqual(["index.cjs"]);
});

test.each<[StageName, days: number]>([
  ["production", 30],
  ["development", 7],
])("log groups of %s expire after %i days, and end with the stack", (stage, days) => {
  const groups = ofType("AWS::Logs::LogGroup", stages[stage]);
  expect(groups).toHaveLength(FUNCTIONS.length + 1);
  for (const [, { Properties, DeletionPolicy }] of groups)
    expect([Properties.RetentionInDays, DeletionPolicy]).toEqual([days, "Delete"]);
});

test("functions have the account's concurrency unless a parameter sets it", () => {
  const functions = ofType("AWS::Lambda::Function", production);
  expect(functions).toHaveLength(FUNCTIONS.length);
  for (const [, { Properties }] of functions)
    expect(Properties).not.toHaveProperty("ReservedConcurrentExecutions");
  expect(ofType("AWS::Lambda::Alias", production)).toEqual([]);

  const [, reader] = functionOf("ReadAccountEntitlements", development);
  expect(reader.Properties).toMatchObject({
    ReservedConcurrentExecutions: 20,
    LoggingConfig: { SystemLogLevel: "INFO" },
  });
  expect(functionOf("LinkIosStoreCustomer", development)[1].Properties.MemorySize).toBe(1769);
  const [[alias = "", { Properties } = {}] = []] = ofType("AWS::Lambda::Alias", development);
  expect(Properties.ProvisionedConcurrencyConfig).toEqual({ ProvisionedConcurrentExecutions: 2 });
  const methods = ofType("AWS::ApiGateway::Method", development).map(([, method]) => method.Properties);
  const { Integration } = methods.find(({ HttpMethod }) => HttpMethod === "GET");
  expect(JSON.stringify(Integration.Uri)).toContain(alias);
});

test("schedules run once: nothing retries, and a minute's wait drops a run", () => {
  const once = { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 };
  const rules = ofType("AWS::Events::Rule", production).map(([, { Properties }]) => {
    const { ScheduleExpression, State, Targets } = Properties;
    expect([State, Targets]).toMatchObject(["ENABLED", [{ RetryPolicy: once }]]);
    const id: string = Targets[0].Arn["Fn::GetAtt"][0];
    const configured = ofType("AWS::Lambda::EventInvokeConfig", production).map(([, one]) => one.Properties);
    expect(configured.find(({ FunctionName }: Json) => FunctionName.Ref === id)).toMatchObject(once);
    return [id.replace(/Function\w+$/, ""), ScheduleExpression];
  });
  expect(Object.fromEntries(rules)).toEqual({
    WatchNotifications: "rate(1 hour)",
    RefreshAndroidStorePurchases: "rate(1 minute)",
    RefreshIosStorePurchases: "rate(1 minute)",
    SweepAndroidStoreRefunds: "rate(1 hour)",
    SweepIosStoreNotifications: "rate(1 hour)",
    TellChanges: "rate(1 minute)",
    DeliverMessages: "rate(1 minute)",
  });
});

test("new looks and messages wake two functions, and nothing else wakes any", () => {
  const wakes = ofType("AWS::Lambda::EventSourceMapping", production).map(([, { Properties }]) => [
    /"(\w+)Function/.exec(JSON.stringify(Properties.FunctionName))?.[1],
    Properties.FilterCriteria.Filters.map(({ Pattern }: Json) => JSON.parse(Pattern)),
  ]);
  expect(wakes).toHaveLength(2);
  const inserted = (Keys: object) => [{ eventName: ["INSERT"], dynamodb: { Keys } }];
  expect(Object.fromEntries(wakes)).toEqual({
    TellChanges: inserted({ pk: { S: [{ suffix: "#CHANGED" }] }, sk: { S: [{ prefix: "2" }] } }),
    DeliverMessages: inserted({
      pk: { S: [{ prefix: "APPLICATION" }] },
      sk: { S: [{ prefix: "ACCOUNT#" }, { prefix: "REQUEST#" }, { prefix: "FORWARD#" }] },
    }),
  });
});
