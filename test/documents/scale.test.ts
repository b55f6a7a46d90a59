import { readFileSync } from "node:fs";
import { ASKS_PER_RENEWAL, simulateHottestKey } from "../../bench/scale/hottest-key.ts";
import { readParameters } from "../../infra/read-parameters.ts";
import { ACKNOWLEDGEMENT_SHARDS } from "../../lib/table/keys.ts";

const document = readFileSync("docs/scale.md", "utf8");
const SUBSCRIBERS = [1, 10, 100] as const;
const MONTH_SECONDS = 30 * 86_400;

/** The cells of a row of the document, by its first cell. */
const row = (name: string): readonly string[] => {
  const line = document.split("\n").find((text) => text.startsWith(`| ${name} `));
  if (line === undefined) throw new Error(`docs/scale.md has no row "${name}".`);
  return line
    .split("|")
    .slice(2, 5)
    .map((cell) => cell.trim());
};

const shown = (value: number): string =>
  value.toLocaleString("en-US", { maximumSignificantDigits: 2, useGrouping: true });

/** Requests a second on average: 90 a month of each subscriber. */
const average = (millions: number): number => (millions * 1_000_000 * 90) / MONTH_SECONDS;
const PEAK = 10;
/** Capacity of an average request (docs/operations.md). */
const PER_REQUEST = { readUnits: 1.77, writeUnits: 0.54, executionSeconds: 0.0163 };

const counted = (valueOf: (millions: number) => number): readonly string[] =>
  SUBSCRIBERS.map((millions) => shown(valueOf(millions)));

test.each<[name: string, valueOf: (millions: number) => number]>([
  ["Requests a second, average", average],
  ["Requests a second, peak", (millions) => average(millions) * PEAK],
  ["Reads a second, peak", (millions) => average(millions) * PEAK * 0.6],
  ["Executions at a time, peak", (millions) => average(millions) * PEAK * PER_REQUEST.executionSeconds],
  ["Read units a second, peak", (millions) => average(millions) * PEAK * PER_REQUEST.readUnits],
  ["Write units a second, peak", (millions) => average(millions) * PEAK * PER_REQUEST.writeUnits],
  ["Renewals a second, average", (millions) => (millions * 1_000_000) / MONTH_SECONDS],
])("%s is counted as the document says", (name, valueOf) => {
  expect(row(name)).toEqual(counted(valueOf));
});

test.each<[name: string, key: keyof ReturnType<typeof simulateHottestKey>]>([
  ["Renewals in the busiest second", "renewals"],
  ["Write units of the key in it", "units"],
  ["Longest wait of a write, in s", "writeWaits"],
  ["Longest wait to be asked about, in s", "askWaits"],
])("%s is what the simulation of the hottest key finds", (name, key) => {
  expect(row(name)).toEqual(SUBSCRIBERS.map((millions) => shown(simulateHottestKey(millions * 1e6)[key])));
});

test("the simulation is the same each time, and a quiet key waits for nothing", () => {
  expect(simulateHottestKey(200_000)).toEqual(simulateHottestKey(200_000));
  expect(simulateHottestKey(200_000)).toMatchObject({ writeWaits: 0, askWaits: 0 });
});

test("the thresholds that it names are the simulation's", () => {
  const LEEWAY_SECONDS = 15 * 60;
  expect(document).toContain("from about 18 million");
  expect(simulateHottestKey(17_000_000).writeWaits).toBe(0);
  expect(simulateHottestKey(19_000_000).writeWaits).toBeGreaterThan(0);
  expect(document).toMatch(/from\s+about 1\.5 million/i);
  expect(simulateHottestKey(1_400_000).askWaits).toBeLessThan(LEEWAY_SECONDS);
  expect(simulateHottestKey(1_600_000).askWaits).toBeGreaterThan(LEEWAY_SECONDS);
});

test("questions for each renewal are those of the report, where no store notifies", () => {
  const report = readFileSync("docs/performance.md", "utf8");
  const [, asked = ""] = /^\| refreshes, each one request to a store \| +([\d,]+) \|/m.exec(report) ?? [];
  expect(Number(asked.replaceAll(",", "")) / 100_000).toBeCloseTo(ASKS_PER_RENEWAL, 2);
  expect(document).toContain(`a renewal is asked about ${ASKS_PER_RENEWAL} times`);
});

test("the limits that it names are those of the code", () => {
  const { api, table } = readParameters({ accountConcurrency: 1000 });
  expect(document).toContain(`${api.throttling.readAccountEntitlements.rate} reads a second`);
  expect(document).toContain(`\`maxReadCapacity\` ${table.maxReadCapacity?.toLocaleString("en-US")}`);
  expect(document).toContain(`${ACKNOWLEDGEMENT_SHARDS} shards`);
});

test("it is as cheap as it says: the month's cost for each million of subscribers", () => {
  const apiGateway = (millions: number): number =>
    Math.min(millions, 333) * 3.5 +
    Math.min(Math.max(millions - 333, 0), 667) * 2.8 +
    Math.max(millions - 1000, 0) * 2.38;
  // Other costs in docs/operations.md's table at 100 million requests: 650.09 less API Gateway's 350, for each million.
  const other = (650.09 - 350) / 100;
  const cost = (millions: number): number => apiGateway(millions * 90) + millions * 90 * other;
  expect(row("Cost of a month, in US dollars")).toEqual(counted(cost));
});
