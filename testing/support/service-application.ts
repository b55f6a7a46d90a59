import { v7 as uuid } from "uuid";
import type { Manifest } from "../../lib/administration/manifest/manifest.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { allowedDestinations } from "../../lib/delivery/allowed-destinations.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { originOf } from "../../lib/stores/android-store/workload-identity.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import type { AndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { signJws, type JwsSigner, type SigningChain } from "../../sandbox/ios-store/signing.ts";
import {
  appTransactionPayload,
  newIdentifier,
  transactionPayload,
  type SandboxCustomer,
  type SandboxTransaction,
} from "../../sandbox/ios-store/shop/app-store.ts";
import { createApplication, manifestFrom, type AppliedApplication } from "../application.ts";

const DAY = 86_400_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly error?: string;
    readonly message?: string;
    readonly issues?: readonly { readonly path: string }[];
    readonly customerIdentifier?: string | null;
    readonly customerIdentifiers?: readonly string[];
    readonly applicationIdentifier?: string;
    readonly applicationAccountIdentifier?: string;
    readonly entitlements?: readonly CustomerEntitlement[];
  };
}

export interface SendOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ManifestOptions {
  readonly bundleIdentifier: string;
  readonly packageName: string;
  readonly iosStore: object;
  readonly androidEnvironments: readonly string[];
  /** Unset: the sandbox's workload identity. */
  readonly androidCredential: object | null;
  /** Unset: nobody may push the package's notifications. */
  readonly androidNotifications: object | null;
  readonly products: readonly object[];
}

export interface TestApplication {
  readonly identifier: ApplicationId;
  readonly bundleIdentifier: string;
  readonly packageName: string;
  readonly key: string;
  issue: AppliedApplication["issue"];
  device(changes?: Partial<SandboxCustomer>, signer?: JwsSigner): Device;
  buyOnAndroid(purchase?: object): string;
  linkAndroid(purchaseToken: string, account: string, changes?: object): Promise<Answer>;
  link(request: object, account: string): Promise<Answer>;
  synchronize(request: object, account?: string | null): Promise<Answer>;
  read(account: string): Promise<Answer>;
}

/** One Apple Account's copy of the application's iOS app. */
export interface Device {
  /** A request of the app: its app transaction and the given transactions. */
  request(...transactions: readonly Partial<SandboxTransaction>[]): {
    signedAppTransaction: string;
    signedTransactions: string[];
  };
}

export const PRODUCTS = [
  { store: "ios-store", productIdentifier: "monthly", grants: ["premium"] },
  { store: "ios-store", productIdentifier: "basic", grants: ["basics"] },
  { store: "ios-store", productIdentifier: "forever", grants: ["premium"] },
  { store: "ios-store", productIdentifier: "day_pass", grants: ["premium"], accessDuration: "P1D" },
  {
    store: "android-store",
    productIdentifier: "premium",
    basePlanIdentifier: "monthly",
    grants: ["premium"],
  },
  { store: "android-store", productIdentifier: "maps", grants: ["maps"] },
] as const;

/** A monthly subscription that was bought ten days ago. */
const aSandboxTransaction = (
  changes: Partial<SandboxTransaction>,
  now: number = Date.now(),
): SandboxTransaction => ({
  productIdentifier: "monthly",
  type: "Auto-Renewable Subscription",
  purchaseDate: now - 10 * DAY,
  expiresDate: now + 20 * DAY,
  signedDate: now - 1000,
  ...changes,
});

/** Parts of a test service from which its applications are made. */
interface Surroundings {
  readonly table: Table;
  readonly chain: SigningChain;
  readonly android: AndroidPublisherSandbox;
  /** Address of the sandbox's publisher API. */
  readonly androidRoot: string;
  readonly destinations: string | undefined;
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<Answer>;
}

const manifestOf = (
  identifier: ApplicationId,
  options: ManifestOptions,
  { android, androidRoot, destinations }: Surroundings,
): Manifest =>
  manifestFrom(
    {
      application: { identifier, name: "Trails" },
      stores: {
        "ios-store": [{ bundleIdentifier: options.bundleIdentifier, ...options.iosStore }],
        "android-store": [
          {
            packageName: options.packageName,
            environments: options.androidEnvironments,
            credential: options.androidCredential ?? {
              workloadIdentity: android.externalAccount(androidRoot),
            },
            ...(options.androidNotifications !== null && { notifications: options.androidNotifications }),
          },
        ],
      },
      entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: { displayName: "Maps" } },
      products: options.products,
    },
    originOf(androidRoot),
    allowedDestinations(destinations),
  );

const deviceOf = (customer: SandboxCustomer, signer: JwsSigner): Device => ({
  request: (...transactions) => ({
    signedAppTransaction: signJws(appTransactionPayload(customer), signer),
    signedTransactions: transactions.map((transaction) =>
      signJws(transactionPayload(customer, aSandboxTransaction(transaction)), signer),
    ),
  }),
});

type Calls = Pick<TestApplication, "linkAndroid" | "link" | "synchronize" | "read">;

const callsOf = (key: string, packageName: string, send: Surroundings["send"]): Calls => ({
  linkAndroid: (purchaseToken, account, changes = {}) =>
    send("POST", "/v1/customers/android-store/link", {
      key,
      body: {
        packageName,
        purchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: account,
        ...changes,
      },
    }),
  link: (request, account) =>
    send("POST", "/v1/customers/ios-store/link", {
      key,
      body: { ...request, applicationAccountIdentifier: account },
    }),
  synchronize: (request, account) =>
    send("POST", "/v1/customers/ios-store/synchronize", {
      body: { ...request, ...(account !== undefined && { applicationAccountIdentifier: account }) },
    }),
  read: (account) => send("GET", `/v1/customers/${encodeURIComponent(account)}/entitlements`, { key }),
});

/** Creates applications of a test service. */
export const applicationsOf =
  (surroundings: Surroundings) =>
  async (changes: Partial<ManifestOptions> = {}): Promise<TestApplication> => {
    const { table, chain, android, send } = surroundings;
    const identifier = applicationId(uuid());
    const name = `com.example.t${identifier.replaceAll("-", "")}`;
    const options: ManifestOptions = {
      bundleIdentifier: name,
      packageName: name,
      iosStore: { appAppleIdentifier: 1_234_567_890 },
      androidEnvironments: ["production", "sandbox"],
      androidCredential: null,
      androidNotifications: null,
      products: PRODUCTS,
      ...changes,
    };
    const manifest = manifestOf(identifier, options, surroundings);
    const { key, issue } = await createApplication(table, manifest, Date.now);
    const { bundleIdentifier, packageName } = options;
    const aCustomer = (changes: Partial<SandboxCustomer>): SandboxCustomer => ({
      bundleIdentifier,
      appAppleIdentifier: 1_234_567_890,
      environment: "Production",
      appTransactionIdentifier: newIdentifier(changes.environment ?? "Production"),
      receiptCreationDate: Date.now() - 1000,
      ...changes,
    });
    const goods = { productIdentifier: "premium", basePlanIdentifier: "monthly" };
    return {
      identifier,
      bundleIdentifier,
      packageName,
      key,
      issue,
      device: (changes = {}, signer = chain) => deviceOf(aCustomer(changes), signer),
      buyOnAndroid: (purchase = {}) =>
        android.buy({ packageName, productKind: "subscription", ...goods, ...purchase }),
      ...callsOf(key, packageName, send),
    };
  };
