import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as z from "zod";

/**
 * `npm run test:mutation [part …]`: makes every small change to the rules of each part, one at a time, and counts the
 * changes that the part's own tests miss. Writes `reports/mutation-<part>.json` and prints the scores.
 *
 * @see https://stryker-mutator.io/docs/stryker-js/introduction/
 */
const PARTS = {
  verification: { mutate: ["lib/stores/ios-store/*.ts"], tests: ["test/mutation/verification.ts"] },
  entitlements: {
    mutate: ["lib/entitlements/*.ts"],
    tests: ["test/mutation/entitlements.ts"],
  },
  identity: {
    mutate: ["lib/customers/resolve-customer.ts", "lib/customers/plan-customer-change.ts"],
    tests: [
      "test/customers/resolve-customer.test.ts",
      "test/customers/plan-customer-change.test.ts",
      "test/proof/any-order.test.ts",
    ],
  },
} as const;

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const STRYKER = fileURLToPath(import.meta.resolve("@stryker-mutator/core")).replace(
  /dist\/.*$/,
  "bin/stryker.js",
);

const report = z.object({
  files: z.record(
    z.string(),
    z.object({
      mutants: z.array(
        z.object({
          status: z.string(),
          mutatorName: z.string(),
          replacement: z.string().optional(),
          location: z.object({ start: z.object({ line: z.number(), column: z.number() }) }),
        }),
      ),
    }),
  ),
});

const NOTICED = new Set(["Killed", "Timeout", "RuntimeError"]);
const UNNOTICED = new Set(["Survived", "NoCoverage"]);

const runPart = (name: keyof typeof PARTS): string[] => {
  const { mutate, tests } = PARTS[name];
  const file = `reports/mutation-${name}.json`;
  mkdirSync(`${PROJECT}reports`, { recursive: true });
  const configuration = `${PROJECT}reports/stryker-${name}.json`;
  const shared: unknown = JSON.parse(readFileSync(`${PROJECT}test/mutation/stryker.json`, "utf8"));
  writeFileSync(
    configuration,
    JSON.stringify({
      ...Object(shared),
      mutate,
      testFiles: tests,
      jsonReporter: { fileName: file },
      tempDirName: `.stryker/${name}`,
    }),
  );
  const { status } = spawnSync(process.execPath, [STRYKER, "run", configuration], {
    cwd: PROJECT,
    stdio: "inherit",
    // The same cases each time, and no shrinking: only whether a test fails matters.
    env: { ...process.env, SEED: "1", MUTATION: "1" },
  });
  if (status !== 0) process.exitCode = 1;
  const { files } = report.parse(JSON.parse(readFileSync(PROJECT + file, "utf8")));
  const all = Object.values(files).flatMap(({ mutants }) => mutants);
  const noticed = all.filter((mutant) => NOTICED.has(mutant.status)).length;
  const unnoticed = all.filter((mutant) => UNNOTICED.has(mutant.status)).length;
  const score = ((100 * noticed) / (noticed + unnoticed)).toFixed(1);
  return [
    `${name}: ${noticed} of ${noticed + unnoticed} changes noticed, ${score} %`,
    ...Object.entries(files).flatMap(([path, { mutants }]) =>
      mutants
        .filter((mutant) => UNNOTICED.has(mutant.status))
        .map(
          ({ location: { start }, mutatorName, replacement = "" }) =>
            `  ${path}:${start.line}:${start.column} ${mutatorName} ${replacement.replaceAll(/\s+/g, " ").slice(0, 80)}`,
        ),
    ),
  ];
};

const isPart = (name: string): name is keyof typeof PARTS => Object.hasOwn(PARTS, name);
const wanted = process.argv.slice(2);
const parts = (wanted.length > 0 ? wanted : Object.keys(PARTS)).filter(isPart);
const lines = parts.flatMap(runPart);
process.stdout.write(`${lines.join("\n")}\n`);
