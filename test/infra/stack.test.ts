import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../lib/contract/errors.ts";
import { DIMENSIONS, METRICS } from "../../lib/contract/metrics.ts";
import { TABLE } from "../../lib/table/dynamodb/key.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type OtherFunction } from "../../infra/other-functions.ts";
import { wordsOf } from "../../tools/words.ts";
import { synthesizeForTest } from "../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";

/** A template is any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

interface Resource {
  readonly Type: string;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly Properties: Json;
}

type Resources = Readonly<Record<string, Resource>>;

interface Synthesis {
  readonly folder: string;
  /** The resources of both stacks. */
  readonly resources: Resources;
  readonly data: Resources;
  readonly outputs: Readonly<Record<string, { readonly Value: unknown }>>;
  readonly manifest: Json;
}

const { version: VERSION } = JSON.parse(readFileSync("package.json", "utf8"));
const CHECKED_APP = fileURLToPath(new URL("checked-app.ts", import.meta.url));
const folders: string[] = [];

const read = (folder: string, serviceName: string): Synthesis => {
  const json = (file: string): Json => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const service = json(`${serviceName}-service.template.json`);
  const { Resources: data } = json(`${serviceName}-data.template.json`);
  return {
    folder,
    data,
    resources: { ...data, ...service.Resources },
    outputs: service.Outputs,
    manifest: json("manifest.json"),
  };
};

/**
 * Synthesizes applications with these parameters under all checks, in a process without this one's environment: no
 * credentials, no region, no home. The last one has a stack with faults.
 */
const synthesizeChecked = async (
  contexts: readonly Readonly<Record<string, string>>[],
): Promise<string[]> => {
  const apps = [...contexts, {}].map((context, index) => ({
    folder: mkdtempSync(join(tmpdir(), "stack-")),
    context,
    withFaults: index === contexts.length,
  }));
  folders.push(...apps.map(({ folder }) => folder));
  await promisify(execFile)(process.execPath, [CHECKED_APP, JSON.stringify(apps)], {
    env: { TZ: "Asia/Tokyo", USER: "somebody" },
  });
  return apps.map(({ folder }) => folder);
};

/** Everything that is off in production, and vice versa. */
const DEVELOPMENT = {
  stage: "development",
  secretPrefix: "trails/",
  domainName: "api.example.com",
  certificateArn: "arn:aws:acm:us-east-1:123456789012:certificate/0198c0de",
  hostedZoneId: "Z0123456789",
  monthlyBudget: "50",
  version: "4f2a91c",
  tableKeyArn: "arn:aws:kms:us-east-1:123456789012:key/of-the-table",
  secretsKeyArn: "arn:aws:kms:us-east-1:123456789012:key/0198c0de-0000-4000-8000-0000000000a5",
  managesLogRole: "false",
  invocationReports: "true",
  "readAccountEntitlements.reservedConcurrency": "20",
  "readAccountEntitlements.provisionedConcurrency": "2",
  "linkIosStoreCustomer.memory": "1769",
  "synchronizeIosStorePurchases.rate": "33",
};

let first: Synthesis;
let second: Synthesis;
let development: Synthesis;
/** A stage whose callers are looked at. */
let guarded: Synthesis;
/** Reports on a stack with faults. */
let faults: Json;

const GUARDED = {
  stage: "guarded",
  alarmEmail: "operator@example.com",
  dashboard: "true",
  requestsPerAddress: "none",
  synchronizesPerAddress: "none",
  iosNotificationsFromAppleOnly: "true",
  blockedAddresses: "203.0.113.0/24, 198.51.100.7 2001:db8::/32",
  addressLimitLogs: "true",
  accessLogAddresses: "true",
};

beforeAll(async () => {
  const [unchecked, [production = "", ofDevelopment = "", ofGuarded = "", faulty = ""]] = await Promise.all([
    synthesizeForTest(FUNCTIONS_APP),
    synthesizeChecked([{}, DEVELOPMENT, GUARDED]),
  ]);
  first = read(unchecked.folder, "customer-entitlements");
  second = read(production, "customer-entitlements");
  development = read(ofDevelopment, "customer-entitlements-development");
  guarded = read(ofGuarded, "customer-entitlements-guarded");
  faults = reportsOf(faulty);
}, 180_000);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const ofType = (type: string, { resources } = first): [id: string, Resource][] =>
  Object.entries(resources).filter(([, { Type }]) => Type === type);

const only = (type: string, synthesis = first): Resource => {
  const [found, ...others] = ofType(type, synthesis);
  if (!found || others.length > 0) throw new Error(`There is not one ${type}.`);
  return found[1];
};

/** What the checks have found in an assembly. */
const reportsOf = (folder: string): Json =>
  JSON.parse(readFileSync(join(folder, "validation-report.json"), "utf8")).pluginReports;

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

const constructOf = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** The function whose logical id starts with this name. */
const functionOf = (name: string, { resources } = first): Resource => {
  const found = ofType("AWS::Lambda::Function", { ...first, resources }).find(([id]) => id.startsWith(name));
  if (!found) throw new Error(`There is no function ${name}.`);
  return found[1];
};

/** Data of every function, by the beginning of its logical id. */
const DATA: Readonly<Record<string, Pick<OtherFunction, "table" | "store">>> = Object.fromEntries(
  Object.entries({ authorizeCredential: AUTHORIZER, ...endpoints, ...SCHEDULED_FUNCTIONS }).map(
    ([name, data]) => [constructOf(name), data],
  ),
);
const FUNCTIONS = Object.keys(DATA);
const SCHEDULED: ReadonlySet<string> = new Set(Object.keys(SCHEDULED_FUNCTIONS).map(constructOf));

test("the same sources give the same assembly in any environment", () => {
  expect(listing(second.folder)).toEqual(listing(first.folder));
});

describe("the checks (cdk-nag's packs for solutions and serverless, and CloudFormation's schemas)", () => {
  test("find nothing unexplained, in production and with every option on", () => {
    for (const { folder } of [second, development, guarded]) expect(reportsOf(folder)).toEqual([]);
  });

  test("find the faults of a faulty stack", () => {
    const found = JSON.stringify(faults);
    for (const rule of ["AwsSolutions-S10", "Serverless-LambdaTracing", "F3034"])
      expect(found).toContain(rule);
  });
});

