import type { APIGatewayProxyEvent } from "aws-lambda";
import { createMovedClock } from "../../../local/clock/moved-clock.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";
import { serveGateway, assemblyOf, withProperties } from "../../../testing/support/local-gateway.ts";
import { asking, eventOf, jsonOf, LINK, refusal, shownBy, SYNCHRONIZE } from "./asking.ts";

const assembly = await assemblyOf(FUNCTIONS_APP);
const gateway = await serveGateway(assembly, { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" });
afterAll(gateway.stop);
const { send, post, behave, read } = asking(gateway);

const KEY = `cek_${"a".repeat(16)}_${"0".repeat(72)}`;
let keys = 0xa000;
/** An Authorization header for this key identifier, or for a new one. */
const bearer = (keyIdentifier = (keys += 1).toString(16)): string =>
  `Bearer cek_${keyIdentifier.padStart(16, "0")}_${"0".repeat(72)}`;
const invocationsIn = ({ requestContext }: APIGatewayProxyEvent): unknown =>
  requestContext.authorizer?.["invocations"];

describe("routes", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/v2/customers/somebody/entitlements"],
    ["GET", "/v1/customers//entitlements"],
    ["GET", "/v1/%63ustomers/somebody/entitlements"],
    ["GET", "//v1/customers/somebody/entitlements"],
    ["POST", "/v1/customers/somebody/entitlements"],
    ["GET", SYNCHRONIZE],
    ["POST", `${SYNCHRONIZE}//`],
  ])("%s %s is none: 404, with or without a credential", async (method, path) => {
    for (const headers of [{}, { Authorization: bearer() }])
      expect(shownBy(await send(method, path, { headers }))).toEqual(refusal(404, "ROUTE_NOT_FOUND"));
  });

  test("one slash at the end of the path is ignored", async () => {
    const event = eventOf(await send("POST", `${SYNCHRONIZE}/`));
    expect(event).toMatchObject({ path: `${SYNCHRONIZE}/`, resource: SYNCHRONIZE });
  });

  test.each(["ios-store", "a%2Fb", "100%25", "a%20b", "a+b", "%zz", "..%2f.."])(
    "the account %s is readable, and arrives unchanged",
    async (account) => {
      expect(eventOf(await read(bearer(), account))).toMatchObject({
        resource: "/v1/customers/{applicationAccountIdentifier}/entitlements",
        pathParameters: { applicationAccountIdentifier: account },
      });
    },
  );
});

describe("the authorizer", () => {
  test.each([
    ["no key", "Bearer"],
    ["another scheme", `Basic ${KEY}`],
    ["one digit more", `Bearer ${KEY}0`],
  ])("is not called for a header with %s: 401", async (_, authorization) => {
    expect(shownBy(await read(authorization))).toEqual(refusal(401, "INVALID_CREDENTIAL"));
  });

  test("is not called without a header: 401 with WWW-Authenticate", async () => {
    const answer = await send("GET", "/v1/customers/somebody/entitlements");
    expect(shownBy(answer)).toEqual(refusal(401, "INVALID_CREDENTIAL"));
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });

  test.each([
    ["refuses", "1", 401, "INVALID_CREDENTIAL"],
    ["fails", "2", 500, "INTERNAL_ERROR"],
    ["answers without a policy", "3", 500, "INTERNAL_ERROR"],
    ["answers a context that is not flat", "7", 500, "INTERNAL_ERROR"],
  ] as const)("that %s: key %s, %i", async (_, key, status, code) => {
    expect(shownBy(await read(bearer(key)))).toEqual(refusal(status, code));
  });

  const READ = "/v1/customers/somebody/entitlements";
  test.each<[policy: string, key: string, allowed: [string, string], denied: [string, string]]>([
    ["allows one route", "4", ["GET", READ], ["POST", LINK]],
    ["allows all and denies links", "5", ["GET", READ], ["POST", LINK]],
  ])("whose policy %s: 403 elsewhere", async (_, key, allowed, denied) => {
    const headers = { authorization: bearer(key).replace("Bearer", "bEARER ") };
    expect((await send(...allowed, { headers })).status).toBe(200);
    expect(shownBy(await send(...denied, { headers }))).toEqual(
      refusal(
        403,
        "INSUFFICIENT_SCOPE",
        "The API key does not have the scope that this endpoint requires. The key has: moon:visit.",
      ),
    );
  });

  test("gives the function its context; its answer is cached for the key", async () => {
    const authorization = bearer();
    const first = eventOf(await read(authorization, "a%2Fb"));
    expect(first.requestContext.authorizer).toEqual({
      principalId: "somebody",
      integrationLatency: expect.any(Number),
      scopes: "moon:visit",
      invocations: expect.any(String),
      authorizationToken: authorization,
      methodArn: "arn:aws:execute-api:us-east-1:123456789012:local/live/GET/v1/customers/a%2Fb/entitlements",
    });
    const second = eventOf(await send("POST", LINK, { headers: { authorization } }));
    expect(invocationsIn(second)).toBe(invocationsIn(first));
    expect(invocationsIn(eventOf(await read(bearer())))).not.toBe(invocationsIn(first));
  });

  test("is not called for a route without one, whatever the header", async () => {
    for (const authorization of ["nonsense", bearer("1")]) {
      const answer = await send("POST", SYNCHRONIZE, { headers: { authorization } });
      expect(eventOf(answer).requestContext).not.toHaveProperty("authorizer");
    }
  });

  test("is called again after the template's time to live", async () => {
    const clock = createMovedClock();
    const changed = withProperties(assembly, {
      "AWS::ApiGateway::Authorizer": (properties) => ({ ...properties, AuthorizerResultTtlInSeconds: 600 }),
    });
    const brief = await serveGateway(changed, {}, clock);
    const reader = asking(brief);
    const authorization = bearer();
    const invocations: unknown[] = [];
    for (let times = 0; times < 3; times += 1) {
      invocations.push(invocationsIn(eventOf(await reader.read(authorization))));
      clock.moveTo(clock.now() + 300_000);
    }
    await brief.stop();
    expect(invocations).toEqual(["1", "1", "2"]);
  });
});

