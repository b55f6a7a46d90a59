/**
 * Two lanes: the fast one is of every change (`npm test`), the slow one (`npm run test:slow`) of a release.
 * The slow one also runs the properties in a longer form, and the use cases on DynamoDB Local.
 */
const LANES = {
  fast: { testMatch: ["**/*.test.ts"], testPathIgnorePatterns: ["\\.slow\\.test\\.ts$"] },
  slow: {
    testMatch: [
      "**/*.slow.test.ts",
      "**/*.properties.test.ts",
      "<rootDir>/test/proof/**/*.test.ts",
      "<rootDir>/test/customers/**/*.test.ts",
    ],
  },
};

/** @type {import("jest").Config} */
export default {
  testEnvironment: "node",
  roots: ["<rootDir>/test"],
  ...(process.env.LANE === "slow" ? LANES.slow : LANES.fast),
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
  // Tests wait for processes and databases: two at a time also where there are two processors.
  maxWorkers: "100%",
  testTimeout: 120_000,
  modulePathIgnorePatterns: ["<rootDir>/cdk.out"],
};
