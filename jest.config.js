/** @type {import("jest").Config} */
export default {
  testEnvironment: "node",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
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
