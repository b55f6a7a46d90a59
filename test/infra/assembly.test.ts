import { execFile } from "node:child_process";
import { cp, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { assemblyFolder } from "../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../local/functions/modules.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const CDK = join(createRequire(import.meta.url).resolve("aws-cdk/package.json"), "..", "bin", "cdk");

const elsewhere = temporaryFolder();

test("an assembly can be deployed from another folder, without its sources", async () => {
  const folder = await assemblyFolder(FUNCTIONS_APP);
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
}, 180_000);
