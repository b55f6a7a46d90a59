import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import type { InstrumenterContext, StrykerOptions } from "@stryker-mutator/api/core";
import { commonTokens, declareFactoryPlugin, PluginKind, tokens } from "@stryker-mutator/api/plugin";
import {
  determineHitLimitReached,
  DryRunStatus,
  TestStatus,
  toMutantRunResult,
  type DryRunResult,
  type TestResult,
  type TestRunner,
} from "@stryker-mutator/api/test-runner";
import { expect } from "expect";

/**
 * A test runner for Stryker that loads the tests once, as Node.js runs them, and then runs those that reach a change. Jest
 * loads all modules anew for each change, which takes a hundred times longer than the tests do. It knows what the tests of the
 * rules use of Jest: `describe`, `test`, `each`, the hooks, and `expect` itself. What a file of tests makes when it is
 * loaded, such as a catalog, is made without the change.
 *
 * @see https://stryker-mutator.io/docs/stryker-js/guides/create-a-plugin/
 */

type Run = () => unknown;

const HOOKS = ["beforeAll", "afterAll", "beforeEach", "afterEach"] as const;

interface Suite {
  readonly name: string;
  /** Itself and those around it, the outermost first. */
  readonly path: readonly Suite[];
  readonly hooks: Readonly<Record<(typeof HOOKS)[number], Run[]>>;
}

interface TestCase {
  readonly id: string;
  readonly name: string;
  readonly file: string;
  readonly suite: Suite;
  readonly run: Run;
}

const suiteOf = (name: string, around: readonly Suite[]): Suite => {
  const suite = {
    name,
    path: [...around],
    hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] },
  };
  suite.path.push(suite);
  return suite;
};

const collected: TestCase[] = [];
let file = "";
let suite = suiteOf("", []);

const describeSuite = (name: string, define: () => void): void => {
  const parent = suite;
  suite = suiteOf(`${parent.name}${name} `, parent.path);
  define();
  suite = parent;
};

const defineTest = (name: string, run: Run): void => {
  const fullName = `${suite.name}${name}`;
  collected.push({ id: `${collected.length} ${fullName}`, name: fullName, file, suite, run });
};

/** One test or suite for each row of a table. */
const eachOf =
  (define: (name: string, run: () => void) => void) =>
  (table: readonly unknown[]) =>
  (name: string, run: (...row: readonly unknown[]) => void): void => {
    // As Jest: a row is a list of arguments where all of them are lists.
    for (const [index, row] of table.entries())
      define(`${name} (${index + 1})`, () =>
        run(...(table.every((one) => Array.isArray(one)) ? (row as readonly unknown[]) : [row])),
      );
  };

const GLOBALS = {
  describe: Object.assign(describeSuite, { each: eachOf(describeSuite) }),
  test: Object.assign(defineTest, { each: eachOf(defineTest) }),
  ...Object.fromEntries(HOOKS.map((hook) => [hook, (run: Run) => void suite.hooks[hook].push(run)])),
  expect,
};

const ONCE = /\/once\.ts$/;
const NOT_ONCE = new URL("not-once.ts", import.meta.url).href;

const load = async (files: readonly string[]): Promise<void> => {
  Object.assign(globalThis, GLOBALS);
  registerHooks({
    resolve: (specifier, context, next) =>
      ONCE.test(specifier)
        ? { url: NOT_ONCE, format: "module-typescript", shortCircuit: true }
        : next(specifier, context),
  });
  for (const one of files) {
    file = resolve(one);
    suite = suiteOf("", []);
    await import(pathToFileURL(file).href);
  }
};

const all = async (runs: readonly Run[]): Promise<void> => {
  for (const run of runs) await run();
};

/** Runs all, also after one that fails; then fails as the first that did. */
const allOf = async (runs: readonly Run[]): Promise<void> => {
  const failures: unknown[] = [];
  for (const run of runs) {
    try {
      await run();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
};

/** Runs a test with the hooks around it; those after it run as well where it fails. */
const runTest = async ({ run, suite: { path } }: TestCase): Promise<void> => {
  const before = path.flatMap(({ hooks }) => hooks.beforeEach);
  const after = path.toReversed().flatMap(({ hooks }) => hooks.afterEach);
  await allOf([async () => all([...before, run]), ...after]);
};

/** Runs tests in their order, up to the first that fails where `bails`. What has begun is ended in any case. */
const runTests = async (
  tests: readonly TestCase[],
  context: InstrumenterContext,
  bails: boolean,
): Promise<DryRunResult> => {
  const begun = new Set<Suite>();
  const results: TestResult[] = [];
  const end = async (): Promise<void> =>
    allOf([...begun].toReversed().flatMap(({ hooks }) => hooks.afterAll));
  for (const one of tests) {
    const { id, name, file: fileName } = one;
    const startedAt = performance.now();
    let failure: unknown = null;
    try {
      for (const each of one.suite.path.filter((other) => !begun.has(other))) {
        begun.add(each);
        await all(each.hooks.beforeAll);
      }
      context.currentTestId = id;
      expect.setState({ currentTestName: name });
      await runTest(one);
    } catch (error) {
      failure = error ?? "thrown";
    }
    delete context.currentTestId;
    const hitLimit = determineHitLimitReached(context.hitCount, context.hitLimit);
    if (hitLimit !== undefined) {
      delete context.hitLimit;
      await end().catch(() => undefined);
      return hitLimit;
    }
    const result = { id, name, fileName, timeSpentMs: performance.now() - startedAt };
    const failed = { status: TestStatus.Failed as const, failureMessage: String(failure) };
    results.push({ ...result, ...(failure === null ? { status: TestStatus.Success } : failed) });
    if (failure !== null && bails) break;
  }
  try {
    await end();
  } catch (error) {
    if (results.every(({ status }) => status === TestStatus.Success))
      return { status: DryRunStatus.Error, errorMessage: String(error) };
  }
  return { status: DryRunStatus.Complete, tests: results };
};

const createRunner = ({ testFiles }: StrykerOptions): TestRunner => {
  const context: InstrumenterContext = {};
  Object.assign(globalThis, { __stryker__: context });
  let loading: Promise<void> | null = null;
  const loaded = (): Promise<void> => (loading ??= load(testFiles ?? []));
  return {
    capabilities: () => ({ reloadEnvironment: false }),
    dryRun: async () => {
      await loaded();
      const result = await runTests(collected, context, false);
      const { mutantCoverage } = context;
      return result.status === DryRunStatus.Complete && mutantCoverage !== undefined
        ? { ...result, mutantCoverage }
        : result;
    },
    mutantRun: async ({ activeMutant, testFilter, hitLimit, mutantActivation, disableBail }) => {
      if (mutantActivation === "static") context.activeMutant = activeMutant.id;
      await loaded();
      context.activeMutant = activeMutant.id;
      if (hitLimit !== undefined) Object.assign(context, { hitLimit, hitCount: 0 });
      const wanted = new Set(testFilter);
      const tests = testFilter === undefined ? collected : collected.filter(({ id }) => wanted.has(id));
      try {
        return toMutantRunResult(await runTests(tests, context, !disableBail), disableBail);
      } finally {
        for (const key of ["activeMutant", "hitLimit", "hitCount"] as const) delete context[key];
      }
    },
  };
};
createRunner.inject = tokens(commonTokens.options);

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, "in-process", createRunner)];
