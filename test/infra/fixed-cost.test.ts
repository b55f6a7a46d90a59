import { readFileSync } from "node:fs";
import { ofType, stages, type Json, type Synthesis } from "./synthesis.ts";

/** What AWS bills by the month for a stage that nobody uses, at list prices, in cents. */
const monthly = (stage: Synthesis) => {
  const propertiesOf = (type: string): Json[] => ofType(type, stage).map(([, { Properties }]) => Properties);
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    firewall: sum(propertiesOf("AWS::WAFv2::WebACL").map(({ Rules }) => 500 + 100 * Rules.length)),
    alarms: sum(
      propertiesOf("AWS::CloudWatch::Alarm").map(({ Metrics }) =>
        Metrics === undefined ? 10 : 10 * Metrics.filter((one: Json) => one.MetricStat).length,
      ),
    ),
    secrets: 40 * propertiesOf("AWS::SecretsManager::Secret").length,
  };
};

const scale = readFileSync("docs/scale.md", "utf8");

/** The cents of a row of docs/scale.md: of production and of development. */
const row = (name: string): readonly number[] => {
  const [, cells = ""] = new RegExp(`^\\| \\**${name}[^|]*\\|(.*)\\|$`, "m").exec(scale) ?? [];
  return cells.split("|").map((cell) => Math.round(100 * Number(cell.replaceAll("*", ""))));
};

test("docs/scale.md has what an idle stage costs a month", () => {
  const costs = [stages.production, stages.development].map(monthly);
  expect(row("AWS WAF, ")).toEqual(costs.map(({ firewall }) => firewall));
  expect(row("Alarms")).toEqual(costs.map(({ alarms }) => alarms));
  expect(row("Secrets, ")).toEqual(costs.map(({ secrets }) => secrets));
  const schedules = row("Schedules");
  expect(row("Sum")).toEqual(
    costs.map(
      ({ firewall, alarms, secrets }, index) => firewall + alarms + secrets + (schedules[index] ?? NaN),
    ),
  );
});

test("an idle stage costs at most 12 dollars a month, one in development; the README names the sum", () => {
  const [production = 0, development] = row("Sum");
  expect(production).toBeLessThanOrEqual(1200);
  expect(development).toBeLessThan(100);
  expect(readFileSync("README.md", "utf8")).toContain(
    `costs [about ${Math.round(production / 100)} dollars a month](docs/scale.md)`,
  );
});