describe("two stacks", () => {
  test("the table has its own stack, and the service follows it", () => {
    expect(Object.values(first.data).map(({ Type }) => Type)).toEqual([
      "AWS::DynamoDB::GlobalTable",
      // Nobody could make it again: the secrets of all webhooks are derived from it.
      "AWS::SecretsManager::Secret",
      // The stream's name, for the service.
      "AWS::SSM::Parameter",
    ]);
    expect(ofType("AWS::DynamoDB::GlobalTable")).toHaveLength(1);
    const service = first.manifest.artifacts["customer-entitlements-service"];
    expect(service.dependencies).toContain("customer-entitlements-data");
  });

  test("neither stack exports to or imports from the other", () => {
    const templates = ["data", "service"].map((part) =>
      readFileSync(join(first.folder, `customer-entitlements-${part}.template.json`), "utf8"),
    );
    expect(templates.join("")).not.toMatch(/"Export"|Fn::ImportValue|Fn::GetStackOutput/);
  });

  /** Stacks in the order in which `cdk destroy --all` deletes them: what needs others first. */
  const destroyed = ({ manifest }: Synthesis): [name: string, isProtected: boolean][] =>
    Object.entries<Json>(manifest.artifacts)
      .filter(([, { type }]) => type === "aws:cloudformation:stack")
      .sort(([, a], [b]) => (a.dependencies?.includes(b) ? -1 : 1))
      .map(([name, { properties }]) => [name, properties.terminationProtection === true]);

  test("a destroy of production is refused at each of its stacks", () => {
    expect(destroyed(first)).toEqual([
      ["customer-entitlements-service", true],
      ["customer-entitlements-data", true],
    ]);
    expect(destroyed(development)).toEqual([
      ["customer-entitlements-development-service", false],
      ["customer-entitlements-development-data", false],
    ]);
  });

  test("table and master secret are retained once they stand: a first creation that fails leaves neither", () => {
    const [secret] = ofType("AWS::SecretsManager::Secret")[0] ?? [];
    for (const type of ["AWS::DynamoDB::GlobalTable", "AWS::SecretsManager::Secret"]) {
      const { DeletionPolicy, UpdateReplacePolicy } = only(type);
      expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(["RetainExceptOnCreate", "Retain"]);
    }
    // A protected table cannot be rolled back, so it is created after what may fail.
    expect(only("AWS::DynamoDB::GlobalTable").DependsOn).toEqual([secret]);
  });

  test("the table is retained in production and deleted in development", () => {
    const production = only("AWS::DynamoDB::GlobalTable");
    expect(production.DeletionPolicy).toBe("RetainExceptOnCreate");
    expect(production.Properties.Replicas[0]).toMatchObject({
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      ReadOnDemandThroughputSettings: { MaxReadRequestUnits: 4000 },
    });
    expect(production.Properties.WriteOnDemandThroughputSettings).toEqual({ MaxWriteRequestUnits: 4000 });
    const thrownAway = only("AWS::DynamoDB::GlobalTable", development);
    expect(thrownAway.DeletionPolicy).toBe("Delete");
    expect(thrownAway.Properties.Replicas[0]).toMatchObject({
      DeletionProtectionEnabled: false,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false },
    });
  });

  test("stages share no resource name", () => {
    const names = ({ resources }: Synthesis): string[] =>
      Object.values(resources).flatMap(({ Properties }) =>
        ["TableName", "AlarmName", "Name"].flatMap((key) =>
          typeof Properties?.[key] === "string" && Properties[key] !== "ready" ? [Properties[key]] : [],
        ),
      );
    const production = new Set(names(first));
    expect(production.size).toBeGreaterThan(9);
    expect(names(development).filter((name) => production.has(name))).toEqual([]);
  });

  test("names that are one list for all regions contain stage and region", () => {
    const inItsRegion = (name: string) => ({ "Fn::Join": ["", [`${name}-`, { Ref: "AWS::Region" }]] });
    expect(only("AWS::CloudWatch::Dashboard", guarded).Properties.DashboardName).toEqual(
      inItsRegion("customer-entitlements-guarded"),
    );
    expect(only("AWS::Budgets::Budget", development).Properties.Budget.BudgetName).toEqual(
      inItsRegion("customer-entitlements-development"),
    );
  });
});