describe("the event", () => {
  test("keeps every name as sent, even a built-in property's", async () => {
    const answer = await send("GET", "/v1/customers/a/entitlements?__proto__=1&__proto__=2", {
      headers: { Authorization: bearer(), __PROTO__: "x" },
    });
    const { headers, multiValueQueryStringParameters } = eventOf(answer);
    expect(Object.entries(multiValueQueryStringParameters ?? {})).toEqual([["__proto__", ["1", "2"]]]);
    expect(Object.entries(headers)).toContainEqual(["__PROTO__", "x"]);
  });

  test("equals API Gateway's proxy event, field by field", async () => {
    const before = Date.now();
    const answer = await send("GET", "/v1/customers/a%20b/entitlements?x=1&y=%C3%A9&x=2&z", {
      headers: {
        Host: "127.0.0.1:3000",
        "User-Agent": "a test",
        Authorization: bearer(),
        "X-CaSe": "as sent",
        "X-Twice": ["one", "two"],
      },
    });
    const event = eventOf(answer);
    const { identity } = event.requestContext;
    expect(event).toEqual({
      resource: "/v1/customers/{applicationAccountIdentifier}/entitlements",
      path: "/v1/customers/a%20b/entitlements",
      httpMethod: "GET",
      headers: {
        Host: "127.0.0.1:3000",
        "User-Agent": "a test",
        Authorization: expect.stringContaining("Bearer cek_"),
        "X-CaSe": "as sent",
        "X-Twice": "two",
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Port": new URL(gateway.address).port,
        "X-Forwarded-Proto": "http",
      },
      multiValueHeaders: expect.objectContaining({ "X-CaSe": ["as sent"], "X-Twice": ["one", "two"] }),
      queryStringParameters: { x: "2", y: "é", z: "" },
      multiValueQueryStringParameters: { x: ["1", "2"], y: ["é"], z: [""] },
      pathParameters: { applicationAccountIdentifier: "a%20b" },
      stageVariables: null,
      requestContext: {
        resourceId: expect.any(String),
        resourcePath: "/v1/customers/{applicationAccountIdentifier}/entitlements",
        httpMethod: "GET",
        extendedRequestId: answer.headers["x-amz-apigw-id"],
        requestTime: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        path: "/v1/customers/a%20b/entitlements",
        accountId: "123456789012",
        protocol: "HTTP/1.1",
        stage: "live",
        domainPrefix: "127",
        requestTimeEpoch: expect.any(Number),
        requestId: answer.headers["x-amzn-requestid"],
        identity: expect.objectContaining({ sourceIp: "127.0.0.1", userAgent: "a test", apiKey: null }),
        domainName: "127.0.0.1:3000",
        apiId: "local",
        authorizer: expect.any(Object),
      },
      body: null,
      isBase64Encoded: false,
    });
    expect(Object.values(identity).filter((value) => value !== null)).toHaveLength(2);
    expect(event.requestContext.requestTimeEpoch).toBeGreaterThanOrEqual(before);
  });

  test("has null for absent parameters, and the body as text", async () => {
    const body = Buffer.from([0x61, 0xff, 0xc3, 0xa9]);
    expect(eventOf(await post(body, { "Content-Type": "application/octet-stream" }))).toMatchObject({
      pathParameters: null,
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      body: "a\ufffdé",
    });
  });

  test("comes with Lambda's context and variables, without this process's own", async () => {
    const { context, environment } = jsonOf(await behave({ do: "echo" }));
    const { functionName, remaining } = context;
    expect(context).toEqual({
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      callbackWaitsForEmptyEventLoop: true,
      functionName: expect.stringContaining("SynchronizeIosStorePurchases"),
      functionVersion: "$LATEST",
      invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:${functionName}`,
      logGroupName: expect.any(String),
      logStreamName: expect.any(String),
      memoryLimitInMB: "1024",
      remaining: expect.any(Number),
    });
    expect(remaining > 20_000 && remaining <= 28_000).toBe(true);
    expect(environment).toEqual({
      // The function's own, as the credentials of its role are.
      AWS_ACCESS_KEY_ID: functionName,
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_DEFAULT_REGION: "us-east-1",
      AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1",
      AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "1024",
      AWS_LAMBDA_FUNCTION_NAME: functionName,
      AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
      AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
      AWS_LAMBDA_LOG_FORMAT: "JSON",
      AWS_LAMBDA_LOG_LEVEL: "INFO",
      AWS_REGION: "us-east-1",
      POWERTOOLS_SERVICE_NAME: "customer-entitlements",
      TABLE_NAME: expect.any(String),
    });
  });
});
