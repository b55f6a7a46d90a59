import { APPLE_ID, BUNDLE } from "../stores/ios-store.ts";
import { PACKAGE_NAME } from "../stores/android-store.ts";

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
export const PRODUCTS = (["ios-store", "android-store"] as const).flatMap((store) =>
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
