import type { Instant } from "../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import { manifestFrom } from "../application.ts";
import { startTestStores } from "../stores.ts";
import { APPLE_ID, BUNDLE } from "./stores/ios-store.ts";
import { PACKAGE_NAME } from "./stores/android-store.ts";
import { connect } from "../../operator/connection.ts";
import { runFiles } from "../../operator/import/run-command.ts";
import { openSession } from "../../operator/session.ts";
import { pause } from "../../lib/pause.ts";
import { meter, type Consumption } from "./table/meter.ts";

/** What the persons of an export buy. */
export const CATALOGS = {
  "ios-store": {
    app: BUNDLE,
    subscription: "com.example.trails.premium.monthly",
    oneTimeProduct: "com.example.trails.lifetime",
    notMapped: "com.example.trails.retired",
  },
  "android-store": {
    app: PACKAGE_NAME,
    subscription: "premium",
    basePlan: "monthly",
    oneTimeProduct: "lifetime",
    notMapped: "retired",
  },
} as const;

/** The products of {@link CATALOGS} that the manifest maps. */
const PRODUCTS = (["ios-store", "android-store"] as const).flatMap((store) =>
  [CATALOGS[store].subscription, CATALOGS[store].oneTimeProduct].map((productIdentifier) => ({
    store,
    productIdentifier,
    grants: ["premium"],
  })),
);

export const MANIFEST = {
  application: { name: "Trails" },
  stores: {
    "ios-store": [
      { bundleIdentifier: BUNDLE, appAppleIdentifier: APPLE_ID, environments: ["production", "sandbox"] },
    ],
    "android-store": [{ packageName: PACKAGE_NAME, credential: { secret: "trails/play" } }],
  },
  entitlements: { premium: {} },
  products: PRODUCTS,
};

const environments = ["production", "sandbox"] as const;

/** Both sandbox stores and the secret of Apple's key, served for an import of one application, which may ask both. */
export const serveImportStores = async (identifier: ApplicationId, now: () => Instant) => {
  const app = `com.example.t${identifier.replaceAll("-", "")}`;
  let secretsRead = 0;
  const notTaken = (): never => {
    throw new Error("The stores of an import notify nobody.");
  };
  const stores = await startTestStores(notTaken, now, () => false);
  stores.mounts.unshift(async ({ headers }) => {
    if (headers["x-amz-target"] === "secretsmanager.GetSecretValue") secretsRead += 1;
    return false;
  });
  const { ios, android, environment, stop } = stores;
  const { issuerIdentifier, keyIdentifier } = ios.serverKey;
  const serverApi = { issuerIdentifier, keyIdentifier, secret: "replaced" };
  const manifest = manifestFrom({
    // An import moves nobody all the same.
    application: { identifier, name: "Trails", transfers: "always" },
    stores: {
      "ios-store": [{ bundleIdentifier: app, appAppleIdentifier: APPLE_ID, environments, serverApi }],
      "android-store": [{ packageName: app, environments, credential: { secret: "replaced" } }],
    },
    entitlements: { premium: {} },
    products: PRODUCTS,
  });
  return {
    app,
    catalogs: {
      "ios-store": { ...CATALOGS["ios-store"], app },
      "android-store": { ...CATALOGS["android-store"], app },
    },
    ios,
    android,
    manifest: stores.withCredentials(manifest),
    /** Variables by which the operator reaches the stores. */
    environment: { ...environment, AWS_ENDPOINT_URL_STS: "" },
    secretsRead: () => secretsRead,
    stop,
  };
};

/** Runs `import run` in this process, and counts its requests to the table. */
export const meteredRun = async (
  paths: readonly string[],
  application: string,
  environment: Readonly<Record<string, string>>,
): Promise<Consumption> => {
  const connection = await connect(environment["TABLE_NAME"] ?? "", { ...process.env, ...environment });
  const counted = meter(connection.store.client);
  const effects = { now: Date.now, wait: pause, waitForIndex: async () => undefined };
  const session = await openSession(connection, effects, () => undefined);
  try {
    await runFiles.run(
      { confirm: async () => undefined, progress: () => undefined, terminal: null },
      { files: paths, application, rate: "1000" },
      (run) => run(session),
    );
    return counted.take();
  } finally {
    connection.close();
  }
};
