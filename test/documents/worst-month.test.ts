import { readFileSync } from "node:fs";
import type { EndpointName } from "../../lib/contract/endpoints.ts";
import { readParameters } from "../../infra/read-parameters.ts";

const SECONDS = 30 * 24 * 3600;
const MILLION = 1_000_000;

/**
 * Billed milliseconds of a request that stores something, as docs/operations.md counts them. An endpoint joins the month
 * when it has been measured.
 */
const BILLED: Readonly<Partial<Record<EndpointName, number>>> = {
  readAccountEntitlements: 9,
  readChanges: 15,
  synchronizeIosStorePurchases: 27,
  linkIosStoreCustomer: 21,
  linkAndroidStoreCustomer: 330,
  receiveIosStoreNotification: 25,
  receiveAndroidStoreNotification: 330,
};

/** Amazon's steps for REST requests in us-east-1. */
const apiGateway = (millions: number): number =>
  Math.min(millions, 333) * 3.5 +
  Math.min(Math.max(millions - 333, 0), 667) * 2.8 +
  Math.max(millions - 1000, 0) * 2.38;

/** Cost of a month in which every limit is reached day and night, in dollars, by the document's rows. */
const worstMonth = (accountConcurrency: number | null): Record<string, number> => {
  const { api, table, tracedPercent } = readParameters({ accountConcurrency });
  const rates = (Object.entries(BILLED) as [EndpointName, number][]).map(([name, billed]) => ({
    rate: api.throttling[name].rate,
    billed,
  }));
  const millions = (rates.reduce((sum, { rate }) => sum + rate, 0) * SECONDS) / MILLION;
  const busy = rates.reduce((sum, { rate, billed }) => sum + (rate * billed) / 1000, 0);
  const executions = Math.min(busy, accountConcurrency ?? 10);
  const units = ((table.maxReadCapacity ?? 0) * SECONDS) / MILLION;
  const written = ((table.maxWriteCapacity ?? 0) * SECONDS) / MILLION;
  const rows = {
    "API Gateway": apiGateway(millions),
    "Lambda, requests": millions * 0.2,
    "Lambda, executions": executions * SECONDS * 0.0000133334,
    "Table, writes": written * 0.625,
    "Table, reads": units * 0.125,
    "Index, writes and reads": (written / 2) * 0.625 + (units / 10) * 0.125,
    Logs: millions * 1.2 * 0.53,
    "X-Ray": millions * (tracedPercent / 100) * 5,
    WAF: 6 + millions * 0.6,
    Transfer: millions * 0.09,
  };
  return { ...rows, Sum: Object.values(rows).reduce((sum, row) => sum + row, 0) };
};

test("docs/operations.md has the worst month of the default limits, and of a known concurrency of 1,000", () => {
  const document = readFileSync("docs/operations.md", "utf8");
  const cells = new Map(
    document
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .map((line) => line.split("|").map((cell) => cell.replaceAll("**", "").trim()))
      .map(([, name = "", , unknown = "", known = ""]) => [name, [unknown, known]] as const),
  );
  const [unknown, known] = [worstMonth(null), worstMonth(1000)];
  const shown = (dollars: number | undefined): string => Math.round(dollars ?? 0).toLocaleString("en-US");
  const expected = Object.keys(known).map((name) => [name, [shown(unknown[name]), shown(known[name])]]);
  expect(expected.map(([name]) => [name, cells.get(String(name))])).toEqual(expected);
});
