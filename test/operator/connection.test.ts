import { createServer, type Server } from "node:http";
import { connect, type Connection } from "../../operator/connection.ts";
import { close, listen } from "../../local/server.ts";
import { stsAnswer } from "./sts.ts";

/** What a connection keeps while the console uses it for hours, and by which clock the commands answer. */

const NOW = Date.UTC(2026, 5, 15);
const LATER = Date.UTC(2026, 7, 15);
const JSON_TYPE = "application/x-amz-json-1.1";

let server: Server;
let connection: Connection;
let address: string;
let asked: string[];
let answers: { readonly status: number; readonly type?: string; readonly body: string }[];

beforeEach(async () => {
  [asked, answers] = [[], []];
  server = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.url}`);
    const { status, type = JSON_TYPE, body } = answers.shift() ?? { status: 500, body: "" };
    response.writeHead(status, { "Content-Type": type }).end(body);
  });
  address = `http://127.0.0.1:${await listen(server, 0)}`;
});
afterEach(async () => {
  connection.close();
  await close(server);
});

const TABLE = { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" };
const connected = async (environment: Record<string, string>) => {
  connection = await connect("table", { AWS_REGION: "us-east-1", ...environment });
  return connection;
};

test("the AWS identity is asked for each time", async () => {
  const { caller } = await connected({ ...TABLE, AWS_ENDPOINT_URL_STS: address });
  answers = [null, "arn:ada", "arn:grace"].map(stsAnswer);
  await expect(caller()).rejects.toThrow("STS does not answer");
  for (const name of ["arn:ada", "arn:grace"]) expect(await caller()).toBe(name);
});

test("the master secret is read again after a failure, and then kept", async () => {
  const { masterSecret } = await connected({ ...TABLE, AWS_ENDPOINT_URL_SECRETS_MANAGER: address });
  answers = [
    { status: 400, body: JSON.stringify({ __type: "AccessDeniedException", message: "No." }) },
    { status: 200, body: JSON.stringify({ Name: "master", SecretString: "x".repeat(64) }) },
  ];
  await expect(masterSecret()).rejects.toThrow("cannot be read");
  expect((await masterSecret()).byteLength).toBe(64);
  expect((await masterSecret()).byteLength).toBe(64);
});

const localTime = { status: 200, body: JSON.stringify({ now: new Date(LATER).toISOString() }) };

test.each(["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_SECRETS_MANAGER"])(
  "a table of this machine has the local run's time: %s",
  async (variable) => {
    answers = [localTime];
    let machine = NOW;
    const { clock } = await connected({ ...TABLE, [variable]: address });
    const now = await clock(() => machine);
    expect(now()).toBe(LATER);
    machine += 1500;
    expect(now()).toBe(LATER + 1500);
    expect(asked).toEqual(["GET /sandbox/clock"]);
  },
);

test.each<[string, Record<string, string>, string | null]>([
  ["no local run is named", TABLE, null],
  ["the local run does not answer", { ...TABLE, AWS_ENDPOINT_URL_STS: "http://127.0.0.1:1" }, null],
  ["the local run has no time", TABLE, '{ "now": "soon" }'],
  ["STS is not of this machine", { ...TABLE, AWS_ENDPOINT_URL_STS: "https://sts.example.com" }, null],
  ["it is deployed", {}, null],
])("a table has this machine's time where %s", async (because, environment, body) => {
  answers = body === null ? [] : [{ status: 200, body }];
  const isNamed = body !== null || because === "it is deployed";
  const { clock } = await connected({ ...environment, ...(isNamed && { AWS_ENDPOINT_URL_STS: address }) });
  expect((await clock(() => NOW))()).toBe(NOW);
  expect(asked).toHaveLength(body === null ? 0 : 1);
});
