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

test("it has this machine's time where no local run is named", async () => {
  expect((await clockOf(TABLE))()).toBe(NOW);
});

test("it has this machine's time where the local run does not answer", async () => {
  expect((await clockOf({ ...TABLE, AWS_ENDPOINT_URL_STS: "http://127.0.0.1:1" }))()).toBe(NOW);
});

test.each(["", "{}", '{ "now": "soon" }', "null"])("it has this machine's time after %j", async (text) => {
  answer = text;
  expect((await clockOf({ ...TABLE, AWS_ENDPOINT_URL_STS: address }))()).toBe(NOW);
  expect(asked).toHaveLength(1);
});

test("no local run is asked about a deployed table", async () => {
  expect((await clockOf({ AWS_ENDPOINT_URL_STS: address }))()).toBe(NOW);
  expect((await clockOf({ ...TABLE, AWS_ENDPOINT_URL_STS: "https://sts.example.com" }))()).toBe(NOW);
  expect(asked).toEqual([]);
});
