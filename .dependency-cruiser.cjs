/** Files of no room: helpers that import one another alone. */
const SMALL = "lib/[a-z-]+\\.ts$";

const only = (from, allowed) => ({
  name: `${from.replace(/\W+/g, "-")}-imports-one-way`,
  severity: "error",
  from: { path: `^${from}` },
  to: {
    path: "^(lib|functions|infra|local|sandbox|operator|smoke|testing|client|console|tools|test|bench)/",
    pathNot: [from, ...allowed].map((path) => `^${path}`),
  },
});

const STORES = ["lib/stores/[a-z-]+\\.ts$", "lib/entitlements/", "lib/contract/", SMALL];
const DOMAIN = [
  "lib/queues/",
  "lib/stores/",
  "lib/applications/",
  "lib/entitlements/",
  "lib/contract/",
  SMALL,
];

/**
 * Imports run one way: contract ← entitlements ← stores, applications, queues ← customers ← telling ← delivery ←
 * administration ← table ← functions, operator ← local. Use cases own the ports that they need, and the table fills them; infra reads the
 * contract and the table's keys. Tests import anything.
 */
/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    only(SMALL, []),
    only("operator/taken-by-npm\\.ts$", []),
    only("lib/contract/", ["lib/once\\.ts$"]),
    only("lib/entitlements/", ["lib/contract/", SMALL]),
    only("lib/stores/[a-z-]+\\.ts$", ["lib/entitlements/time\\.ts$", SMALL]),
    only("lib/stores/ios-store/", STORES),
    only("lib/stores/android-store/", STORES),
    // An application's configuration holds a store's key and credential, whose types these are.
    only("lib/applications/", [
      "lib/stores/ios-store/app-store-server",
      "lib/stores/android-store/publisher",
      "lib/entitlements/",
      "lib/contract/",
      SMALL,
    ]),
    only("lib/queues/", ["lib/entitlements/time\\.ts$", SMALL]),
    only("lib/customers/", DOMAIN),
    only("lib/telling/", [
      "lib/customers/",
      "lib/queues/",
      "lib/applications/",
      "lib/entitlements/",
      "lib/contract/",
      SMALL,
    ]),
    only("lib/delivery/", [
      "lib/telling/",
      "lib/queues/",
      "lib/applications/",
      "lib/entitlements/",
      "lib/contract/",
      SMALL,
    ]),
    only("lib/administration/", ["lib/delivery/", "lib/telling/", "lib/customers/", ...DOMAIN]),
    only("lib/table/", [
      "lib/administration/",
      "lib/delivery/",
      "lib/telling/",
      "lib/customers/",
      "lib/queues/",
      "lib/applications/",
      "lib/entitlements/",
      "lib/contract/",
      SMALL,
    ]),
    only("lib/table/dynamodb/", [
      "lib/table/keys\\.ts$",
      "lib/entitlements/time\\.ts$",
      "lib/contract/schemas\\.ts$",
      SMALL,
    ]),
    only("functions/", ["lib/(?!administration/)"]),
    only("infra/", [
      "lib/contract/",
      "lib/table/keys\\.ts$",
      "lib/applications/credential\\.ts$",
      "lib/duration\\.ts$",
      "lib/delivery/webhook-secret\\.ts$",
    ]),
    only("sandbox/", [
      "lib/contract/",
      "lib/entitlements/time\\.ts$",
      "lib/(?:duration|bounded-text|order)\\.ts$",
    ]),
    only("operator/", ["lib/"]),
    only("smoke/", ["operator/", "sandbox/ios-store/", "lib/contract/", "lib/duration\\.ts$"]),
    // The stack is synthesized in a process of its own; what deploys is read from what that writes.
    only("local/lambda/default-app\\.ts$", ["infra/app\\.ts$"]),
    // The console on this machine is the operator's, beside the sandbox.
    only("local/(?!lambda/default-app\\.ts$)", ["sandbox/", "operator/", "lib/"]),
    only("tools/", ["infra/bundling/", "lib/contract/"]),
    // The page knows the shapes of the server's answers, and nothing else.
    only("console/", ["operator/console/"]),
    only("testing/(?!support/)", ["functions/", "local/", "sandbox/", "lib/"]),
    only("testing/support/", ["testing/", "functions/", "local/", "operator/", "sandbox/", "lib/"]),
    only("client/", []),
    only("bench/", ["infra/bundling/", "functions/", "local/", "sandbox/", "lib/", "testing/"]),
    {
      name: "tests-are-imported-by-tests",
      severity: "error",
      from: { pathNot: "^test/" },
      to: { path: "^test/" },
    },
    {
      name: "applications-take-types-of-stores",
      severity: "error",
      from: { path: "^lib/applications/" },
      to: { path: "^lib/stores/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "lib-knows-no-lambda",
      severity: "error",
      from: { path: "^lib/" },
      to: { path: "@middy|aws-lambda|aws-cdk" },
    },
    {
      name: "packages-are-declared",
      severity: "error",
      // The console bundles its page from the sources, where the tools are.
      from: { path: "^(lib|functions|operator)/", pathNot: "^operator/console/assets\\.ts$" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], pathNot: "@types" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    parser: "swc",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      extensions: [".ts", ".tsx", ".js", ".json"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
    },
  },
};
