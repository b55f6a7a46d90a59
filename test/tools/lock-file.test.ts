import { readFileSync } from "node:fs";
import * as z from "zod";

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      inBundle: z.boolean().optional(),
      optional: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
      os: z.string().or(z.array(z.string())).optional(),
      bin: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

const { packages } = lockFile.parse(JSON.parse(readFileSync("package-lock.json", "utf8")));
/** Packages of the registry; one that another bundles is in that one's hash. */
const installed = Object.entries(packages).filter(
  ([path, { link, inBundle }]) => path.startsWith("node_modules/") && !link && !inBundle,
);

test("every package has a hash", () => {
  expect(installed.length).toBeGreaterThan(500);
  const without = installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"));
  expect(without.map(([path]) => path)).toEqual([]);
});

test("Node.js itself is among them, for each system, and no script fetches it", () => {
  const systems = installed.filter(([, { bin }]) => bin?.["node"] !== undefined);
  expect(systems.map(([, { os }]) => os).sort()).toEqual(["darwin", "darwin", "linux", "linux", "win32"]);
  for (const [, { optional, hasInstallScript }] of systems)
    expect([optional, hasInstallScript]).toEqual([true, undefined]);
});

test("no package's script runs when it is installed", () => {
  expect(readFileSync(".npmrc", "utf8").split("\n")).toContain("ignore-scripts=true");
});
