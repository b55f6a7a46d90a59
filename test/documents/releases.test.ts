import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { parameterNames } from "../../infra/read-parameters.ts";

const { version, scripts } = JSON.parse(await readFile("package.json", "utf8"));

test("the changelog begins with the version of the package", async () => {
  const changelog = await readFile("CHANGELOG.md", "utf8");
  expect(/^## (\S+)$/m.exec(changelog)?.[1]).toBe(version);
});

describe("the example of a pipeline", () => {
  let steps: readonly string[];
  beforeAll(async () => {
    const { jobs } = parse(await readFile("docs/examples/deploy.yml", "utf8"));
    steps = Object.values<{ steps: { run?: string }[] }>(jobs).flatMap((job) =>
      job.steps.flatMap(({ run }) => (run === undefined ? [] : [run])),
    );
  });

  test("runs scripts and gives parameters that there are, and asks nobody", () => {
    const all = steps.join("\n");
    const used = [...all.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name);
    expect(used).toContain("smoke");
    for (const name of used) expect(Object.keys(scripts)).toContain(name);
    const given = [...all.matchAll(/-c ([\w.]+)=/g)].map(([, name = ""]) => name);
    expect(given).toEqual(["stage", "version"]);
    for (const name of given) expect(parameterNames()).toContain(name);
    expect(all).toContain("--require-approval never");
  });

  test("deploys the assembly that it keeps, after the tests", () => {
    const position = (part: string): number => steps.findIndex((step) => step.includes(part));
    const order = ["npm test", "cdk synth", 'deploy --app "$ASSEMBLY"', "--recursive", "smoke"].map(position);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).not.toContain(-1);
  });
});
