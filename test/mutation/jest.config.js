import jest from "../../jest.config.js";

/**
 * For mutation testing: the tests of verification, join, identity, entitlement rules and the times of refreshes. None of them needs a database.
 *
 * @type {import("jest").Config}
 */
const { globalSetup: _start, globalTeardown: _stop, ...shared } = jest;
export default {
  ...shared,
  rootDir: "../..",
  moduleNameMapper: { ...shared.moduleNameMapper, "/once\\.ts$": "<rootDir>/test/mutation/not-once.ts" },
  testMatch: [
    "<rootDir>/test/mutation/entitlements.ts",
    "<rootDir>/test/mutation/verification.ts",
    "<rootDir>/test/customers/resolve-customer.test.ts",
    "<rootDir>/test/customers/plan-customer-change.test.ts",
    "<rootDir>/test/customers/plan-refreshes.test.ts",
    "<rootDir>/test/proof/any-order.test.ts",
    "<rootDir>/test/freshness/*.test.ts",
  ],
};