describe("the API", () => {
  const pathOf = (id: string): string => {
    const properties = first.resources[id]?.Properties;
    return properties?.PathPart === undefined
      ? ""
      : `${pathOf(properties.ParentId.Ref ?? "")}/${properties.PathPart}`;
  };

  test("has exactly the contract's routes, with the authorizer for scopes", () => {
    const routes = ofType("AWS::ApiGateway::Method").map(([, { Properties }]) => ({
      method: Properties.HttpMethod,
      path: pathOf(Properties.ResourceId.Ref),
      authorization: Properties.AuthorizationType,
      authorizer: Properties.AuthorizerId !== undefined,
      apiKey: Properties.ApiKeyRequired ?? false,
    }));
    const byPath = (a: { path: string }, b: { path: string }): number => (a.path < b.path ? -1 : 1);
    expect(routes.sort(byPath)).toEqual(
      Object.values<Endpoint>(endpoints)
        .map(({ method, path, scope }) => ({
          method,
          path,
          authorization: scope === null ? "NONE" : "CUSTOM",
          authorizer: scope !== null,
          apiKey: false,
        }))
        .sort(byPath),
    );
  });

  test.each(Object.entries<Endpoint>(endpoints))("routes %s to its own function", (name, { path }) => {
    const [, method] = ofType("AWS::ApiGateway::Method").find(
      ([, { Properties }]) => pathOf(Properties.ResourceId.Ref) === path,
    ) ?? ["", null];
    expect(JSON.stringify(method?.Properties.Integration.Uri)).toContain(
      `"${name[0]?.toUpperCase()}${name.slice(1)}Function`,
    );
    expect(method?.Properties.Integration.Type).toBe("AWS_PROXY");
  });

  test("calls the authorizer for well-formed keys, and caches for a minute", () => {
    const { Properties } = only("AWS::ApiGateway::Authorizer");
    expect(Properties).toMatchObject({
      Type: "TOKEN",
      IdentitySource: "method.request.header.Authorization",
      IdentityValidationExpression: "^[Bb][Ee][Aa][Rr][Ee][Rr] +cek_[0-9a-f]{16}_[0-9a-f]{72}$",
      AuthorizerResultTtlInSeconds: 60,
    });
    expect(JSON.stringify(Properties.AuthorizerUri)).toContain("AuthorizeCredentialFunction");
  });

  test("is regional, compresses from 1 KB and has the one stage `live`", () => {
    expect(only("AWS::ApiGateway::RestApi").Properties).toMatchObject({
      EndpointConfiguration: { Types: ["REGIONAL"] },
      MinimumCompressionSize: 1024,
    });
    expect(only("AWS::ApiGateway::Stage").Properties.StageName).toBe("live");
  });

  test("throttles each route separately", () => {
    const throttles = ({ Properties }: Resource) =>
      Object.fromEntries(
        Properties.MethodSettings.map((setting: Json) => [
          `${setting.HttpMethod} ${setting.ResourcePath.slice(1).replaceAll("~1", "/")}`,
          [setting.ThrottlingRateLimit, setting.ThrottlingBurstLimit],
        ]),
      );
    const production = throttles(only("AWS::ApiGateway::Stage"));
    expect(Object.keys(production).sort()).toEqual(
      ["* *", ...Object.values<Endpoint>(endpoints).map(({ method, path }) => `${method} ${path}`)].sort(),
    );
    expect(production).toMatchObject({
      "* *": [10, 20],
      "GET /v1/changes": [50, 100],
      "GET /v1/customers/{applicationAccountIdentifier}/entitlements": [500, 1000],
      "POST /v1/customers/android-store/link": [50, 100],
      "POST /v1/customers/ios-store/link": [50, 100],
      "POST /v1/customers/ios-store/synchronize": [20, 3],
      "POST /v1/notifications/android-store": [10, 1],
      "POST /v1/notifications/ios-store": [10, 3],
    });
    expect(throttles(only("AWS::ApiGateway::Stage", development))).toMatchObject({
      "POST /v1/customers/ios-store/synchronize": [33, 20],
    });
  });

  test("has an access log in JSON without path, header or IP address", () => {
    const { AccessLogSetting, TracingEnabled, MethodSettings } = only("AWS::ApiGateway::Stage").Properties;
    expect(TracingEnabled).toBe(true);
    const format = JSON.parse(AccessLogSetting.Format);
    expect(format).toMatchObject({
      requestId: "$context.requestId",
      extendedRequestId: "$context.extendedRequestId",
      route: "$context.resourcePath",
    });
    expect(AccessLogSetting.Format).not.toMatch(/\$context\.(?:path|identity|customDomain|protocol)|\$input/);
    for (const setting of MethodSettings) {
      expect(setting.DataTraceEnabled).toBe(false);
      expect(setting.LoggingLevel ?? "OFF").toBe("OFF");
    }
  });

  test("traces the stage's percentage of requests", () => {
    const ruleOf = (synthesis: Synthesis): Json =>
      only("AWS::XRay::SamplingRule", synthesis).Properties.SamplingRule;
    expect(ruleOf(first)).toMatchObject({
      FixedRate: 0.05,
      ReservoirSize: 0,
      ServiceName: "customer-entitlements/live",
      ServiceType: "AWS::ApiGateway::Stage",
    });
    expect(ruleOf(development)).toMatchObject({
      FixedRate: 1,
      ServiceName: "customer-entitlements-development/live",
    });
  });

  const sentTo = ({ path }: Endpoint) => ({
    ByteMatchStatement: {
      FieldToMatch: { UriPath: {} },
      PositionalConstraint: "CONTAINS",
      SearchString: path,
      TextTransformations: [
        { Priority: 0, Type: "URL_DECODE" },
        { Priority: 1, Type: "NORMALIZE_PATH" },
      ],
    },
  });
  const applesAddresses = (synthesis = first) => {
    const [id, set] =
      ofType("AWS::WAFv2::IPSet", synthesis).find(([, { Properties }]) =>
        Properties.Name.endsWith("-apple"),
      ) ?? [];
    expect(set?.Properties).toMatchObject({
      Addresses: ["17.0.0.0/8"],
      IPAddressVersion: "IPV4",
      Scope: "REGIONAL",
    });
    return id ?? "";
  };
  const notifiedByOthers = (addresses: string) => ({
    AndStatement: {
      Statements: [
        sentTo(endpoints.receiveIosStoreNotification),
        {
          NotStatement: {
            Statement: { IPSetReferenceStatement: { Arn: { "Fn::GetAtt": [addresses, "Arn"] } } },
          },
        },
      ],
    },
  });

  test("limits each address, and more without a credential, save Apple's notifications", () => {
    const { Properties } = only("AWS::WAFv2::WebACL");
    const [rule, apples, all, ...others] = Properties.Rules;
    expect(others).toEqual([]);
    expect(apples.Name).toBe("ios-notifications-from-apple-only");
    expect(all.Action).toEqual(rule.Action);
    const [perAddress, ofAll] = [rule, all].map(({ Statement }) => Statement.RateBasedStatement);
    expect(perAddress).toEqual({
      AggregateKeyType: "IP",
      EvaluationWindowSec: 300,
      Limit: 300,
      ScopeDownStatement: {
        OrStatement: {
          Statements: [
            sentTo(endpoints.synchronizeIosStorePurchases),
            sentTo(endpoints.receiveAndroidStoreNotification),
            notifiedByOthers(applesAddresses()),
          ],
        },
      },
    });
    expect(ofAll).toMatchObject({ AggregateKeyType: "IP", EvaluationWindowSec: 300, Limit: 10_000 });
    const { CustomResponseBodyKey, ResponseCode, ResponseHeaders } = rule.Action.Block.CustomResponse;
    expect([ResponseCode, ResponseHeaders]).toEqual([429, [{ Name: "Retry-After", Value: "300" }]]);
    const body = Properties.CustomResponseBodies[CustomResponseBodyKey];
    expect(body.ContentType).toBe("APPLICATION_JSON");
    expect(JSON.parse(body.Content)).toEqual({
      error: "TOO_MANY_REQUESTS",
      message: ERRORS.TOO_MANY_REQUESTS.message,
    });
    for (const { SampledRequestsEnabled } of [Properties, ...Properties.Rules].map(
      ({ VisibilityConfig }) => VisibilityConfig,
    ))
      expect(SampledRequestsEnabled).toBe(false);
    expect(JSON.stringify(only("AWS::WAFv2::WebACLAssociation").Properties.ResourceArn)).toContain(
      "/restapis/",
    );
  });

  test("can take iOS-store notifications from Apple's addresses alone, without a limit", () => {
    const { Rules: all, CustomResponseBodies } = only("AWS::WAFv2::WebACL", guarded).Properties;
    const Rules = all.filter(({ Name }: Json) => Name !== "blocked-addresses");
    const synthesis = guarded;
    expect(Rules).toHaveLength(1);
    expect(Rules[0].Statement).toEqual(notifiedByOthers(applesAddresses(synthesis)));
    const { CustomResponseBodyKey, ResponseCode } = Rules[0].Action.Block.CustomResponse;
    expect([ResponseCode, JSON.parse(CustomResponseBodies[CustomResponseBodyKey].Content).error]).toEqual([
      404,
      "ROUTE_NOT_FOUND",
    ]);
    expect(ofType("AWS::WAFv2::WebACL", development)).toEqual([]);
  });

  test("refuses blocked addresses on every route, before anything else", () => {
    const [rule] = only("AWS::WAFv2::WebACL", guarded).Properties.Rules;
    expect([rule.Name, rule.Priority]).toEqual(["blocked-addresses", 0]);
    const sets = ofType("AWS::WAFv2::IPSet", guarded).filter(([, { Properties }]) =>
      Properties.Name.includes("blocked"),
    );
    expect(sets.map(([, { Properties }]) => [Properties.IPAddressVersion, Properties.Addresses])).toEqual([
      ["IPV4", ["198.51.100.7/32", "203.0.113.0/24"]],
      ["IPV6", ["2001:db8::/32"]],
    ]);
    expect(rule.Statement.OrStatement.Statements).toEqual(
      sets.map(([id]) => ({ IPSetReferenceStatement: { Arn: { "Fn::GetAtt": [id, "Arn"] } } })),
    );
    expect(rule.Action.Block.CustomResponse.ResponseCode).toBe(429);
  });

  test("can log refused requests, without path, query and credentials", () => {
    expect(ofType("AWS::WAFv2::LoggingConfiguration")).toEqual([]);
    const { LoggingFilter, RedactedFields, LogDestinationConfigs } = only(
      "AWS::WAFv2::LoggingConfiguration",
      guarded,
    ).Properties;
    expect(RedactedFields).toEqual([
      { UriPath: {} },
      { QueryString: {} },
      { SingleHeader: { Name: "authorization" } },
      { SingleHeader: { Name: "cookie" } },
    ]);
    expect(LoggingFilter).toEqual({
      DefaultBehavior: "DROP",
      Filters: [
        {
          Behavior: "KEEP",
          Requirement: "MEETS_ANY",
          Conditions: [{ ActionCondition: { Action: "BLOCK" } }],
        },
      ],
    });
    const [group = ""] =
      ofType("AWS::Logs::LogGroup", guarded).find(([, { Properties }]) =>
        String(Properties.LogGroupName).startsWith("aws-waf-logs-"),
      ) ?? [];
    expect(JSON.stringify(LogDestinationConfigs)).toContain(group);
  });

  test("can have the caller's address in the access log", () => {
    const formatOf = (synthesis: Synthesis): Json =>
      JSON.parse(only("AWS::ApiGateway::Stage", synthesis).Properties.AccessLogSetting.Format);
    expect(formatOf(guarded)).toEqual({ ...formatOf(first), address: "$context.identity.sourceIp" });
  });

  test("takes TLS 1.2 at least, with and without a domain", () => {
    expect(only("AWS::ApiGateway::RestApi").Properties).toMatchObject({
      SecurityPolicy: "SecurityPolicy_TLS13_1_2_PQ_2025_09",
      EndpointAccessMode: "BASIC",
    });
    expect(only("AWS::ApiGateway::RestApi", development).Properties.SecurityPolicy).toBeUndefined();
    expect(only("AWS::ApiGateway::DomainName", development).Properties.SecurityPolicy).toBe("TLS_1_2");
  });

  test("is reachable only through its own domain when it has one", () => {
    expect(only("AWS::ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint).toBe(false);
    expect(only("AWS::ApiGateway::RestApi", development).Properties.DisableExecuteApiEndpoint).toBe(true);
    expect(only("AWS::ApiGateway::DomainName", development).Properties).toMatchObject({
      DomainName: "api.example.com",
      SecurityPolicy: "TLS_1_2",
    });
    expect(only("AWS::Route53::RecordSet", development).Properties.HostedZoneId).toBe("Z0123456789");
    expect(development.outputs["Address"]?.Value).toBe("https://api.example.com");
    expect(ofType("AWS::ApiGateway::DomainName")).toEqual([]);
  });

  test("retains the log role that all APIs share, or leaves it alone", () => {
    expect(only("AWS::ApiGateway::Account").DeletionPolicy).toBe("Retain");
    expect(ofType("AWS::ApiGateway::Account", development)).toEqual([]);
  });

  test("is deployed after every route, authorizer and gateway response is in place", () => {
    const deployment = only("AWS::ApiGateway::Deployment");
    const parts = ["Method", "Resource", "GatewayResponse"].flatMap((part) =>
      ofType(`AWS::ApiGateway::${part}`).map(([id]) => id),
    );
    expect(deployment.DependsOn).toEqual(expect.arrayContaining(parts));
  });
});

describe("gateway responses", () => {
  const EXPECTED: readonly (readonly [type: string, status: number | undefined, code: ErrorCode])[] = [
    ["UNAUTHORIZED", 401, "INVALID_CREDENTIAL"],
    ["ACCESS_DENIED", 403, "INSUFFICIENT_SCOPE"],
    ["MISSING_AUTHENTICATION_TOKEN", 404, "ROUTE_NOT_FOUND"],
    ["RESOURCE_NOT_FOUND", 404, "ROUTE_NOT_FOUND"],
    ["INVALID_SIGNATURE", 404, "ROUTE_NOT_FOUND"],
    ["EXPIRED_TOKEN", 404, "ROUTE_NOT_FOUND"],
    ["INVALID_API_KEY", 404, "ROUTE_NOT_FOUND"],
    ["BAD_REQUEST_BODY", 400, "INVALID_REQUEST"],
    ["BAD_REQUEST_PARAMETERS", 400, "INVALID_REQUEST"],
    ["REQUEST_TOO_LARGE", 413, "REQUEST_TOO_LARGE"],
    ["UNSUPPORTED_MEDIA_TYPE", 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["THROTTLED", 429, "TOO_MANY_REQUESTS"],
    ["QUOTA_EXCEEDED", 429, "TOO_MANY_REQUESTS"],
    ["AUTHORIZER_FAILURE", 500, "INTERNAL_ERROR"],
    ["AUTHORIZER_CONFIGURATION_ERROR", 500, "INTERNAL_ERROR"],
    ["API_CONFIGURATION_ERROR", 500, "INTERNAL_ERROR"],
    ["INTEGRATION_FAILURE", 500, "INTERNAL_ERROR"],
    ["INTEGRATION_TIMEOUT", 504, "INTERNAL_ERROR"],
    ["DEFAULT_4XX", undefined, "INVALID_REQUEST"],
    ["DEFAULT_5XX", undefined, "INTERNAL_ERROR"],
  ];

  const MESSAGES: Readonly<Record<string, string>> = {
    ACCESS_DENIED:
      "The API key does not have the scope that this endpoint requires. The key lacks: $context.authorizer.missingScopes.",
  };

  test.each(EXPECTED)("%s: status %s, %s", (type, status, code) => {
    const [, response] = ofType("AWS::ApiGateway::GatewayResponse").find(
      ([, { Properties }]) => Properties.ResponseType === type,
    ) ?? ["", null];
    expect(response?.Properties.StatusCode).toBe(status === undefined ? undefined : String(status));
    expect(Object.keys(response?.Properties.ResponseTemplates)).toEqual(["application/json"]);
    expect(JSON.parse(response?.Properties.ResponseTemplates["application/json"])).toEqual({
      error: code,
      message: MESSAGES[type] ?? ERRORS[code].message,
    });
  });

  test.each(["THROTTLED", "QUOTA_EXCEEDED"])("%s tells when to try again", (type) => {
    const [, response] = ofType("AWS::ApiGateway::GatewayResponse").find(
      ([, { Properties }]) => Properties.ResponseType === type,
    ) ?? ["", null];
    expect(response?.Properties.ResponseParameters).toEqual({ "gatewayresponse.header.Retry-After": "'5'" });
  });

  test("there are no other responses", () => {
    expect(ofType("AWS::ApiGateway::GatewayResponse")).toHaveLength(EXPECTED.length);
  });
});

describe("functions", () => {
  test("are of one runtime and architecture, with JSON logs", () => {
    const functions = ofType("AWS::Lambda::Function");
    expect(functions).toHaveLength(FUNCTIONS.length);
    for (const [, { Properties }] of functions)
      expect(Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
        LoggingConfig: { LogFormat: "JSON", ApplicationLogLevel: "INFO", SystemLogLevel: "WARN" },
      });
  });

  test.each(FUNCTIONS)(
    "%s is traced where the gateway samples its request, and no run of a schedule is",
    (name) => {
      expect(functionOf(name).Properties.TracingConfig.Mode).toBe(
        SCHEDULED.has(name) ? "PassThrough" : "Active",
      );
    },
  );

  test("can have Lambda's report of each invocation", () => {
    for (const [, { Properties }] of ofType("AWS::Lambda::Function", development))
      expect(Properties.LoggingConfig.SystemLogLevel).toBe("INFO");
  });

  test("have log groups that expire and are deleted with the stack", () => {
    for (const [synthesis, days] of [
      [first, 30],
      [development, 7],
    ] as const) {
      const groups = ofType("AWS::Logs::LogGroup", synthesis);
      expect(groups).toHaveLength(FUNCTIONS.length + 1);
      for (const [, group] of groups) {
        expect(group.Properties.RetentionInDays).toBe(days);
        expect(group.DeletionPolicy).toBe("Delete");
      }
    }
  });

  const MASTER = { MASTER_SECRET: "customer-entitlements-master" };
  /** Variables of a function beside the table's name and the service's name. */
  const MORE: Readonly<Record<string, object>> = {
    TellChanges: MASTER,
    DeliverMessages: { ...MASTER, UV_THREADPOOL_SIZE: "64" },
  };
  test.each(FUNCTIONS)("%s has the environment variables that it needs, and no more", (name) => {
    const [[, table] = ["", null]] = ofType("AWS::DynamoDB::GlobalTable");
    expect(functionOf(name).Properties.Environment.Variables).toEqual({
      TABLE_NAME: table?.Properties.TableName,
      POWERTOOLS_SERVICE_NAME: "customer-entitlements",
      ...MORE[name],
    });
  });

  test.each(FUNCTIONS.filter((name) => !SCHEDULED.has(name)))(
    "%s times out before API Gateway does",
    (name) => {
      expect(functionOf(name).Properties.Timeout).toBeLessThan(29);
    },
  );

  test("have the account's concurrency unless a parameter sets it", () => {
    const reserved = ofType("AWS::Lambda::Function").map(
      ([, { Properties }]) => Properties.ReservedConcurrentExecutions,
    );
    expect(reserved).toEqual(FUNCTIONS.map(() => undefined));
    expect(ofType("AWS::Lambda::Alias")).toEqual([]);
    expect(functionOf("ReadAccountEntitlements", development).Properties.ReservedConcurrentExecutions).toBe(
      20,
    );
    expect(functionOf("LinkIosStoreCustomer", development).Properties.MemorySize).toBe(1769);
    const [[alias = ""] = []] = ofType("AWS::Lambda::Alias", development);
    expect(development.resources[alias]?.Properties.ProvisionedConcurrencyConfig).toEqual({
      ProvisionedConcurrentExecutions: 2,
    });
    const reader = ofType("AWS::ApiGateway::Method", development).find(
      ([, { Properties }]) => Properties.HttpMethod === "GET",
    );
    expect(JSON.stringify(reader?.[1].Properties.Integration.Uri)).toContain(alias);
  });

  test.each([
    ["silent applications are looked for every hour", "rate(1 hour)", "WatchNotificationsFunction"],
    ["Google is asked about due purchases every minute", "rate(1 minute)", "RefreshAndroidStorePurchases"],
    ["Apple is asked about due purchases every minute", "rate(1 minute)", "RefreshIosStorePurchases"],
    ["Google's lists of refunds are read every hour", "rate(1 hour)", "SweepAndroidStoreRefunds"],
    ["accounts that have changed are told every minute", "rate(1 minute)", "TellChanges"],
    ["messages are delivered every minute", "rate(1 minute)", "DeliverMessages"],
    ["Apple's failed notifications are read every hour", "rate(1 hour)", "SweepIosStoreNotifications"],
  ])("%s", (_, rate, name) => {
    const rules = ofType("AWS::Events::Rule").map(([, { Properties }]) => Properties);
    expect(rules).toHaveLength(SCHEDULED.size);
    const rule = rules.find(({ Targets }) => JSON.stringify(Targets).includes(name));
    expect([rule?.ScheduleExpression, rule?.State]).toEqual([rate, "ENABLED"]);
  });

  test("are run once: nothing retries, and a minute's wait drops a run", () => {
    const targets = ofType("AWS::Events::Rule").flatMap(([, { Properties }]): string[] =>
      Properties.Targets.map(({ Arn }: Json) => Arn["Fn::GetAtt"][0]),
    );
    const configured = ofType("AWS::Lambda::EventInvokeConfig").map(([, { Properties }]) => {
      const { FunctionName, MaximumRetryAttempts, MaximumEventAgeInSeconds } = Properties;
      return [FunctionName.Ref, MaximumRetryAttempts, MaximumEventAgeInSeconds];
    });
    expect(targets).toHaveLength(SCHEDULED.size);
    for (const [, { Properties }] of ofType("AWS::Events::Rule"))
      expect(Properties.Targets).toEqual([
        expect.objectContaining({
          RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 },
        }),
      ]);
    expect(configured.sort()).toEqual(targets.sort().map((id) => [id, 0, 60]));
  });

  test("have one file of code each, bundled without Docker", () => {
    for (const [, { Properties }] of ofType("AWS::Lambda::Function")) {
      const code = join(first.folder, `asset.${Properties.Code.S3Key.replace(".zip", "")}`);
      expect(readdirSync(code)).toEqual(["index.cjs"]);
    }
  });
});

describe("roles", () => {
  const READS = [
    "dynamodb:BatchGetItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:GetItem",
    "dynamodb:Query",
  ];
  const CHANGES = ["dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"];

  interface Statement {
    readonly Effect: string;
    readonly Action: string | readonly string[];
    readonly Resource: unknown;
    readonly Condition?: unknown;
  }

  /** The permissions of a function's role, except for its log, its traces and keys. */
  const statementsOf = (name: string, { resources } = first): Statement[] => {
    const role = functionOf(name, { ...first, resources }).Properties.Role["Fn::GetAtt"][0];
    expect(resources[role]?.Properties.ManagedPolicyArns).toBeUndefined();
    return Object.values(resources)
      .filter(({ Type, Properties }) => Type === "AWS::IAM::Policy" && Properties.Roles[0].Ref === role)
      .flatMap(({ Properties }): Statement[] => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => !/logs:|xray:|kms:/.test(JSON.stringify(Action)));
  };

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
        "dynamodb:LeadingKeys": partitions.map((partition) =>
          partition.replace("<a>", `APPLICATION#${"?".repeat(36)}`),
        ),
      },
      Null: { "dynamodb:LeadingKeys": "false" },
    },
  });

  const FACTS = ["<a>#ACCOUNT#*", "<a>#CUSTOMER#*", "<a>#PURCHASE#*", "<a>#ASK#*", "<a>#CHANGED"];
  const IDENTITY = "<a>#IDENTITY#*";
  const DELIVERY = "<a>#DESTINATION#*";
  const FORWARD = "<a>#FORWARD#*";
  const reading = (reads: readonly string[], changes: readonly string[]): Statement[] => [
    onItems([...reads, ...changes], READS),
    onItems(changes, CHANGES),
  ];

  /** What each function may do to the table's items. */
  const ACCESS: Readonly<Record<string, readonly Statement[]>> = {
    AuthorizeCredential: [onItems(["CREDENTIAL#*"], ["dynamodb:GetItem"])],
    ReadAccountEntitlements: [onItems(["<a>", "<a>#ACCOUNT#*"], ["dynamodb:Query"])],
    ReadChanges: [onItems(["<a>#CHANGES*"], ["dynamodb:Query"])],
    WatchNotifications: [onItems(["<a>", "NOTIFICATIONS"], ["dynamodb:Query"])],
    LinkIosStoreCustomer: reading(["<a>"], [...FACTS, IDENTITY, "<a>#TRANSFERS"]),
    LinkAndroidStoreCustomer: reading(["<a>"], [...FACTS, "<a>#TRANSFERS"]),
    SynchronizeIosStorePurchases: reading(["<a>", "STORE#*"], [...FACTS, IDENTITY]),
    ReceiveIosStoreNotification: reading(
      ["<a>", "STORE#*"],
      [...FACTS, IDENTITY, "NOTIFICATIONS", DELIVERY, FORWARD],
    ),
    ReceiveAndroidStoreNotification: reading(["<a>", "STORE#*"], [...FACTS, "NOTIFICATIONS", DELIVERY]),
    RefreshIosStorePurchases: reading(["<a>", "APPLICATIONS"], [...FACTS, IDENTITY]),
    RefreshAndroidStorePurchases: reading(["<a>", "APPLICATIONS"], FACTS),
    SweepIosStoreNotifications: reading(["<a>", "STORE#*", "APPLICATIONS"], [...FACTS, IDENTITY, DELIVERY]),
    SweepAndroidStoreRefunds: reading(["<a>", "APPLICATIONS"], FACTS),
    TellChanges: reading(
      ["<a>", "<a>#ACCOUNT#*", "APPLICATIONS"],
      ["<a>#CHANGED", "<a>#TOLD#*", "<a>#CHANGES*", DELIVERY],
    ),
    DeliverMessages: reading(["<a>", "<a>#CHANGES*", "APPLICATIONS"], [DELIVERY, FORWARD]),
  };

  const secrets = (prefix: string): Statement => ({
    Effect: "Allow",
    Action: "secretsmanager:GetSecretValue",
    Resource: arn("secretsmanager", `secret:${prefix}*`),
  });

  const master: Statement = {
    Effect: "Allow",
    Action: "secretsmanager:GetSecretValue",
    Resource: arn("secretsmanager", "secret:customer-entitlements-master-??????"),
  };
  const stream: Statement = {
    Effect: "Allow",
    Action: [
      "dynamodb:DescribeStream",
      "dynamodb:GetRecords",
      "dynamodb:GetShardIterator",
      "dynamodb:ListStreams",
    ],
    Resource: { Ref: expect.stringContaining("tablestream") },
  };

  /** Functions that ask a store with an application's credential. */
  const READING_SECRETS: ReadonlySet<string> = new Set([
    "LinkAndroidStoreCustomer",
    "ReceiveAndroidStoreNotification",
    "RefreshIosStorePurchases",
    "RefreshAndroidStorePurchases",
    "SweepIosStoreNotifications",
    "SweepAndroidStoreRefunds",
  ]);

  test.each(FUNCTIONS)("%s may do what it does to items, and read its secrets", (name) => {
    const isTelling = name === "TellChanges" || name === "DeliverMessages";
    const readsSecrets = READING_SECRETS.has(name);
    expect(statementsOf(name)).toEqual([
      ...(ACCESS[name] ?? []),
      ...(isTelling ? [master, stream] : []),
      ...(readsSecrets ? [secrets("customer-entitlements/")] : []),
    ]);
    const ofDevelopment = JSON.stringify(statementsOf(name, development));
    expect(ofDevelopment.includes("secret:trails/*")).toBe(readsSecrets);
  });

  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  test("the policies of a role are within IAM's 10,240 characters", () => {
    const lengths = FUNCTIONS.map((name) => JSON.stringify(statementsOf(name)).length);
    expect(Math.max(...lengths)).toBeLessThan(5_000);
  });

  test("no function may change an application, its credentials or the audit", () => {
    const written = FUNCTIONS.flatMap((name) => statementsOf(name))
      .filter(({ Action }) => JSON.stringify(Action).includes("PutItem"))
      .map(({ Condition }) => JSON.stringify(Condition));
    expect(written.length).toBeGreaterThan(10);
    for (const condition of written) {
      expect(condition).toContain("LeadingKeys");
      expect(condition).not.toMatch(/CREDENTIAL|AUDIT|"APPLICATION#\?+"|"APPLICATIONS"|"STORE#|"\*"/);
    }
  });

  test("no other function may read the stream or the master secret", () => {
    const others = FUNCTIONS.filter((name) => name !== "TellChanges" && name !== "DeliverMessages");
    expect(JSON.stringify(others.map((name) => statementsOf(name)))).not.toMatch(/GetRecords|-master-/);
    expect(ofType("AWS::Lambda::EventSourceMapping")).toHaveLength(2);
  });

  test.each([
    ["looks", "TellChanges", { pk: { S: [{ suffix: "#CHANGED" }] }, sk: { S: [{ prefix: "2" }] } }],
    [
      "messages",
      "DeliverMessages",
      {
        pk: { S: [{ prefix: "APPLICATION" }] },
        sk: { S: [{ prefix: "ACCOUNT#" }, { prefix: "REQUEST#" }, { prefix: "FORWARD#" }] },
      },
    ],
  ])("new %s wake the function %s, and nothing else does", (_, name, Keys) => {
    const wakes = ofType("AWS::Lambda::EventSourceMapping").filter(([, { Properties }]) =>
      JSON.stringify(Properties.FunctionName).includes(name),
    );
    const filters = wakes.flatMap(([, { Properties }]) => Properties.FilterCriteria.Filters);
    expect(filters.map(({ Pattern }) => JSON.parse(Pattern))).toEqual([
      { eventName: ["INSERT"], dynamodb: { Keys } },
    ]);
  });

  test("roles may use a customer's keys through their services alone", () => {
    const keysOf = (name: string): Json[] => {
      const role = functionOf(name, development).Properties.Role["Fn::GetAtt"][0];
      return Object.values(development.resources)
        .filter(({ Type, Properties }) => Type === "AWS::IAM::Policy" && Properties.Roles[0].Ref === role)
        .flatMap(({ Properties }): Json[] => Properties.PolicyDocument.Statement)
        .filter(({ Action }) => JSON.stringify(Action).includes("kms:"))
        .map(({ Action, Resource, Condition }) => [
          Action.includes("kms:GenerateDataKey") ? "writes" : "reads",
          Resource.split("/")[1],
          JSON.stringify(Condition.StringEquals["kms:ViaService"]).includes(
            Resource === DEVELOPMENT.secretsKeyArn ? "secretsmanager." : "dynamodb.",
          ),
        ]);
    };
    expect(keysOf("ReadAccountEntitlements")).toEqual([["reads", "of-the-table", true]]);
    expect(keysOf("AuthorizeCredential")).toEqual([["reads", "of-the-table", true]]);
    expect(keysOf("LinkIosStoreCustomer")).toEqual([["writes", "of-the-table", true]]);
    expect(keysOf("LinkAndroidStoreCustomer")).toEqual([
      ["writes", "of-the-table", true],
      ["reads", "0198c0de-0000-4000-8000-0000000000a5", true],
    ]);
    expect(only("AWS::DynamoDB::GlobalTable", development).Properties).toMatchObject({
      SSESpecification: { SSEEnabled: true, SSEType: "KMS" },
      Replicas: [expect.objectContaining({ SSESpecification: { KMSMasterKeyId: DEVELOPMENT.tableKeyArn } })],
    });
    expect(JSON.stringify(first.resources)).not.toContain("kms:");
    expect(only("AWS::DynamoDB::GlobalTable").Properties.SSESpecification).toBeUndefined();
  });

  describe("policies of an operator", () => {
    const actionsOf = (id: string): string[] =>
      ofType("AWS::IAM::ManagedPolicy")
        .filter(([name]) => name.startsWith(id))
        .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
        .flatMap(({ Action }: Json): string[] => [Action].flat());
    /** Actions that the operator's requests take. */
    const NEEDED: Readonly<Record<string, readonly string[]>> = {
      BatchGetCommand: ["dynamodb:BatchGetItem"],
      BatchWriteCommand: ["dynamodb:BatchWriteItem"],
      DeleteCommand: ["dynamodb:DeleteItem"],
      DescribeTableCommand: ["dynamodb:DescribeTable"],
      // IAM asks for no permission.
      GetCallerIdentityCommand: [],
      GetCommand: ["dynamodb:GetItem"],
      GetSecretValueCommand: ["secretsmanager:GetSecretValue"],
      PutCommand: ["dynamodb:PutItem"],
      QueryCommand: ["dynamodb:Query"],
      ScanCommand: ["dynamodb:Scan"],
      TransactGetCommand: ["dynamodb:GetItem"],
      TransactWriteCommand: [
        "dynamodb:ConditionCheckItem",
        "dynamodb:DeleteItem",
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
      ],
      UpdateCommand: ["dynamodb:UpdateItem"],
    };
    const commands = [
      ...new Set(
        ["lib/table", "operator"]
          .flatMap((folder) =>
            readdirSync(folder, { encoding: "utf8", recursive: true })
              .filter((file) => file.endsWith(".ts"))
              .map((file) => readFileSync(join(folder, file), "utf8")),
          )
          .flatMap((source) => [...source.matchAll(/new (\w+Command)\(/g)].map(([, name = ""]) => name)),
      ),
    ];

    test("allow every request of the operator; reading changes nothing", () => {
      const [reads, changes] = [actionsOf("OperatorReads"), actionsOf("OperatorChanges")];
      for (const command of commands) {
        expect(NEEDED).toHaveProperty(command);
        expect(changes).toEqual(expect.arrayContaining([...(NEEDED[command] ?? [])]));
      }
      expect(reads.filter((action) => !/:(?:BatchGet|Get|Query|Scan|Describe|List)/.test(action))).toEqual(
        [],
      );
      expect(changes).toEqual(expect.arrayContaining(reads));
      expect(changes.filter((action) => action.includes("*"))).toEqual([]);
    });
  });

  test("the stream carries keys alone", () => {
    expect(only("AWS::DynamoDB::GlobalTable").Properties.StreamSpecification).toEqual({
      StreamViewType: "KEYS_ONLY",
    });
  });

  test("no role has the index, all actions, or all resources except X-Ray", () => {
    for (const [, { Properties }] of ofType("AWS::IAM::Policy")) {
      expect(JSON.stringify(Properties)).not.toContain("/index/");
      const statements: Statement[] = Properties.PolicyDocument.Statement;
      expect(JSON.stringify(statements.map(({ Action }) => Action))).not.toContain("*");
      const forEverything = statements.filter(({ Resource }) => Resource === "*");
      expect(forEverything.map(({ Action }) => Action)).toEqual([
        ["xray:PutTelemetryRecords", "xray:PutTraceSegments"],
      ]);
    }
  });
});

