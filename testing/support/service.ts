import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { v7 as uuid } from "uuid";
import type { InvocationResult } from "../../local/lambda/pool.ts";
import { createGateway } from "../../local/gateway/gateway.ts";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../../sandbox/android-store/publisher.ts";
import { fingerprintOf, makeChain, signJws, type SigningChain } from "../../sandbox/ios-store/signing.ts";
import {
  appTransactionPayload,
  newIdentifier,
  transactionPayload,
  type SandboxCustomer,
  type SandboxTransaction,
} from "../../sandbox/ios-store/shop/app-store.ts";
import type { Manifest } from "../../lib/administration/manifest/manifest.ts";
import { allowedDestinations } from "../../lib/delivery/allowed-destinations.ts";
import { originOf } from "../../lib/stores/android-store/workload-identity.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import type { CredentialTable } from "../../lib/administration/acts/credential-table.ts";
import { createCredentialTable } from "../../lib/table/applications/credentials.ts";
import { createApplication, manifestFrom, saveApplication, type AppliedApplication } from "../application.ts";
import { synthesizeForTest } from "./local-gateway.ts";
import { undocumented } from "./openapi.ts";
import { startRoleGate } from "./table/role-gate.ts";
import { createTestTable, type TestTable } from "./table/table.ts";

const APP = fileURLToPath(new URL("../../local/lambda/default-app.ts", import.meta.url));
const DAY = 86_400_000;
const ANDROID_PREFIX = "/sandbox/android-publisher";

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

/** The whole service on a table of its own, as `npm start` runs it, without the demo. */
export interface TestService {
  readonly address: string;
  readonly table: TestTable;
  readonly credentials: CredentialTable;
  readonly chain: SigningChain;
  readonly android: AndroidPublisherSandbox;
  /** Standard error of the functions. */
  readonly log: string[];
  /** Standard output of the functions: their log and metrics. */
  readonly output: string[];
  /** The readable line of each request. */
  readonly requests: string[];
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  /** Runs the scheduled function that acknowledges due purchases. */
  /** Runs the function that asks Google about due purchases. */
  askGoogle(): Promise<InvocationResult>;
  /** Runs the scheduled function that finds applications that stores notify no more. */
  watchNotifications(): Promise<InvocationResult>;
  /** Runs the function that delivers messages and forwards notifications. */
  deliverMessages(): Promise<InvocationResult>;
  /** An application with both stores, and a key with both scopes. */
  application(changes?: Partial<ManifestOptions>): Promise<TestApplication>;
  stop(): Promise<void>;
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
  /** Applies the manifest again with other products. */
  sell(products: readonly object[]): Promise<void>;
  device(changes?: Partial<SandboxCustomer>): Device;
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

export const startTestService = async (environment: Record<string, string> = {}): Promise<TestService> => {
  const table = await createTestTable();
  const assembly = (await synthesizeForTest(APP)).assembly;
  const roles = await startRoleGate(assembly, process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  const chain = makeChain();
  const android = createAndroidPublisherSandbox({ now: Date.now, prefix: ANDROID_PREFIX });
  const log: string[] = [];
  const output: string[] = [];
  const requests: string[] = [];
  const serving = Promise.withResolvers<ReturnType<typeof createGateway>>();
  const server = createServer((request, response) => {
    void (async () => {
      if (await android.handle(request, response)) return;
      await (await serving.promise).handle(request, response);
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const androidRoot = `${address}${ANDROID_PREFIX}`;
  const gateway = createGateway({
    assembly,
    region: "us-east-1",
    tableName: table.name,
    environment: {
      AWS_ENDPOINT_URL_DYNAMODB: roles.endpoint,
      ANDROID_PUBLISHER_URL: androidRoot,
      IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
      ...environment,
    },
    log: (line) => void log.push(line),
    output: (line) => void output.push(line),
    onRequest: (line) => void requests.push(line),
  });
  serving.resolve(gateway);

  const send: TestService["send"] = async (method, path, { key, body, headers } = {}) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
    const answered = JSON.parse(await response.text()) as Answer["body"];
    const wrong = undocumented(method, path, response.status, answered);
    if (wrong.length > 0) throw new Error(`The answer is not as documented: ${wrong.join("; ")}`);
    return { status: response.status, headers: response.headers, body: answered };
  };

  const credentials = createCredentialTable(table);

  const application: TestService["application"] = async (changes = {}) => {
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
    const manifestSelling = (products: readonly object[]): Manifest =>
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
                ...(options.androidNotifications !== null && {
                  notifications: options.androidNotifications,
                }),
              },
            ],
          },
          entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: { displayName: "Maps" } },
          products,
        },
        originOf(androidRoot),
        allowedDestinations(environment["DESTINATIONS"]),
      );
    const { key, issue } = await createApplication(table, manifestSelling(options.products), Date.now);
    const { bundleIdentifier, packageName } = options;

    return {
      identifier,
      bundleIdentifier,
      packageName,
      key,
      issue,
      sell: async (products) => void (await saveApplication(table, manifestSelling(products))),
      device: (changes = {}) => {
        const customer: SandboxCustomer = {
          bundleIdentifier,
          appAppleIdentifier: 1_234_567_890,
          environment: "Production",
          appTransactionIdentifier: newIdentifier(changes.environment ?? "Production"),
          receiptCreationDate: Date.now() - 1000,
          transactions: [],
          ...changes,
        };
        return {
          request: (...transactions) => ({
            signedAppTransaction: signJws(appTransactionPayload(customer), chain),
            signedTransactions: transactions.map((transaction) =>
              signJws(transactionPayload(customer, aSandboxTransaction(transaction)), chain),
            ),
          }),
        };
      },
      buyOnAndroid: (purchase = {}) =>
        android.buy({
          packageName,
          productKind: "subscription",
          productIdentifier: "premium",
          basePlanIdentifier: "monthly",
          ...purchase,
        }),
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
    };
  };

  return {
    address,
    table,
    credentials,
    chain,
    android,
    log,
    output,
    requests,
    send,
    askGoogle: () => gateway.invoke("RefreshAndroidStorePurchases"),
    deliverMessages: () => gateway.invoke("DeliverMessages"),
    watchNotifications: () => gateway.invoke("WatchNotifications"),
    application,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
      await gateway.stop();
      await roles.stop();
      await table.remove();
      // No function tried what its role does not allow.
      expect(roles.denied).toEqual([]);
    },
  };
};
