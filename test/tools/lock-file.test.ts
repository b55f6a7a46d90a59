import { readFileSync } from "node:fs";
import * as z from "zod";
import { CHECKED, PERMISSIVE } from "./licences.ts";

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      dev: z.boolean().optional(),
      inBundle: z.boolean().optional(),
      optional: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
      license: z.string().default("none"),
      os: z.string().or(z.array(z.string())).optional(),
      bin: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

const { packages } = lockFile.parse(JSON.parse(readFileSync("package-lock.json", "utf8")));
const installed = Object.entries(packages).filter(
  ([path, { link }]) => path.startsWith("node_modules/") && !link,
);

test("every package has a hash", () => {
  expect(installed.length).toBeGreaterThan(500);
  // One that another bundles is in that one's hash.
  const without = installed.filter(
    ([, { integrity, inBundle }]) => !inBundle && !integrity?.startsWith("sha512-"),
  );
  expect(without.map(([path]) => path)).toEqual([]);
});

test("every package that is not for development alone has a permissive licence", () => {
  const deployed = installed.filter(([, { dev }]) => !dev);
  expect(deployed.length).toBeGreaterThan(50);
  const others = deployed.filter(([, { license }]) => !PERMISSIVE.test(license));
  expect(others.map(([path]) => path.split("node_modules/").at(-1))).toEqual(CHECKED);
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
