import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { parameterNames } from "../../infra/read-parameters.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import { synthesizeForTest } from "../../testing/support/local-gateway.ts";

const CDK = join(createRequire(import.meta.url).resolve("aws-cdk/package.json"), "..", "bin", "cdk");

const { version, scripts } = JSON.parse(await readFile("package.json", "utf8"));

test("the changelog begins with the version of the package", async () => {
  const changelog = await readFile("CHANGELOG.md", "utf8");
  expect(/^## (\S+)$/m.exec(changelog)?.[1]).toBe(version);
});

test("an assembly that was kept is deployed again without its sources: it is whole by itself", async () => {
  const { folder } = await synthesizeForTest(FUNCTIONS_APP);
  const elsewhere = await mkdtemp(join(tmpdir(), "assembly-"));
  try {
    await cp(folder, join(elsewhere, "kept"), { recursive: true });
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [CDK, "list", "--app", "kept", "--no-notices"],
      // No sources, no credentials, no settings of a user.
      {
        cwd: elsewhere,
        env: { PATH: process.env["PATH"], HOME: elsewhere, CDK_DISABLE_CLI_TELEMETRY: "true" },
      },
    );
    expect(stdout.trim().split("\n").sort()).toEqual([
      "customer-entitlements-data",
      "customer-entitlements-service",
    ]);
    const assets = JSON.parse(
      await readFile(join(elsewhere, "kept", "customer-entitlements-service.assets.json"), "utf8"),
    );
    for (const { source } of Object.values<{ source: { path: string } }>(assets.files))
      expect(source.path).not.toMatch(/^(?:\/|\.\.)/);
  } finally {
    await rm(elsewhere, { recursive: true });
  }
}, 180_000);

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

  test("deploys the assembly that it keeps, after the tests and before it tries the stage", () => {
    const position = (part: string): number => steps.findIndex((step) => step.includes(part));
    const order = ["npm test", "cdk synth", 'deploy --app "$ASSEMBLY"', "--recursive", "smoke"].map(position);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).not.toContain(-1);
  });
});
