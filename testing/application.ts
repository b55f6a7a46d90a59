import { v7 as uuid } from "uuid";
import { applyManifest } from "../lib/administration/acts/apply.ts";
import type { ManifestTrust } from "../lib/administration/manifest/manifest-values.ts";
import { problemText, readManifest, type Manifest } from "../lib/administration/manifest/manifest.ts";
import { issueCredential } from "../lib/applications/credential.ts";
import { SCOPES, type Scope } from "../lib/contract/schemas.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { applicationId, type ApplicationId } from "../lib/identifiers.ts";
import { createApplicationTable } from "../lib/table/applications/applications.ts";
import { createCredentialTable } from "../lib/table/applications/credentials.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { originOf } from "../lib/stores/android-store/workload-identity.ts";
import type { SandboxPurchase } from "../sandbox/android-store/shop/requests.ts";
import type { RequestedPurchase } from "../sandbox/ios-store/shop/requests.ts";
import type { PersonsPurchases } from "../sandbox/ios-store/shop/payloads.ts";
import type { TestStores } from "./stores.ts";

/** The manifest's fields: see "Describe your application" in the README. */
export type ManifestFields = Readonly<Record<string, unknown>>;

/** A manifest: its text (YAML or JSON), or its fields. */
export type GivenManifest = string | ManifestFields;

/** @throws with every problem of the manifest */
export const manifestFrom = (given: GivenManifest, trust: Partial<ManifestTrust> = {}): Manifest => {
  if (typeof given === "string" && /^\S+\.(?:ya?ml|json)$/.test(given))
    throw new Error(`${given} is the name of a file: give the text that is in it.`);
  const reading = readManifest(typeof given === "string" ? given : JSON.stringify(given), trust);
  if (reading.outcome === "valid") return reading.manifest;
  throw new Error(`The manifest is not valid:\n${reading.problems.map(problemText).join("\n")}`);
};

/**
 * Creates an application in the table, or updates it. Its identifier is the manifest's, or a new one.
 *
 * @throws if one of its bundles or packages belongs to another application of the table
 */
export const saveApplication = async (table: Table, manifest: Manifest): Promise<ApplicationId> => {
  const identifier = manifest.identifier ?? applicationId(uuid());
  const applied = await applyManifest({ ...manifest, identifier }, identifier, createApplicationTable(table));
  if (applied.outcome === "applied") return identifier;
  throw new Error(
    `The application could not be applied (${applied.outcome}): a bundle or package belongs to one application. A manifest with names of its own is applied once, such as in beforeAll, or names its application: { identifier: <a UUID> }.`,
  );
};

/** {@link saveApplication}, with an API key. */
export const createApplication = async (table: Table, manifest: Manifest, now: () => Instant) => {
  const identifier = await saveApplication(table, manifest);
  const credentials = createCredentialTable(table);
  const issue = async (scopes: readonly Scope[], expiresAt: Instant | null = null) => {
    const { apiKey, credential } = issueCredential(
      { application: identifier, label: "test", scopes, expiresAt },
      now(),
    );
    await credentials.add(credential);
    return { apiKey, keyIdentifier: credential.keyIdentifier };
  };
  return {
    identifier,
    /** An API key with every scope. */
    key: (await issue(SCOPES)).apiKey,
    issue,
  };
};
type AppliedApplication = Awaited<ReturnType<typeof createApplication>>;

/** One product that an app buys; unset fields: a monthly subscription, bought now. */
export type IosGoods = NonNullable<RequestedPurchase["transactions"]>[number];

