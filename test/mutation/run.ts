import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { PartialStrykerOptions, schema } from "@stryker-mutator/api/core";

/**
 * `npm run test:mutation [part …] [file …]`: makes every small change to the rules of each part, or only to these files
 * of the part, one at a time, and counts the changes that the part's own tests miss. Some are equivalent: no input
 * tells them apart. Writes `reports/mutation-<part>.json` and prints the scores.
 *
 * @see https://stryker-mutator.io/docs/stryker-js/introduction/
 */
const PARTS = {
  verification: {
    mutate: ["lib/stores/ios-store/**/*.ts"],
    tests: [
      "test/stores/ios-store/{,signatures/,server-api/}*.test.ts",
      "test/proof/comparison/comparison.test.ts",
    ],
  },
  entitlements: {
    mutate: ["lib/entitlements/*.ts"],
    tests: ["test/entitlements/**/*.test.ts", "test/stores/ios-store/replaced-lineages.test.ts"],
  },
  identity: {
    mutate: ["lib/customers/storing/resolve-customer.ts", "lib/customers/storing/plan-customer-change.ts"],
    tests: [
      "test/customers/storing/{claims,erasure,plan,re,store,transfers}*.test.ts",
      "test/proof/model/any-order.test.ts",
    ],
  },
  queues: {
    mutate: ["lib/queues/*.ts"],
    tests: [
      "test/queues/*.test.ts",
      "test/customers/asking/ask-due-*.test.ts",
      "test/telling/{tell,held}*.test.ts",
    ],
  },
} as const;

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const STRYKER = fileURLToPath(import.meta.resolve("@stryker-mutator/core")).replace(
  /dist\/.*$/,
  "bin/stryker.js",
);

/** Share of the counted changes below which a run fails. */
const LOWEST_SCORE = 0.9;

/** Options of each part. @see https://stryker-mutator.io/docs/stryker-js/configuration/ */
const OPTIONS: PartialStrykerOptions = {
  packageManager: "npm",
  testRunner: "in-process",
  plugins: ["./test/mutation/in-process-runner.ts"],
  testRunnerNodeArgs: ["--disable-warning=ExperimentalWarning"],
  ignorePatterns: ["/.ci", "/cdk.out", "/docs", "/reports"],
  ignoreStatic: true,
  coverageAnalysis: "perTest",
  timeoutMS: 5000,
  timeoutFactor: 2,
  concurrency: 2,
  reporters: ["json", "progress-append-only"],
  tsconfigFile: "none: TypeScript 7 has no JavaScript API to rewrite one with",
  cleanTempDir: "always",
};

const NOTICED = new Set<schema.MutantStatus>(["Killed", "Timeout", "RuntimeError"]);
const UNNOTICED = new Set<schema.MutantStatus>(["Survived", "NoCoverage"]);

/** Counts the changes of Stryker's report; those that no test noticed as text. */
const scoreOf = ({
  files,
}: schema.MutationTestResult): { readonly noticed: number; readonly unnoticed: readonly string[] } => {
  const mutants = Object.entries(files).flatMap(([path, file]) =>
    file.mutants.map((mutant) => ({ path, ...mutant })),
  );
  return {
    noticed: mutants.filter(({ status }) => NOTICED.has(status)).length,
    unnoticed: mutants
      .filter(({ status }) => UNNOTICED.has(status))
      .map(
        ({ path, location: { start }, mutatorName, replacement = "" }) =>
          `${path}:${start.line}:${start.column} ${mutatorName} ${replacement.replaceAll(/\s+/g, " ").slice(0, 80)}`,
      ),
  };
};

const runPart = (name: keyof typeof PARTS, only: readonly string[]): string[] => {
  const { mutate, tests } = PARTS[name];
  const file = `reports/mutation-${name}.json`;
  mkdirSync(`${PROJECT}reports`, { recursive: true });
  const configuration = `${PROJECT}reports/stryker-${name}.json`;
  writeFileSync(
    configuration,
    JSON.stringify({
      ...OPTIONS,
      mutate: only.length > 0 ? only : mutate,
      testFiles: globSync([...tests], { cwd: PROJECT }).sort(),
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
  const { noticed, unnoticed } = scoreOf(JSON.parse(readFileSync(PROJECT + file, "utf8")));
  const counted = noticed + unnoticed.length;
  if (noticed < LOWEST_SCORE * counted) process.exitCode = 1;
  return [
    `${name}: ${noticed} of ${counted} changes noticed, ${((100 * noticed) / counted).toFixed(1)} %`,
    ...unnoticed.map((change) => `  ${change}`),
  ];
};

const isPart = (name: string): name is keyof typeof PARTS => Object.hasOwn(PARTS, name);
const wanted = process.argv.slice(2);
const named = wanted.filter(isPart);
const files = wanted.filter((argument) => argument.endsWith(".ts"));
const parts = named.length > 0 ? named : Object.keys(PARTS).filter(isPart);
const lines = parts.flatMap((part) => runPart(part, files));
process.stdout.write(`${lines.join("\n")}\n`);
