import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "../../operator/connection.ts";

/** By which clock the commands answer. */

const NOW = Date.UTC(2026, 5, 15);
const LATER = Date.UTC(2026, 7, 15);

let local: Server;
let address: string;
let asked: (string | undefined)[];
let answer: string;

beforeEach(async () => {
  asked = [];
  answer = JSON.stringify({ now: new Date(LATER).toISOString() });
  local = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(200, { "Content-Type": "application/json" }).end(answer);
  });
  await new Promise<void>((resolve) => void local.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(local.address() as AddressInfo).port}`;
});
afterEach(async () => {
  local.closeAllConnections();
  await new Promise((resolve) => void local.close(resolve));
});

const clockOf = async (environment: Record<string, string>, now = () => NOW): Promise<() => number> => {
  const connection = await connect("table", { AWS_REGION: "us-east-1", ...environment });
  connection.close();
  return connection.clock(now);
};

const TABLE = { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" };

test.each(["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_SECRETS_MANAGER"])(
  "a table of this machine has the local run's time: %s",
  async (variable) => {
    let machine = NOW;
    const clock = await clockOf({ ...TABLE, [variable]: address }, () => machine);
    expect(clock()).toBe(LATER);
    machine += 1500;
    expect(clock()).toBe(LATER + 1500);
    expect(asked).toEqual(["GET /sandbox/clock"]);
  },
);

test.each<[string, Record<string, string>, string | null, number]>([
  ["no local run is named", {}, null, 0],
  ["the local run does not answer", { AWS_ENDPOINT_URL_STS: "http://127.0.0.1:1" }, null, 0],
  ["the local run has no time", {}, '{ "now": "soon" }', 1],
  ["the local run answers nothing", {}, "", 1],
  ["STS is not of this machine", { AWS_ENDPOINT_URL_STS: "https://sts.example.com" }, null, 0],
])("a table has this machine's time where %s", async (_, environment, text, requests) => {
  answer = text ?? answer;
  const sts = text === null ? {} : { AWS_ENDPOINT_URL_STS: address };
  expect((await clockOf({ ...TABLE, ...sts, ...environment }))()).toBe(NOW);
  expect(asked).toHaveLength(requests);
});

test("no local run is asked about a deployed table", async () => {
  expect((await clockOf({ AWS_ENDPOINT_URL_STS: address }))()).toBe(NOW);
  expect(asked).toEqual([]);
});
