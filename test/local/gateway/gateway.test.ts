import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { createMovedClock } from "../../../local/clock/moved-clock.ts";
import type { Assembly } from "../../../local/lambda/template.ts";
import { ERRORS, type ErrorCode } from "../../../lib/contract/errors.ts";
import type { Behaviour } from "../functions/behaviour.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";
import {
  serveGateway,
  synthesizeForTest,
  withProperties,
  type TestGateway,
} from "../../../testing/support/local-gateway.ts";

const SYNCHRONIZE = "/v1/customers/ios-store/synchronize";
const LINK = "/v1/customers/ios-store/link";
const MEGABYTE = 1024 * 1024;

let assembly: Assembly;
let gateway: TestGateway;

beforeAll(async () => {
  ({ assembly } = await synthesizeForTest(FUNCTIONS_APP));
  gateway = await serveGateway(assembly, { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" });
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends the request as it is: adds no header, does not normalize the path. */
const send = async (
  method: string,
  path: string,
  {
    headers = {},
    body,
    address = gateway.address,
  }: { headers?: Record<string, string | string[]>; body?: string | Buffer; address?: string } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address);
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });

const jsonOf = ({ body }: Answer) => JSON.parse(body.toString("utf8"));

const behave = async (behaviour: Behaviour, address?: string): Promise<Answer> =>
  send("POST", SYNCHRONIZE, { body: JSON.stringify(behaviour), ...(address !== undefined && { address }) });

const eventOf = (answer: Answer): APIGatewayProxyEvent => jsonOf(answer).event;

/** The parts of an error that a caller sees. */
const shownBy = (answer: Answer) => ({
  status: answer.status,
  contentType: answer.headers["content-type"],
  body: jsonOf(answer),
});

const refusal = (status: number, code: ErrorCode, message: string = ERRORS[code].message) => ({
  status,
  contentType: "application/json",
  body: { error: code, message },
});
const LACKS_A_SCOPE = refusal(
  403,
  "INSUFFICIENT_SCOPE",
  "The API key does not have the scope that this endpoint requires. The key lacks: moon:visit.",
);

const KEY = `cek_${"a".repeat(16)}_${"0".repeat(72)}`;
let keys = 0xa000;
/** An Authorization header for this key identifier, or for a new one. */
const bearer = (keyIdentifier = (keys += 1).toString(16).padStart(16, "0")): string =>
  `Bearer cek_${keyIdentifier}_${"0".repeat(72)}`;

const read = async (authorization: string, account = "somebody"): Promise<Answer> =>
  send("GET", `/v1/customers/${account}/entitlements`, { headers: { Authorization: authorization } });

describe("routes", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v1/customers"],
    ["GET", "/v2/customers/somebody/entitlements"],
    ["GET", "/v1/customers/somebody"],
    ["GET", "/v1/customers/somebody/entitlements/more"],
    ["GET", "/v1/customers//entitlements"],
    ["GET", "/v1/Customers/somebody/entitlements"],
    ["GET", "/v1/%63ustomers/somebody/entitlements"],
    ["GET", "//v1/customers/somebody/entitlements"],
    ["POST", "/v1/customers/somebody/entitlements"],
    ["OPTIONS", "/v1/customers/somebody/entitlements"],
    ["GET", SYNCHRONIZE],
    ["PUT", LINK],
    ["DELETE", "/v1/customers/android-store/link"],
    ["GET", "/v1/customers/android-store/link"],
  ])("%s %s is not a route: 404, with or without a credential", async (method, path) => {
    for (const headers of [{}, { Authorization: bearer() }])
      expect(shownBy(await send(method, path, { headers }))).toEqual(refusal(404, "ROUTE_NOT_FOUND"));
  });

  test("HEAD is not a method of any route: 404 without a body", async () => {
    const answer = await send("HEAD", "/v1/customers/somebody/entitlements");
    expect({ status: answer.status, length: answer.body.length }).toEqual({ status: 404, length: 0 });
  });

  test("one slash at the end of the path is ignored", async () => {
    const answer = await send("POST", `${SYNCHRONIZE}/`);
    expect(answer.status).toBe(200);
    expect(eventOf(answer)).toMatchObject({ path: `${SYNCHRONIZE}/`, resource: SYNCHRONIZE });
    expect(shownBy(await send("POST", `${SYNCHRONIZE}//`))).toEqual(refusal(404, "ROUTE_NOT_FOUND"));
  });

  test.each(["android-store", "ios-store", "link"])(
    "an account called %s is readable, although a POST route matches",
    async (account) => {
      expect(eventOf(await read(bearer(), account))).toMatchObject({
        resource: "/v1/customers/{applicationAccountIdentifier}/entitlements",
        pathParameters: { applicationAccountIdentifier: account },
      });
    },
  );

  test.each(["a%2Fb", "100%25", "%F0%9F%98%80", "a%20b", "a+b", "%zz", "a;b=c", "..%2f.."])(
    "a path parameter arrives unchanged: %s",
    async (account) => {
      expect(eventOf(await read(bearer(), account)).pathParameters).toEqual({
        applicationAccountIdentifier: account,
      });
    },
  );
});