test("the table is on demand and has the code's keys", () => {
  const { Properties } = only("AWS::DynamoDB::GlobalTable");
  expect(Properties).toMatchObject({
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
  });
});

test("the table's index has a part of the table's caps", () => {
  const { GlobalSecondaryIndexes, Replicas } = only("AWS::DynamoDB::GlobalTable").Properties;
  expect(GlobalSecondaryIndexes[0].WriteOnDemandThroughputSettings).toEqual({ MaxWriteRequestUnits: 2000 });
  expect(Replicas[0].GlobalSecondaryIndexes[0]).toMatchObject({
    IndexName: TABLE.ownerIndex,
    ReadOnDemandThroughputSettings: { MaxReadRequestUnits: 400 },
  });
});

test("a parameter's budget notifies the alarms' topic, and may", () => {
  expect(ofType("AWS::Budgets::Budget")).toEqual([]);
  const { Budget, NotificationsWithSubscribers } = only("AWS::Budgets::Budget", development).Properties;
  expect(Budget).toMatchObject({ TimeUnit: "MONTHLY", BudgetLimit: { Amount: 50, Unit: "USD" } });
  const topic = { Ref: ofType("AWS::SNS::Topic", development)[0]?.[0] };
  expect(
    NotificationsWithSubscribers.map(({ Notification, Subscribers }: Json) => [
      Notification.NotificationType,
      Notification.Threshold,
      Subscribers,
    ]),
  ).toEqual([
    ["ACTUAL", 80, [{ SubscriptionType: "SNS", Address: topic }]],
    ["ACTUAL", 100, [{ SubscriptionType: "SNS", Address: topic }]],
    ["FORECASTED", 100, [{ SubscriptionType: "SNS", Address: topic }]],
  ]);
  const statements = (synthesis: Synthesis): Json[] =>
    only("AWS::SNS::TopicPolicy", synthesis).Properties.PolicyDocument.Statement;
  const allowed = { Principal: { Service: "budgets.amazonaws.com" }, Action: "sns:Publish", Resource: topic };
  expect(statements(development)).toContainEqual(expect.objectContaining(allowed));
  expect(JSON.stringify(statements(first))).not.toContain("budgets");
});

