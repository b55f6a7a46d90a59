import { readFile } from "node:fs/promises";
import type { Assembly } from "../../local/lambda/template.ts";
import { assemblyOf, synthesizeWith } from "../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import type { Json } from "./synthesis.ts";

/** What AWS bills by the month for a stage that nobody uses, at list prices, in cents. */
const monthly = ({ document: { Resources } }: Assembly) => {
  const ofType = (type: string): Json[] => Object.values(Resources).filter(({ Type }) => Type === type);
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    firewall: sum(ofType("AWS::WAFv2::WebACL").map(({ Properties }) => 500 + 100 * Properties.Rules.length)),
    alarms: sum(
      ofType("AWS::CloudWatch::Alarm").map(({ Properties: { Metrics } }) =>
        Metrics === undefined ? 10 : 10 * Metrics.filter((one: Json) => one.MetricStat).length,
      ),
    ),
    dashboards: 300 * ofType("AWS::CloudWatch::Dashboard").length,
    secrets: 40 * ofType("AWS::SecretsManager::Secret").length,
  };
};

let scale: string;
let stages: readonly Assembly[];
beforeAll(async () => {
  scale = await readFile("docs/scale.md", "utf8");
  stages = [await assemblyOf(FUNCTIONS_APP), await synthesizeWith(FUNCTIONS_APP, { stage: "development" })];
}, 120_000);

/** The cents of a row of docs/scale.md: of production and of development. */
const row = (name: string): readonly number[] => {
  const [, cells = ""] = new RegExp(`^\\| \\**${name}[^|]*\\|(.*)\\|$`, "m").exec(scale) ?? [];
  return cells.split("|").map((cell) => Math.round(100 * Number(cell.replaceAll("*", ""))));
};

test("docs/scale.md has what an idle stage costs a month", () => {
  const costs = stages.map(monthly);
  expect(row("AWS WAF, ")).toEqual(costs.map(({ firewall }) => firewall));
  expect(row("Alarms")).toEqual(costs.map(({ alarms }) => alarms));
  expect(costs.map(({ dashboards }) => dashboards)).toEqual([0, 0]);
  expect(row("Secrets, ")).toEqual(costs.map(({ secrets }) => secrets));
  const schedules = row("Schedules");
  expect(row("Sum")).toEqual(
    costs.map(
      ({ firewall, alarms, secrets }, index) => firewall + alarms + secrets + (schedules[index] ?? NaN),
    ),
  );
});

test("an idle stage costs at most 12 dollars a month, 3 in development", () => {
  const [production, development] = row("Sum");
  expect(production).toBeLessThanOrEqual(1200);
  expect(development).toBeLessThanOrEqual(300);
});

test("the README names the sum", async () => {
  const [production = 0] = row("Sum");
  expect(await readFile("README.md", "utf8")).toContain(
    `costs [about ${Math.round(production / 100)} dollars a month](docs/scale.md)`,
  );
  expect(row("Sum")[1]).toBeLessThan(100);
});