describe("the authorizer", () => {
  test("no header: 401 without a call, with WWW-Authenticate", async () => {
    const answer = await send("GET", "/v1/customers/somebody/entitlements");
    expect(shownBy(answer)).toEqual(refusal(401, "INVALID_CREDENTIAL"));
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });

  test.each([
    ["nothing", ""],
    ["no key", "Bearer"],
    ["something else", "Bearer x"],
    ["another scheme", `Basic ${KEY}`],
    ["no scheme", KEY],
    ["one digit more", `Bearer ${KEY}0`],
    ["words after it", `Bearer ${KEY} x`],
    ["capital letters", `Bearer ${KEY.toUpperCase()}`],
    ["an invalid digit", `Bearer ${KEY.slice(0, -1)}g`],
  ])("a header with %s: 401 without a call", async (_, authorization) => {
    expect(shownBy(await read(authorization))).toEqual(refusal(401, "INVALID_CREDENTIAL"));
  });

  test.each(["bearer", "BEARER", "Bearer  "])("the scheme may be written %s", async (scheme) => {
    expect((await read(bearer().replace("Bearer", scheme))).status).toBe(200);
  });

  test("a refusal: 401", async () => {
    expect(shownBy(await read(bearer("0000000000000001")))).toEqual(refusal(401, "INVALID_CREDENTIAL"));
  });

  test("a failure: 500", async () => {
    expect(shownBy(await read(bearer("0000000000000002")))).toEqual(refusal(500, "INTERNAL_ERROR"));
  });

  test.each(["0000000000000003", "0000000000000007"])("an answer of an unknown shape: 500", async (key) => {
    expect(shownBy(await read(bearer(key)))).toEqual(refusal(500, "INTERNAL_ERROR"));
  });

  test("a policy that does not allow the route: 403", async () => {
    const authorization = bearer("0000000000000004");
    expect(shownBy(await send("POST", LINK, { headers: { authorization } }))).toEqual(LACKS_A_SCOPE);
    expect((await read(authorization)).status).toBe(200);
  });

  test("a policy that both allows and denies the route: 403", async () => {
    const authorization = bearer("0000000000000005");
    expect(shownBy(await send("POST", LINK, { headers: { authorization } }))).toEqual(LACKS_A_SCOPE);
    expect((await read(authorization)).status).toBe(200);
  });

  test("a question mark in a policy matches one character", async () => {
    const authorization = bearer("0000000000000006");
    expect((await send("POST", LINK, { headers: { authorization } })).status).toBe(200);
    const other = await send("POST", "/v1/customers/android-store/link", { headers: { authorization } });
    expect(shownBy(other)).toEqual(LACKS_A_SCOPE);
  });

  test("its context reaches the function as text", async () => {
    const authorization = bearer();
    const { requestContext } = eventOf(await read(authorization, "a%2Fb"));
    expect(requestContext.authorizer).toEqual({
      principalId: "somebody",
      integrationLatency: expect.any(Number),
      text: "a",
      number: "7",
      truth: "true",
      missingScopes: "moon:visit",
      invocations: expect.any(String),
      authorizationToken: authorization,
      methodArn: "arn:aws:execute-api:us-east-1:123456789012:local/live/GET/v1/customers/a%2Fb/entitlements",
    });
  });

  test("its answer is cached for the key and serves every route", async () => {
    const authorization = bearer();
    const first = eventOf(await read(authorization, "a"));
    const second = eventOf(await send("POST", LINK, { headers: { authorization } }));
    expect(second.requestContext.authorizer?.["invocations"]).toBe(
      first.requestContext.authorizer?.["invocations"],
    );
  });

  test("another key calls it again", async () => {
    const first = eventOf(await read(bearer())).requestContext.authorizer?.["invocations"];
    const second = eventOf(await read(bearer())).requestContext.authorizer?.["invocations"];
    expect(second).not.toBe(first);
  });

  test("a route without an authorizer accepts any Authorization header", async () => {
    for (const authorization of ["nonsense", bearer("0000000000000001")]) {
      const answer = await send("POST", SYNCHRONIZE, { headers: { authorization } });
      expect(answer.status).toBe(200);
      expect(eventOf(answer).requestContext).not.toHaveProperty("authorizer");
    }
  });

  test("its cached answer expires after the template's time to live", async () => {
    const clock = createMovedClock();
    const brief = await serveGateway(
      withProperties(assembly, {
        "AWS::ApiGateway::Authorizer": (properties) => ({ ...properties, AuthorizerResultTtlInSeconds: 600 }),
      }),
      {},
      clock,
    );
    const authorization = bearer();
    const ask = async () => {
      const answer = await send("GET", "/v1/customers/a/entitlements", {
        headers: { authorization },
        address: brief.address,
      });
      return eventOf(answer).requestContext.authorizer?.["invocations"];
    };
    const invocations = [await ask()];
    for (let times = 0; times < 2; times += 1) {
      clock.moveTo(clock.now() + 300_000);
      invocations.push(await ask());
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
      multiValueHeaders: expect.objectContaining({
        "X-CaSe": ["as sent"],
        "X-Twice": ["one", "two"],
        "X-Forwarded-For": ["127.0.0.1"],
      }),
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
        identity: {
          cognitoIdentityPoolId: null,
          accountId: null,
          cognitoIdentityId: null,
          caller: null,
          sourceIp: "127.0.0.1",
          principalOrgId: null,
          accessKey: null,
          cognitoAuthenticationType: null,
          cognitoAuthenticationProvider: null,
          userArn: null,
          userAgent: "a test",
          user: null,
          apiKey: null,
          apiKeyId: null,
          clientCert: null,
        },
        domainName: "127.0.0.1:3000",
        apiId: "local",
        authorizer: expect.any(Object),
      },
      body: null,
      isBase64Encoded: false,
    });
    expect(event.requestContext.requestTimeEpoch).toBeGreaterThanOrEqual(before);
    expect(event.requestContext.requestTimeEpoch).toBeLessThanOrEqual(Date.now());
  });

  test("has null for absent parameters", async () => {
    expect(eventOf(await send("POST", SYNCHRONIZE, { body: "{}" }))).toMatchObject({
      pathParameters: null,
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      body: "{}",
    });
  });

  test("has the body as text, whatever its type, with invalid UTF-8 replaced", async () => {
    const headers = { "Content-Type": "application/octet-stream" };
    const body = Buffer.from([0x61, 0xff, 0xc3, 0xa9]);
    expect(eventOf(await send("POST", SYNCHRONIZE, { headers, body })).body).toBe("a\ufffdé");
  });

  test("comes with Lambda's context and variables, without this process's own", async () => {
    const { context, environment } = jsonOf(await behave({ do: "echo" }));
    expect(context).toEqual({
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      callbackWaitsForEmptyEventLoop: true,
      functionName: expect.stringContaining("SynchronizeIosStorePurchases"),
      functionVersion: "$LATEST",
      invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:${context.functionName}`,
      logGroupName: expect.any(String),
      logStreamName: expect.any(String),
      memoryLimitInMB: "1024",
      remaining: expect.any(Number),
    });
    expect(context.remaining).toBeGreaterThan(20_000);
    expect(context.remaining).toBeLessThanOrEqual(28_000);
    expect(environment).toEqual({
      // The function's own, as the credentials of its role are.
      AWS_ACCESS_KEY_ID: environment["AWS_LAMBDA_FUNCTION_NAME"],
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_DEFAULT_REGION: "us-east-1",
      AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1",
      AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "1024",
      AWS_LAMBDA_FUNCTION_NAME: context.functionName,
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

describe("bodies", () => {
  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["identity", Buffer.from],
  ] as const)("a request may be %s", async (coding, encode) => {
    const body = encode(Buffer.from('{"a":"é"}'));
    expect(
      eventOf(await send("POST", SYNCHRONIZE, { headers: { "Content-Encoding": coding }, body })).body,
    ).toBe('{"a":"é"}');
  });

  test("a body that does not match its Content-Encoding: 400", async () => {
    for (const body of ["{}", gzipSync("{}").subarray(0, 15)])
      expect(
        shownBy(await send("POST", SYNCHRONIZE, { headers: { "Content-Encoding": "gzip" }, body })),
      ).toEqual(refusal(400, "INVALID_REQUEST"));
  });

  test("an unknown Content-Encoding: 415", async () => {
    const answer = await send("POST", SYNCHRONIZE, { headers: { "Content-Encoding": "br" }, body: "{}" });
    expect(shownBy(answer)).toEqual(refusal(415, "UNSUPPORTED_MEDIA_TYPE"));
  });

  test("a body over 10 MB: 413, with or without Content-Length", async () => {
    const body = Buffer.alloc(10 * MEGABYTE + 1, 0x20);
    expect(shownBy(await send("POST", SYNCHRONIZE, { body }))).toEqual(refusal(413, "REQUEST_TOO_LARGE"));
    expect(
      shownBy(await send("POST", SYNCHRONIZE, { headers: { "Transfer-Encoding": "chunked" }, body })),
    ).toEqual(refusal(413, "REQUEST_TOO_LARGE"));
  });

  test("a small body that decompresses to more than 10 MB: 413", async () => {
    const body = gzipSync(Buffer.alloc(50 * MEGABYTE));
    const answer = await send("POST", SYNCHRONIZE, { headers: { "Content-Encoding": "gzip" }, body });
    expect(shownBy(answer)).toEqual(refusal(413, "REQUEST_TOO_LARGE"));
  });

  test("an event over Lambda's 6 MB: 413", async () => {
    const body = Buffer.alloc(6 * MEGABYTE, 0x20);
    expect(shownBy(await send("POST", SYNCHRONIZE, { body }))).toEqual(refusal(413, "REQUEST_TOO_LARGE"));
    const smaller = await send("POST", SYNCHRONIZE, {
      body: JSON.stringify({ do: "count" }) + " ".repeat(5 * MEGABYTE),
    });
    expect(smaller.status).toBe(200);
  });

  test("the connection keeps working after a refused body", async () => {
    const body = Buffer.alloc(10 * MEGABYTE + 1, 0x20);
    for (let round = 0; round < 3; round += 1) {
      const refused = await fetch(gateway.address + SYNCHRONIZE, { method: "POST", body });
      expect(refused.status).toBe(413);
      await refused.text();
    }
    expect((await fetch(gateway.address + SYNCHRONIZE, { method: "POST", body: "{}" })).status).toBe(200);
  });

  test.each([
    ["gzip", "gzip", gunzipSync],
    ["deflate", "deflate", inflateSync],
    ["deflate, gzip", "gzip", gunzipSync],
    ["*", "gzip", gunzipSync],
    ["gzip;q=0, deflate;q=0.5", "deflate", inflateSync],
  ] as const)("an answer of 1 KB is compressed for who accepts %s", async (accepted, coding, decode) => {
    const answer = await send("POST", SYNCHRONIZE, {
      headers: { "Accept-Encoding": accepted },
      body: JSON.stringify({ do: "repeat", length: 5000 } satisfies Behaviour),
    });
    expect(answer.headers["content-encoding"]).toBe(coding);
    expect(answer.headers["content-length"]).toBe(String(answer.body.length));
    expect(decode(answer.body).toString()).toBe(`"${"x".repeat(5000)}"`);
  });

  test.each([
    ["identity", 5000],
    ["gzip;q=0", 5000],
    ["br", 5000],
    ["gzip", 1021],
  ])("an answer is not compressed for %s and a length of %i", async (accepted, length) => {
    const answer = await send("POST", SYNCHRONIZE, {
      headers: { "Accept-Encoding": accepted },
      body: JSON.stringify({ do: "repeat", length } satisfies Behaviour),
    });
    expect(answer.headers["content-encoding"]).toBeUndefined();
    expect(answer.body.toString()).toBe(`"${"x".repeat(length)}"`);
  });
});

describe("answers of a function", () => {
  test("status, headers and body are passed on", async () => {
    const answer = await behave({
      do: "answer",
      with: {
        statusCode: "418",
        headers: { "X-One": "1", "X-Number": 2, "Content-Type": "text/plain" },
        multiValueHeaders: { "X-Two": ["a", "b"], "x-one": ["3"] },
        body: "short and stout",
      },
    });
    expect(answer.status).toBe(418);
    expect(answer.headers).toMatchObject({
      "x-one": "3",
      "x-number": "2",
      "x-two": "a, b",
      "content-type": "text/plain",
      "content-length": "15",
    });
    expect(answer.body.toString()).toBe("short and stout");
  });

  test("an answer without a type is JSON", async () => {
    const answer = await behave({ do: "answer", with: { statusCode: 204 } });
    expect(answer.status).toBe(204);
    expect(answer.headers["content-type"]).toBe("application/json");
  });

  test.each([
    ["nothing", null],
    ["a text", "hello"],
    ["no status", { body: "" }],
    ["an invalid status", { statusCode: 1000 }],
    ["a body that is not text", { statusCode: 200, body: { a: 1 } }],
    ["an invalid header", { statusCode: 200, headers: { "X-Bad": "a\nb" } }],
    ["an invalid header name", { statusCode: 200, headers: { "X Bad": "a" } }],
  ])("%s instead of a response: the body of DEFAULT_5XX", async (_, answer) => {
    expect(shownBy(await behave({ do: "answer", with: answer }))).toEqual(refusal(502, "INTERNAL_ERROR"));
  });

  test.each(["throw", "crash", "exit"] as const)(
    "%s: the body of DEFAULT_5XX, without the reason",
    async (what) => {
      const answer = await behave({ do: what });
      expect(shownBy(answer)).toEqual(refusal(502, "INTERNAL_ERROR"));
    },
  );

  test("the reason of a failure is in the log", async () => {
    gateway.log.length = 0;
    await behave({ do: "throw" });
    expect(gateway.log.join("\n")).toContain("TypeError: a fault of the function");
  });

  test("an answer over Lambda's 6 MB: the body of DEFAULT_5XX", async () => {
    expect(shownBy(await behave({ do: "repeat", length: 6 * MEGABYTE + 100 }))).toEqual(
      refusal(502, "INTERNAL_ERROR"),
    );
  });
});

describe("environments of a function", () => {
  const environmentOf = async (
    behaviour: Behaviour,
    address?: string,
  ): Promise<{ environment: string; invocations: number }> => jsonOf(await behave(behaviour, address));

  test("one is reused and keeps its memory", async () => {
    const first = await environmentOf({ do: "count" });
    const second = await environmentOf({ do: "count" });
    expect(second).toEqual({ environment: first.environment, invocations: first.invocations + 1 });
  });

  test("each serves one request at a time, so concurrent requests start more", async () => {
    const started = performance.now();
    const served = await Promise.all(
      Array.from({ length: 4 }, async () => environmentOf({ do: "wait", milliseconds: 600 })),
    );
    expect(new Set(served.map(({ environment }) => environment)).size).toBe(4);
    expect(performance.now() - started).toBeLessThan(2400);
  });

  test("at most ten serve a hundred concurrent requests", async () => {
    const served = await Promise.all(
      Array.from({ length: 100 }, async () => environmentOf({ do: "wait", milliseconds: 5 })),
    );
    expect(served).toHaveLength(100);
    expect(new Set(served.map(({ environment }) => environment)).size).toBeLessThanOrEqual(10);
  });

  test("one that threw is reused; one that crashed or exited is not", async () => {
    const lone = await serveGateway(assembly);
    const { environment } = await environmentOf({ do: "count" }, lone.address);
    await behave({ do: "throw" }, lone.address);
    expect((await environmentOf({ do: "count" }, lone.address)).environment).toBe(environment);
    for (const fault of ["crash", "exit"] as const) {
      const before = await environmentOf({ do: "count" }, lone.address);
      await behave({ do: fault }, lone.address);
      const after = await environmentOf({ do: "count" }, lone.address);
      expect(after.environment).not.toBe(before.environment);
      expect(after.invocations).toBe(1);
    }
    await lone.stop();
  });

  test("one that crashed between two requests is not reused", async () => {
    const lone = await serveGateway(assembly);
    const { environment } = await environmentOf({ do: "crash-later" }, lone.address);
    await sleep(300);
    expect((await environmentOf({ do: "count" }, lone.address)).environment).not.toBe(environment);
    await lone.stop();
  });

  test("a timeout answers DEFAULT_5XX, and then a new environment serves", async () => {
    const brief = await serveGateway(
      withProperties(assembly, {
        "AWS::Lambda::Function": (properties) => ({ ...properties, Timeout: 1 }),
      }),
    );
    const { environment } = await environmentOf({ do: "count" }, brief.address);
    expect(shownBy(await behave({ do: "block" }, brief.address))).toEqual(refusal(502, "INTERNAL_ERROR"));
    expect((await environmentOf({ do: "count" }, brief.address)).environment).not.toBe(environment);
    expect(brief.log.join("\n")).toContain("Task timed out after 1.00 seconds");
    await brief.stop();
  });

  test("a function that exceeds the integration's timeout: 504", async () => {
    const brief = await serveGateway(
      withProperties(assembly, {
        "AWS::ApiGateway::Method": (properties) => ({
          ...properties,
          Integration: { ...Object(properties["Integration"]), TimeoutInMillis: 500 },
        }),
      }),
    );
    await environmentOf({ do: "count" }, brief.address);
    expect(shownBy(await behave({ do: "wait", milliseconds: 2000 }, brief.address))).toEqual(
      refusal(504, "INTERNAL_ERROR"),
    );
    await brief.stop();
  });
});

describe("gateway responses", () => {
  test("substitute $context, and fall back to DEFAULT_4XX or DEFAULT_5XX", async () => {
    const types = new Set<unknown>(["DEFAULT_4XX", "DEFAULT_5XX"]);
    const { document } = assembly;
    const kept = Object.entries(document.Resources).filter(
      ([, { Type, Properties }]) =>
        Type !== "AWS::ApiGateway::GatewayResponse" || types.has(Properties["ResponseType"]),
    );
    const other = await serveGateway(
      withProperties(
        { ...assembly, document: { ...document, Resources: Object.fromEntries(kept) } },
        {
          "AWS::ApiGateway::GatewayResponse": (properties) => ({
            ...properties,
            ResponseTemplates: {
              "application/json":
                '{"type":"$context.error.responseType","said":$context.error.messageString,"id":"$context.requestId","path":"$context.path","none":"$context.no.such"}',
            },
          }),
        },
      ),
    );
    const answer = await send("GET", "/nowhere", { address: other.address });
    expect(answer.status).toBe(403);
    expect(jsonOf(answer)).toEqual({
      type: "MISSING_AUTHENTICATION_TOKEN",
      said: "Missing Authentication Token",
      id: answer.headers["x-amzn-requestid"],
      path: "/nowhere",
      none: "",
    });
    expect((await behave({ do: "throw" }, other.address)).status).toBe(502);
    await other.stop();
  });
});

describe("a template with an unsupported property", () => {
  const serving = async (type: string, change: Record<string, unknown>) =>
    serveGateway(withProperties(assembly, { [type]: (properties) => ({ ...properties, ...change }) }));

  test.each([
    ["AWS::ApiGateway::Method", { AuthorizationType: "AWS_IAM" }],
    ["AWS::ApiGateway::Method", { RequestValidatorId: "validator" }],
    ["AWS::ApiGateway::Method", { HttpMethod: "ANY" }],
    ["AWS::ApiGateway::Resource", { PathPart: "{proxy+}" }],
    ["AWS::ApiGateway::Authorizer", { Type: "REQUEST" }],
    ["AWS::ApiGateway::RestApi", { BinaryMediaTypes: ["*/*"] }],
    ["AWS::Lambda::Function", { Runtime: "python3.13" }],
    ["AWS::Lambda::Function", { Handler: { "Fn::ImportValue": "elsewhere" } }],
    ["AWS::Lambda::Function", { Handler: { Ref: "Nothing" } }],
  ])("is refused: %s %j", async (type, change) => {
    await expect(serving(type, change)).rejects.toMatchObject({ name: "LocalError" });
  });
});

test("the gateway keeps serving after a client breaks off", async () => {
  const { hostname, port } = new URL(gateway.address);
  const request = httpRequest({
    hostname,
    port,
    method: "POST",
    path: SYNCHRONIZE,
    headers: { "Content-Length": 1000 },
  });
  request.on("error", () => undefined);
  request.write(randomBytes(10));
  await sleep(50);
  request.destroy();
  await sleep(50);
  expect((await behave({ do: "count" })).status).toBe(200);
});