describe("alarms", () => {
  const SERVICE_ALARMS = [
    "acknowledgements-failed",
    "acknowledgements-late",
    "acknowledgements-near-deadline",
    "addresses-blocked",
    "android-store-refreshes-not-running",
    "changes-late",
    "credentials-refused",
    "destination-down",
    "ios-store-refreshes-not-running",
    "messages-nearly-lost",
    "notification-watch-not-running",
    "notifications-refused",
    "notifications-silent",
    "reads-slow",
    "refreshes-late",
    "requests-failing",
    "server-errors",
    "server-errors-in-a-day",
    "signatures-refused",
    "store-credential-rejected",
    "store-unavailable",
    "sweeps-not-running",
    "table-throttled",
    "telling-not-running",
    "transactions-refused",
  ];
  const alarms = () =>
    ofType("AWS::CloudWatch::Alarm").map(([, { Properties }]) => ({
      ...Properties,
      name: Properties.AlarmName.replace("customer-entitlements-", ""),
    }));

  test("are these", () => {
    expect(
      alarms()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(SERVICE_ALARMS);
  });

  test("have a section each in docs/runbook.md, of at most 110 words", () => {
    const runbook = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8");
    const sections = new Map(
      runbook.split(/^##+ /m).map((section) => [section.split("\n", 1)[0], wordsOf(section)]),
    );
    const words = SERVICE_ALARMS.map((name) => [name, sections.get(`\`${name}\``) ?? Infinity] as const);
    expect(words.filter(([, count]) => count > 110)).toEqual([]);
  });

  test("notify the topic, name their section, and stay quiet without data", () => {
    const topic = { Ref: ofType("AWS::SNS::Topic")[0]?.[0] };
    for (const { name, AlarmActions, AlarmDescription, TreatMissingData } of alarms()) {
      expect(AlarmActions).toEqual([topic]);
      expect(AlarmDescription).toMatch(new RegExp(`^.{20,} What to do: docs/runbook\\.md#${name}$`));
      expect(TreatMissingData).toBe(name.endsWith("-not-running") ? "missing" : "notBreaching");
    }
  });

  test("signatures-refused counts forged notifications of the App Store in six hours", () => {
    expect(alarms().find(({ name }) => name === "signatures-refused")).toMatchObject({
      MetricName: METRICS.notifications,
      Dimensions: expect.arrayContaining([
        { Name: DIMENSIONS.store, Value: "ios-store" },
        { Name: DIMENSIONS.outcome, Value: "FORGED" },
      ]),
      Statistic: "Sum",
      Period: 21_600,
      Threshold: 1000,
      ComparisonOperator: "GreaterThanOrEqualToThreshold",
    });
  });

  test("watch metrics that the functions write", () => {
    const own = JSON.stringify(alarms()).matchAll(/"MetricName":"(\w+)","Namespace":"CustomerEntitlements"/g);
    const read = new Set([...own].map(([, name]) => name));
    expect([...read].sort()).toEqual([
      METRICS.acknowledgementAge,
      METRICS.acknowledgementsFailed,
      METRICS.acknowledgementsNearDeadline,
      METRICS.changeAge,
      METRICS.credentialsRefused,
      METRICS.deliveryAge,
      METRICS.destinationsDown,
      METRICS.harmlessFailures,
      METRICS.notifications,
      METRICS.notificationsRefused,
      METRICS.refreshAge,
      METRICS.silentApplications,
      METRICS.storeCredentialsRejected,
      METRICS.storeErrors,
      METRICS.storeLatency,
      METRICS.transactionsRefused,
      METRICS.unansweredRequests,
    ]);
  });

  test("are published by CloudWatch to the topic, over TLS only", () => {
    const { Statement } = only("AWS::SNS::TopicPolicy").Properties.PolicyDocument;
    expect(Statement).toContainEqual(
      expect.objectContaining({
        Effect: "Allow",
        Principal: { Service: "cloudwatch.amazonaws.com" },
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      }),
    );
    expect(Statement).toContainEqual(expect.objectContaining({ Effect: "Deny", Principal: "*" }));
    expect(only("AWS::SNS::Subscription", guarded).Properties).toMatchObject({
      Protocol: "email",
      Endpoint: "operator@example.com",
    });
  });

  test("are not in a development stage, and no stage has a dashboard by default", () => {
    expect(ofType("AWS::CloudWatch::Alarm", development)).toEqual([]);
    for (const stage of [first, development]) expect(ofType("AWS::CloudWatch::Dashboard", stage)).toEqual([]);
  });

  test("are all on the dashboard, with every metric", () => {
    const { DashboardBody } = only("AWS::CloudWatch::Dashboard", guarded).Properties;
    const shown = JSON.stringify(DashboardBody);
    for (const [id] of ofType("AWS::CloudWatch::Alarm", guarded)) expect(shown).toContain(`"${id}","Arn"`);
    for (const metric of Object.values(METRICS)) expect(shown).toContain(metric);
  });
});

test("the service's stack has stage and version as tags, the data's none", () => {
  const tagsOf = ({ manifest }: Synthesis, name: string): Json => manifest.artifacts[name].properties.tags;
  expect(tagsOf(first, "customer-entitlements-service")).toEqual({
    "customer-entitlements:stage": "production",
    "customer-entitlements:version": VERSION,
  });
  expect(tagsOf(development, "customer-entitlements-development-service")).toEqual({
    "customer-entitlements:stage": "development",
    "customer-entitlements:version": "4f2a91c",
  });
  expect(development.outputs["Version"]?.Value).toBe("4f2a91c");
  expect(tagsOf(first, "customer-entitlements-data")).toBeUndefined();
});

test("the outputs are what operators, Google and the alarms need", () => {
  const [[api] = [""]] = ofType("AWS::ApiGateway::RestApi");
  const [[topic] = [""]] = ofType("AWS::SNS::Topic");
  const roleOf = (name: string) => ofType("AWS::IAM::Role").find(([id]) => id.startsWith(name))?.[0];
  const idOf = (name: string) => ofType("AWS::Lambda::Function").find(([id]) => id.startsWith(name))?.[0];
  const ofAndroidStore = FUNCTIONS.filter((name) => DATA[name]?.store === "android-store");
  expect(ofAndroidStore).toEqual(
    expect.arrayContaining(["LinkAndroidStoreCustomer", "SweepAndroidStoreRefunds"]),
  );
  expect(Object.fromEntries(Object.entries(first.outputs).map(([name, { Value }]) => [name, Value]))).toEqual(
    {
      Address: {
        "Fn::Join": [
          "",
          [
            "https://",
            { Ref: api },
            ".execute-api.",
            { Ref: "AWS::Region" },
            ".",
            { Ref: "AWS::URLSuffix" },
            "/live",
          ],
        ],
      },
      Version: VERSION,
      OperatorReadsPolicy: { Ref: expect.stringContaining("OperatorReads") },
      OperatorChangesPolicy: { Ref: expect.stringContaining("OperatorChanges") },
      TableName: "customer-entitlements",
      AlarmTopic: { Ref: topic },
      Writers: FUNCTIONS.filter((name) => (DATA[name]?.table.changes ?? []).length > 0)
        .map(idOf)
        .join(" "),
      AndroidStoreRoles: {
        "Fn::Join": [
          "",
          ofAndroidStore.flatMap((name, index) => [...(index > 0 ? [" "] : []), { Ref: roleOf(name) }]),
        ],
      },
    },
  );
});
