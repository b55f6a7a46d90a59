import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import { jest } from "@jest/globals";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { endpoint } from "../../functions/http/endpoint.ts";
import type { Call } from "../../functions/http/read-request.ts";
import { apiGatewayEvent } from "../../testing/index.ts";

const APPLICATION = "0198c0de-0000-7000-8000-000000000001";

const CALLER = { applicationIdentifier: APPLICATION };

/** A read of an account, as it is in the URL's path. */
const readEvent = (pathSegment: string, authorizer: typeof CALLER | null = CALLER): APIGatewayProxyEvent =>
  apiGatewayEvent("readAccountEntitlements", { path: { applicationAccountIdentifier: "" } }, authorizer, {
    pathParameters: { applicationAccountIdentifier: pathSegment },
  });

/** Log lines of the endpoints of a test. */
let logged: string[];
beforeEach(() => {
  logged = [];
  const capture = (text: unknown) => logged.push(String(text)) > 0;
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, "write").mockImplementation(capture);
  for (const level of ["error", "warn", "info", "log"] as const)
    jest.spyOn(console, level).mockImplementation(capture);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** An endpoint's answer to an event, and the calls of its use case, which answers so. */
const answered = async <E extends Endpoint>(
  definition: E,
  event: APIGatewayProxyEvent,
  answer: () => ReturnType<Parameters<typeof endpoint<E>>[1]>,
) => {
  const calls: Call<E>[] = [];
  const handler = endpoint(definition, (call) => {
    calls.push(call);
    return answer();
  });
  const response = await handler(event, {} as Context);
  return { calls, response, body: JSON.parse(response.body) };
};

const NOTHING = { applicationIdentifier: APPLICATION, entitlements: [] };
const read = (event: APIGatewayProxyEvent) =>
  answered(endpoints.readAccountEntitlements, event, async () => ({
    ...NOTHING,
    applicationAccountIdentifier: "a",
    customerIdentifiers: [],
  }));
const link = (event: Partial<APIGatewayProxyEvent>, fail?: unknown) =>
  answered(endpoints.linkIosStoreCustomer, apiGatewayEvent("linkIosStoreCustomer", {}, CALLER, event), () =>
    fail === undefined ? Promise.resolve({ ...NOTHING, customerIdentifier: null }) : Promise.reject(fail),
  );

test("an event of the gateway's test page, without headers, is answered", async () => {
  const event = apiGatewayEvent("receiveIosStoreNotification", { body: { signedPayload: "a.b.c" } }, null);
  const sent: unknown = { ...event, headers: null };
  const { receiveIosStoreNotification } = endpoints;
  const { calls, response } = await answered(
    receiveIosStoreNotification,
    sent as typeof event,
    async () => ({}),
  );
  expect(response.statusCode).toBe(200);
  expect(calls).toMatchObject([{ contentType: null }]);
});

test.each(["%", "%2", "%zz", "%C3%28", "%ED%A0%80"])("%s is a bad escape in the path: 400", async (raw) => {
  const { calls, response, body } = await read(readEvent(raw));
  expect([response.statusCode, body.error]).toEqual([400, "INVALID_REQUEST"]);
  expect(body.issues).toEqual([
    { path: "applicationAccountIdentifier", message: "The percent-encoding is not valid." },
  ]);
  expect(calls).toEqual([]);
});

describe("the body", () => {
  test.each<[what: string, body: string | null, issues: Record<string, string>]>([
    ["missing", null, { "": "The body is not JSON." }],
    ["no JSON", "{} {}", { "": "The body is not JSON." }],
    ["a list", "[]", { "": "must be an object" }],
    [
      "of wrong types and without a field",
      JSON.stringify({ signedAppTransaction: 7, signedTransactions: ["a", { secret: "s3cret" }] }),
      {
        signedAppTransaction: "must be a string",
        "signedTransactions.1": "must be a string",
        applicationAccountIdentifier: "is required",
      },
    ],
  ])("that is %s is 400, and each issue names its path", async (_, body, issues) => {
    const answer = await link({ body });
    expect([answer.response.statusCode, answer.body.error]).toEqual([400, "INVALID_REQUEST"]);
    expect(answer.body.issues).toEqual(Object.entries(issues).map(([path, message]) => ({ path, message })));
    expect(JSON.stringify(answer)).not.toContain("s3cret");
  });
  test("has at most 20 issues", async () => {
    const signedTransactions = Array.from({ length: 1000 }, () => 1);
    expect((await link({ body: JSON.stringify({ signedTransactions }) })).body.issues).toHaveLength(20);
  });
});

describe("errors", () => {
  const body = JSON.stringify({ signedAppTransaction: "a.b.c", applicationAccountIdentifier: "a" });
  test.each([
    [{ retryAfterSeconds: 30 }, "30"],
    [{}, "5"],
  ])("a refusal has its code, its status, a message, and when to retry: %j", async (named, retryAfter) => {
    const failure = new ServiceError("STORE_UNAVAILABLE", named);
    const { response, body: answer } = await link({ body }, failure);
    expect(response).toMatchObject({
      statusCode: 503,
      headers: { "Content-Type": "application/json", "Retry-After": retryAfter },
    });
    expect(answer).toEqual({ error: "STORE_UNAVAILABLE", message: failure.message });
  });
  test.each([
    ["an error", new Error("token eyJhbGciOi.secret failed", { cause: new Error("cek_secret") })],
    ["a text", "cek_secret"],
    ["nothing", null],
  ])("%s thrown by other code is INTERNAL_ERROR, and its text stays secret", async (_, failure) => {
    const answer = await link({ body }, failure);
    expect([answer.response.statusCode, answer.body.error]).toEqual([500, "INTERNAL_ERROR"]);
    expect(logged.join("")).toContain('"message":"request"');
    expect(JSON.stringify(answer) + logged.join("")).not.toMatch(/secret|eyJ/);
  });
});

describe("an endpoint that reads the Authorization header", () => {
  const push = (headers: Record<string, string>) => {
    const body = { message: { data: "e30=" } };
    const event = apiGatewayEvent("receiveAndroidStoreNotification", { body, headers });
    Object.assign(event.requestContext, { domainName: "api.example.com", path: "/live/v1/n" });
    return answered(endpoints.receiveAndroidStoreNotification, event, async () => ({}));
  };
  test.each([
    ["as sent", { Authorization: "Bearer a.b.c" }, "Bearer a.b.c"],
    ["whatever its case", { authorization: "x" }, "x"],
    ["as null where none was sent", { Accept: "*/*" }, null],
  ])("gets it %s, and the URL it was sent to", async (_, headers, authorization) => {
    const { calls, response } = await push(headers);
    expect([response.statusCode, response.body]).toEqual([200, "{}"]);
    expect(calls).toEqual([
      {
        request: { message: { data: "e30=" } },
        applicationIdentifier: null,
        authorization,
        address: "https://api.example.com/live/v1/n",
      },
    ]);
  });
  test("no other endpoint gets it", async () => {
    const { calls } = await read({ ...readEvent("a"), headers: { Authorization: "Bearer a" } });
    expect(JSON.stringify(calls)).not.toContain("Bearer");
  });
});

test("an endpoint with a scope fails without an application from the authorizer", async () => {
  const { calls, response } = await read(readEvent("a", null));
  expect(response.statusCode).toBe(500);
  expect(calls).toEqual([]);
});
