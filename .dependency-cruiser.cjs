const only = (from, allowed) => ({
  name: `${from.replace(/\W+/g, "-")}-imports-one-way`,
  severity: "error",
  from: { path: `^${from}` },
  to: { path: "^(lib|functions|infra|test|bench)/", pathNot: allowed.map((path) => `^${path}`) },
});

/** Imports run one way: contract ← entitlements ← stores, applications, table ← customers ← service ← functions. */
/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    only("lib/(?:identifiers|once|order)", []),
    only("lib/contract/", ["lib/contract/", "lib/once"]),
    only("lib/entitlements/", ["lib/entitlements/", "lib/contract/", "lib/(?:identifiers|once|order)"]),
    only("lib/stores/ios-store/", [
      "lib/stores/ios-store/",
      "lib/entitlements/",
      "lib/contract/",
      "lib/(?:identifiers|once|order)",
    ]),
    only("lib/stores/android-store/", [
      "lib/stores/android-store/",
      "lib/entitlements/",
      "lib/contract/",
      "lib/(?:identifiers|once|order)",
    ]),
    only("lib/applications/", [
      "lib/applications/",
      // Asked when a credential is applied, and again where it is used.
      "lib/stores/android-store/workload-identity",
      "lib/entitlements/",
      "lib/contract/",
      "lib/(?:identifiers|once|order)",
    ]),
    only("lib/table/", [
      "lib/table/",
      "lib/applications/",
      "lib/entitlements/",
      "lib/contract/",
      "lib/(?:identifiers|once|order)",
    ]),
    only("lib/customers/", ["lib/"]),
    only("lib/service", ["lib/"]),
    {
      name: "nobody-below-imports-the-service",
      severity: "error",
      from: { path: "^lib/", pathNot: "^lib/service" },
      to: { path: "^lib/service" },
    },
    only("functions/", ["functions/", "lib/"]),
    only("infra/", ["infra/", "lib/"]),
    {
      name: "lib-knows-no-lambda",
      severity: "error",
      from: { path: "^lib/" },
      to: { path: "@middy|aws-lambda|aws-cdk" },
    },
    {
      name: "packages-are-declared",
      severity: "error",
      from: { path: "^(lib|functions)/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], pathNot: "@types" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    parser: "swc",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      extensions: [".ts", ".js", ".json"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
    },
  },
};
