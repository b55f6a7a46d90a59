import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import type { Behaviour } from "../functions/behaviour.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";
import {
  serveGateway,
  assemblyOf,
  withProperties,
  type TestGateway,
} from "../../../testing/support/local-gateway.ts";
import { asking, eventOf, refusal, shownBy, SYNCHRONIZE } from "./asking.ts";

const MEGABYTE = 1024 * 1024;
const FAILED = refusal(502, "INTERNAL_ERROR");

const assembly = await assemblyOf(FUNCTIONS_APP);
const gateway = await serveGateway(assembly);
afterAll(gateway.stop);
const { post, behave } = asking(gateway);
const others: TestGateway[] = [];
afterEach(() => Promise.all(others.splice(0).map((other) => other.stop())));

/** Another gateway, with other properties of a type. */
const another = async (changes: Parameters<typeof withProperties>[1] = {}) => {
  const other = await serveGateway(withProperties(assembly, changes));
  others.push(other);
  return { ...asking(other), log: other.log };
};

describe("a request's body", () => {
  const BLANKS = Buffer.alloc(10 * MEGABYTE + 1, 0x20);
  test.each<[coding: string, body: Buffer]>([
    ["gzip", gzipSync('{"a":"é"}')],
    ["deflate", deflateSync('{"a":"é"}')],
    ["identity", Buffer.from('{"a":"é"}')],
  ])("may be %s", async (coding, body) => {
    expect(eventOf(await post(body, { "Content-Encoding": coding })).body).toBe('{"a":"é"}');
  });

  test.each([
    ["in no coding that it names", Buffer.from("{}"), { "Content-Encoding": "gzip" }, 400, "INVALID_REQUEST"],
    ["of an unknown coding", Buffer.from("{}"), { "Content-Encoding": "br" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["over 10 MB", BLANKS, {}, 413, "REQUEST_TOO_LARGE"],
    ["over 10 MB, of unknown length", BLANKS, { "Transfer-Encoding": "chunked" }, 413, "REQUEST_TOO_LARGE"],
    [
      "over 10 MB once decompressed",
      gzipSync(Buffer.alloc(50 * MEGABYTE)),
      { "Content-Encoding": "gzip" },
      413,
      "REQUEST_TOO_LARGE",
    ],
    ["over Lambda's 6 MB", BLANKS.subarray(0, 6 * MEGABYTE), {}, 413, "REQUEST_TOO_LARGE"],
  ] as const)("%s is refused", async (_, body, headers, status, code) => {
    expect(shownBy(await post(body, headers))).toEqual(refusal(status, code));
  });

  test("of 5 MB is taken, also after a refused one", async () => {
    const large = JSON.stringify({ do: "repeat", length: 1 }) + " ".repeat(5 * MEGABYTE);
    const statuses: number[] = [];
    for (const body of [BLANKS, large, BLANKS, "{}"]) {
      const answer = await fetch(gateway.address + SYNCHRONIZE, { method: "POST", body });
      statuses.push(answer.status);
      await answer.text();
    }
    expect(statuses).toEqual([413, 200, 413, 200]);
  });
});

describe("an answer's body", () => {
  const repeated = (length: number, accepted: string) =>
    behave({ do: "repeat", length }, { "Accept-Encoding": accepted });

  test.each([
    ["gzip", "gzip", gunzipSync],
    ["deflate, gzip", "gzip", gunzipSync],
    ["*", "gzip", gunzipSync],
    ["gzip;q=0, deflate;q=0.5", "deflate", inflateSync],
  ] as const)("of 1 KB is compressed for who accepts %s", async (accepted, coding, decode) => {
    const { headers, body } = await repeated(5000, accepted);
    expect([headers["content-encoding"], headers["content-length"]]).toEqual([coding, String(body.length)]);
    expect(decode(body).toString()).toBe(`"${"x".repeat(5000)}"`);
  });

  test.each([
    ["gzip;q=0", 5000],
    ["br", 5000],
    ["gzip", 1021],
  ])("is not compressed for %s and a length of %i", async (accepted, length) => {
    const { headers, body } = await repeated(length, accepted);
    expect(headers["content-encoding"]).toBeUndefined();
    expect(body.toString()).toBe(`"${"x".repeat(length)}"`);
  });
});

describe("a function's answer", () => {
  test("is passed on: status, headers and body", async () => {
    const answer = await behave({
      do: "answer",
      with: {
        statusCode: 418,
        headers: { "X-One": "1", "Content-Type": "text/plain" },
        body: "short and stout",
      },
    });
    expect([answer.status, answer.body.toString()]).toEqual([418, "short and stout"]);
    const headers = { "x-one": "1", "content-type": "text/plain", "content-length": "15" };
    expect(answer.headers).toMatchObject(headers);
  });

  test.each<[string, Behaviour]>([
    ["is nothing", { do: "answer", with: null }],
    ["has an invalid status", { do: "answer", with: { statusCode: 1000, headers: {}, body: "" } }],
    ["has other members", { do: "answer", with: { statusCode: 200, headers: {}, body: "", cookies: [] } }],
    ["is over Lambda's 6 MB", { do: "repeat", length: 6 * MEGABYTE + 100 }],
    ["is an error", { do: "throw" }],
    ["is a crash", { do: "crash" }],
    ["is an exit", { do: "exit" }],
  ])("that %s is the body of DEFAULT_5XX", async (_, behaviour) => {
    expect(shownBy(await behave(behaviour))).toEqual(FAILED);
  });

  test("that fails has its reason in the log", async () => {
    gateway.log.length = 0;
    await behave({ do: "throw" });
    expect(gateway.log.join("\n")).toContain("TypeError: a fault of the function");
  });
});

test("a function has as long as the integration: 504", async () => {
  const brief = await another({
    "AWS::ApiGateway::Method": ({ Integration, ...given }) => ({
      ...given,
      Integration: { ...Object(Integration), TimeoutInMillis: 500 },
    }),
  });
  await brief.behave({ do: "echo" });
  const late = await brief.behave({ do: "wait", milliseconds: 2000 });
  expect(shownBy(late)).toEqual(refusal(504, "INTERNAL_ERROR"));
});

test("gateway responses fall back to DEFAULT_4XX or DEFAULT_5XX", async () => {
  const other = await another({
    "AWS::ApiGateway::GatewayResponse": ({ ResponseType, ...given }) => ({
      ...given,
      ResponseType: String(ResponseType).startsWith("DEFAULT") ? ResponseType : "QUOTA_EXCEEDED",
    }),
  });
  expect(shownBy(await other.send("GET", "/nowhere"))).toEqual(refusal(403, "INVALID_REQUEST"));
  expect((await other.behave({ do: "throw" })).status).toBe(502);
});

test.each([
  ["AWS::ApiGateway::Method", { AuthorizationType: "AWS_IAM" }],
  ["AWS::ApiGateway::Method", { RequestValidatorId: "validator" }],
  ["AWS::ApiGateway::Resource", { PathPart: "{proxy+}" }],
  ["AWS::ApiGateway::Authorizer", { Type: "REQUEST" }],
  ["AWS::ApiGateway::GatewayResponse", { ResponseTemplates: { "application/json": "$context.requestId" } }],
  ["AWS::Lambda::Function", { Handler: { "Fn::ImportValue": "elsewhere" } }],
])("a template's unsupported property is refused: %s %j", async (type, change) => {
  await expect(another({ [type]: (given) => ({ ...given, ...change }) })).rejects.toMatchObject({
    name: "LocalError",
  });
});
