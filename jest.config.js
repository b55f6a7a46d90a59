const SLOW_FILES = "\\.slow\\.test\\.ts$";

/**
 * Two lanes: the fast one is of every change (`npm test`), the slow one (`npm run test:slow`) of a release.
 * The slow one also runs the properties in a longer form, and the use cases on DynamoDB Local.
 */
const LANES = {
  fast: { testMatch: ["**/*.test.ts"], testPathIgnorePatterns: [SLOW_FILES] },
  slow: {
    testMatch: [
      "**/*.slow.test.ts",
      "<rootDir>/test/{proof,customers,delivery,telling,entitlements,stores,table,local/clock}/**/*.test.ts",
    ],
    testPathIgnorePatterns: [],
  },
};
const lane = process.env.LANE === "slow" ? LANES.slow : LANES.fast;

/**
 * Rooms whose tests keep no state in the process. The light runner loads each module once for all their files, where Jest
 * loads it once for each file. It applies no timeout: `end-hung-tests.ts` does.
 */
const LIGHT_ROOMS = [
  "administration",
  "client",
  "documents",
  "operator",
  "scripts",
  "tools",
  "applications",
  "console",
  "contract",
  "customers",
  "delivery",
  "entitlements",
  "queues",
  "proof",
  "stores",
  "table",
  "telling",
].join("|");

/** @type {import("jest").Config} */
const shared = {
  ...lane,
  testEnvironment: "node",
  roots: ["<rootDir>/test"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": [
      "@swc/jest",
      {
        jsc: { target: "es2024", parser: { syntax: "typescript" } },
        module: { type: "es6" },
        sourceMaps: "inline",
      },
    ],
  },
  globalSetup: "<rootDir>/test/support/start-local-ends.ts",
  globalTeardown: "<rootDir>/test/support/stop-local-ends.ts",
  modulePathIgnorePatterns: ["<rootDir>/cdk.out"],
};

/** @type {import("jest").Config} */
export default {
  projects: [
    {
      ...shared,
      runner: "jest-light-runner",
      testPathIgnorePatterns: [SLOW_FILES, `<rootDir>/test/(?!(?:${LIGHT_ROOMS})/)`],
      setupFilesAfterEnv: ["<rootDir>/test/support/end-hung-tests.ts"],
    },
    {
      ...shared,
      testPathIgnorePatterns: [
        ...lane.testPathIgnorePatterns,
        `<rootDir>/test/(?:${LIGHT_ROOMS})/.*(?<!\\.slow)\\.test\\.ts$`,
      ],
    },
  ],
  // Tests wait for processes and databases: two at a time also where there are two processors.
  maxWorkers: "100%",
  testTimeout: 120_000,
};