/** An application of the kit's table. */
export interface TestApplication extends Omit<AppliedApplication, "issue"> {
  /** Its first iOS bundle, and its first Android package; empty: it has none. */
  readonly bundleIdentifier: string;
  readonly packageName: string;
  /** Issues a key with these scopes alone. */
  issueKey(scopes: readonly Scope[], expiresAt?: Instant | null): Promise<string>;
  /**
   * Changes the application. The functions cache a catalog for up to a minute: `clock.advance("PT1M")` makes them see
   * it.
   */
  apply(manifest: GivenManifest): Promise<void>;
  /** A new person buys in the app. Returns what it then sends: a synchronize or link request without an account. */
  buyOnIos(...goods: readonly IosGoods[]): Promise<PersonsPurchases>;
  /** Buys in the Android app; returns the purchase token. Unset fields: a monthly subscription of the default manifest. */
  buyOnAndroid(purchase?: Partial<SandboxPurchase>): string;
}

/** Products of the default manifest; `day_pass` lasts a day. */
export const DEFAULT_PRODUCTS = [
  { store: "ios-store", productIdentifier: "monthly", grants: ["premium"] },
  { store: "ios-store", productIdentifier: "lifetime", grants: ["premium"] },
  { store: "ios-store", productIdentifier: "day_pass", grants: ["premium"], accessDuration: "P1D" },
  {
    store: "android-store",
    productIdentifier: "premium",
    basePlanIdentifier: "monthly",
    grants: ["premium"],
  },
  { store: "android-store", productIdentifier: "maps", grants: ["maps"] },
] as const;

/** A manifest with unique names, so that any number can be applied. */
export const defaultManifest = (): GivenManifest => {
  const identifier = uuid();
  const name = `com.example.t${identifier.replaceAll("-", "")}`;
  return {
    application: { identifier, name },
    stores: {
      "ios-store": [{ bundleIdentifier: name, appAppleIdentifier: 1_234_567_890 }],
      "android-store": [{ packageName: name, credential: { secret: "replaced" } }],
    },
    entitlements: { premium: { displayName: "Premium" }, maps: { displayName: "Maps" } },
    products: DEFAULT_PRODUCTS,
  };
};

/** @throws naming what the application sells instead */
const requireDefaultProduct = ({ catalog }: Manifest): void => {
  const sold = catalog.products.filter(({ store }) => store === "android-store");
  if (sold.some(({ productIdentifier }) => productIdentifier === "premium")) return;
  throw new Error(
    `The application sells no "premium": give buyOnAndroid a productIdentifier${sold.length === 0 ? "" : `, such as ${sold.map(({ productIdentifier }) => productIdentifier).join(", ")}`}.`,
  );
};

export const createTestApplication = async (
  given: GivenManifest,
  { table, stores, now }: { readonly table: Table; readonly stores: TestStores; readonly now: () => Instant },
): Promise<TestApplication> => {
  const trustsOrigin = originOf(stores.environment.ANDROID_PUBLISHER_URL);
  const read = (text: GivenManifest) => stores.withCredentials(manifestFrom(text, { trustsOrigin }));
  const manifest = read(given);
  const { issue, ...applied } = await createApplication(table, manifest, now);
  const { identifier } = applied;
  const [bundle] = manifest.iosStore;
  const packageName = manifest.androidStore[0]?.packageName ?? "";
  return {
    ...applied,
    bundleIdentifier: bundle?.bundleIdentifier ?? "",
    packageName,
    issueKey: async (scopes, expiresAt) => (await issue(scopes, expiresAt)).apiKey,
    apply: async (changed) => void (await saveApplication(table, { ...read(changed), identifier })),
    buyOnIos: async (...transactions) =>
      stores.ios.buy({
        ...(bundle !== undefined && { bundleIdentifier: bundle.bundleIdentifier }),
        ...(bundle?.appAppleIdentifier != null && { appAppleIdentifier: bundle.appAppleIdentifier }),
        transactions: [...transactions],
      }),
    buyOnAndroid: (purchase = {}) => {
      if (purchase.productIdentifier === undefined) requireDefaultProduct(manifest);
      return stores.android.buy({
        packageName,
        productKind: "subscription",
        productIdentifier: "premium",
        ...(purchase.productKind !== "one_time_product" && { basePlanIdentifier: "monthly" }),
        ...purchase,
      });
    },
  };
};
