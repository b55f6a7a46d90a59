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
  testTimeout: 120_000,
  // Fuzzing and the comparison with another library take minutes: `npm run test:long` runs them too.
  testPathIgnorePatterns: process.env.LONG ? [] : ["/test/proof/fuzz/", "/test/proof/comparison/"],
  modulePathIgnorePatterns: ["<rootDir>/cdk.out"],
};
