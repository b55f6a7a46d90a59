import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../lib/contract/errors.ts";
import { ofType, only, stages, type Json, type StageName } from "./synthesis.ts";

const { production } = stages;

const API = "AWS::ApiGateway::RestApi";
const STAGE = "AWS::ApiGateway::Stage";
const DOMAIN = "AWS::ApiGateway::DomainName";

const pathOf = (id: string): string => {
  const properties = production.resources[id]?.Properties;
  return properties?.PathPart === undefined
    ? ""
    : `${pathOf(properties.ParentId.Ref ?? "")}/${properties.PathPart}`;
};

test("the API has the contract's routes, each with its function and authorizer", () => {
  const routes = ofType("AWS::ApiGateway::Method", production).map(([, { Properties }]) => {
    const { HttpMethod, ResourceId, AuthorizationType, AuthorizerId, ApiKeyRequired, Integration } =
      Properties;
    return [
      `${HttpMethod} ${pathOf(ResourceId.Ref)}`,
      AuthorizationType,
      AuthorizerId !== undefined || ApiKeyRequired === true,
      Integration.Type,
      /"(\w+)Function/.exec(JSON.stringify(Integration.Uri))?.[1],
    ];
  });
  expect(routes.toSorted()).toEqual(
    Object.entries<Endpoint>(endpoints)
      .map(([name, { method, path, scope }]) => [
        `${method} ${path}`,
        scope === null ? "NONE" : "CUSTOM",
        scope !== null,
        "AWS_PROXY",
        `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      ])
      .toSorted(),
  );
});

test("the authorizer is called for well-formed keys, and cached for a minute", () => {
  const { Properties } = only("AWS::ApiGateway::Authorizer", production);
  expect(Properties).toMatchObject({
    Type: "TOKEN",
    IdentitySource: "method.request.header.Authorization",
    IdentityValidationExpression: "^[Bb][Ee][Aa][Rr][Ee][Rr] +cek_[0-9a-f]{16}_[0-9a-f]{72}$",
    AuthorizerResultTtlInSeconds: 60,
  });
  expect(JSON.stringify(Properties.AuthorizerUri)).toContain("AuthorizeCredentialFunction");
});

test.each<[rule: string, type: string, stage: StageName, properties: object | null]>([
  [
    "is regional, and compresses from 1 KB",
    API,
    "production",
    { EndpointConfiguration: { Types: ["REGIONAL"] }, MinimumCompressionSize: 1024 },
  ],
  ["is called live", STAGE, "production", { StageName: "live", TracingEnabled: true }],
  [
    "takes TLS 1.2 at least",
    API,
    "production",
    { SecurityPolicy: "SecurityPolicy_TLS13_1_2_PQ_2025_09", EndpointAccessMode: "BASIC" },
  ],
  ["is reachable without a domain", API, "production", { DisableExecuteApiEndpoint: false }],
  ["is not created", DOMAIN, "production", null],
  ["is the only way to the API", API, "development", { DisableExecuteApiEndpoint: true }],
  ["takes TLS 1.2", DOMAIN, "development", { DomainName: "api.example.com", SecurityPolicy: "TLS_1_2" }],
  ["is in the zone", "AWS::Route53::RecordSet", "development", { HostedZoneId: "Z0123456789" }],
  ["is left alone", "AWS::ApiGateway::Account", "development", null],
  ["is not created", "AWS::WAFv2::WebACL", "development", null],
  ["is not created", "AWS::WAFv2::LoggingConfiguration", "production", null],
  [
    "traces a twentieth of the requests",
    "AWS::XRay::SamplingRule",
    "production",
    {
      SamplingRule: {
        FixedRate: 0.05,
        ReservoirSize: 0,
        ServiceName: "customer-entitlements/live",
        ServiceType: STAGE,
      },
    },
  ],
  [
    "traces every request",
    "AWS::XRay::SamplingRule",
    "development",
    { SamplingRule: { FixedRate: 1, ServiceName: "customer-entitlements-development/live" } },
  ],
  [
    "logs refused requests alone, without path, query and credentials",
    "AWS::WAFv2::LoggingConfiguration",
    "guarded",
    {
      RedactedFields: [
        { UriPath: {} },
        { QueryString: {} },
        { SingleHeader: { Name: "authorization" } },
        { SingleHeader: { Name: "cookie" } },
      ],
      LoggingFilter: {
        DefaultBehavior: "DROP",
        Filters: [{ Behavior: "KEEP", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
      },
    },
  ],
])("%s: %s of %s", (_, type, stage, properties) => {
  const found = ofType(type, stages[stage]).map(([, resource]) => resource.Properties);
  expect(found).toMatchObject(properties === null ? [] : [properties]);
});

test("the log role that all APIs share is retained, and the domain is the address", () => {
  expect(only("AWS::ApiGateway::Account", production).DeletionPolicy).toBe("Retain");
  expect(stages.development.outputs["Address"]?.Value).toBe("https://api.example.com");
});

test("each route is throttled separately", () => {
  const throttles = (stage: StageName) =>
    Object.fromEntries(
      only(STAGE, stages[stage]).Properties.MethodSettings.map((setting: Json) => [
        `${setting.HttpMethod} ${setting.ResourcePath.slice(1).replaceAll("~1", "/")}`,
        [setting.ThrottlingRateLimit, setting.ThrottlingBurstLimit],
      ]),
    );
  expect(throttles("production")).toEqual({
    "* *": [10, 20],
    "GET /v1/changes": [50, 100],
    "GET /v1/customers/{applicationAccountIdentifier}/entitlements": [500, 1000],
    "POST /v1/customers/android-store/link": [50, 100],
    "POST /v1/customers/ios-store/link": [50, 100],
    "POST /v1/customers/ios-store/synchronize": [20, 3],
    "POST /v1/notifications/android-store": [10, 1],
    "POST /v1/notifications/ios-store": [10, 3],
  });
  expect(throttles("development")).toMatchObject({ "POST /v1/customers/ios-store/synchronize": [33, 20] });
});

test("the access log has no path or header; the address is optional", () => {
  const { AccessLogSetting, MethodSettings } = only(STAGE, production).Properties;
  const format = JSON.parse(AccessLogSetting.Format);
  expect(format).toMatchObject({
    requestId: "$context.requestId",
    extendedRequestId: "$context.extendedRequestId",
    route: "$context.resourcePath",
  });
  expect(AccessLogSetting.Format).not.toMatch(/\$context\.(?:path|identity|customDomain|protocol)|\$input/);
  for (const { DataTraceEnabled, LoggingLevel = "OFF" } of MethodSettings)
    expect([DataTraceEnabled, LoggingLevel]).toEqual([false, "OFF"]);
  const guarded = JSON.parse(only(STAGE, stages.guarded).Properties.AccessLogSetting.Format);
  expect(guarded).toEqual({ ...format, address: "$context.identity.sourceIp" });
});

const TOO_MANY = ["300", 429, "TOO_MANY_REQUESTS"] as const;
const NO_ROUTE = [undefined, 404, "ROUTE_NOT_FOUND"] as const;
const BY_ADDRESS = { AggregateKeyType: "IP", EvaluationWindowSec: 300 };

test.each<[stage: StageName, rules: Readonly<Record<string, readonly unknown[]>>]>([
  [
    "production",
    {
      "1 synchronize-per-address": TOO_MANY,
      "2 ios-notifications-from-apple-only": NO_ROUTE,
      "3 requests-per-address": TOO_MANY,
    },
  ],
  ["guarded", { "0 blocked-addresses": TOO_MANY, "2 ios-notifications-from-apple-only": NO_ROUTE }],
])("the firewall of %s refuses in the contract's form, without samples", (stage, rules) => {
  const acl = only("AWS::WAFv2::WebACL", stages[stage]).Properties;
  const refusals = acl.Rules.map(({ Name, Priority, Action, Statement }: Json) => {
    const { CustomResponseBodyKey, ResponseCode, ResponseHeaders } = Action.Block.CustomResponse;
    const { ContentType, Content } = acl.CustomResponseBodies[CustomResponseBodyKey];
    const { error, message } = JSON.parse(Content);
    expect([ContentType, message]).toEqual(["APPLICATION_JSON", ERRORS[error as ErrorCode].message]);
    expect(Statement.RateBasedStatement ?? BY_ADDRESS).toMatchObject(BY_ADDRESS);
    return [`${Priority} ${Name}`, [ResponseHeaders?.[0].Value, ResponseCode, error]];
  });
  expect(Object.fromEntries(refusals)).toEqual(rules);
  for (const { VisibilityConfig } of [acl, ...acl.Rules])
    expect(VisibilityConfig.SampledRequestsEnabled).toBe(false);
  const { ResourceArn } = only("AWS::WAFv2::WebACLAssociation", stages[stage]).Properties;
  expect(JSON.stringify(ResourceArn)).toContain("/restapis/");
});

test("it is deployed after every route and gateway response", () => {
  const parts = ["Method", "Resource", "GatewayResponse"].flatMap((part) =>
    ofType(`AWS::ApiGateway::${part}`, production).map(([id]) => id),
  );
  const { DependsOn } = only("AWS::ApiGateway::Deployment", production);
  expect(DependsOn).toEqual(expect.arrayContaining(parts));
});

const LACKING =
  "The API key does not have the scope that this endpoint requires. The key has: $context.authorizer.scopes.";

test("the gateway's own answers have the contract's codes", () => {
  const responses = [
    ["401 INVALID_CREDENTIAL", "UNAUTHORIZED"],
    ["403 INSUFFICIENT_SCOPE", "ACCESS_DENIED"],
    [
      "404 ROUTE_NOT_FOUND",
      "MISSING_AUTHENTICATION_TOKEN RESOURCE_NOT_FOUND INVALID_SIGNATURE EXPIRED_TOKEN INVALID_API_KEY",
    ],
    ["400 INVALID_REQUEST", "BAD_REQUEST_BODY BAD_REQUEST_PARAMETERS"],
    ["413 REQUEST_TOO_LARGE", "REQUEST_TOO_LARGE"],
    ["415 UNSUPPORTED_MEDIA_TYPE", "UNSUPPORTED_MEDIA_TYPE"],
    ["429 TOO_MANY_REQUESTS", "THROTTLED QUOTA_EXCEEDED"],
    [
      "500 INTERNAL_ERROR",
      "AUTHORIZER_FAILURE AUTHORIZER_CONFIGURATION_ERROR API_CONFIGURATION_ERROR INTEGRATION_FAILURE",
    ],
    ["504 INTERNAL_ERROR", "INTEGRATION_TIMEOUT"],
    ["undefined INVALID_REQUEST", "DEFAULT_4XX"],
    ["undefined INTERNAL_ERROR", "DEFAULT_5XX"],
  ].flatMap(([answer, types = ""]) => types.split(" ").map((type) => [type, answer]));
  const shown = ofType("AWS::ApiGateway::GatewayResponse", production).map(([, { Properties }]) => {
    const { ResponseType, StatusCode, ResponseTemplates, ResponseParameters } = Properties;
    const { error, message } = JSON.parse(ResponseTemplates["application/json"]);
    expect(Object.keys(ResponseTemplates)).toEqual(["application/json"]);
    expect(message).toBe(ResponseType === "ACCESS_DENIED" ? LACKING : ERRORS[error as ErrorCode].message);
    const isLater = StatusCode === "429";
    expect(ResponseParameters?.["gatewayresponse.header.Retry-After"]).toBe(isLater ? "'5'" : undefined);
    return [ResponseType, `${StatusCode} ${error}`];
  });
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(responses));
});
