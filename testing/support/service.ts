import { createGateway } from "../../local/gateway/gateway.ts";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../../sandbox/android-store/publisher.ts";
import {
  fingerprintOf,
  makeChain,
  type JwsSigner,
  type SigningChain,
} from "../../sandbox/ios-store/signing.ts";
import {
  newIdentifier,
  type SandboxCustomer,
  type SandboxTransaction,
} from "../../sandbox/ios-store/shop/payloads.ts";
import { createCredentialTable } from "../../lib/table/applications/credentials.ts";
import { assemblyOf, SERVICE_APP } from "./local-gateway.ts";
import { undocumented } from "./openapi.ts";
import { serve } from "../server.ts";
import { startRoleGate } from "./table/role-gate.ts";
import { createTestTable } from "./table/table.ts";
import { v7 as uuid } from "uuid";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { allowedDestinations } from "../../lib/delivery/addresses.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { originOf } from "../../lib/stores/android-store/workload-identity.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import {
  createApplication,
  manifestFrom,
  type AppliedApplication,
  DEFAULT_PRODUCTS,
} from "../application.ts";
import { signedRequest, subscription, type SignedRequest } from "./metered/purchases.ts";
import { APPLE_ID } from "./stores/ios-store.ts";

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

/** An application's choices; what is unset is the sandbox's. */
export interface ApplicationOptions {
  readonly bundleIdentifier?: string;
  readonly packageName?: string;
  readonly iosStore?: object;
  readonly androidEnvironments?: readonly string[];
  readonly androidCredential?: object;
  /** Unset: nobody may push the package's notifications. */
  readonly androidNotifications?: object;
  readonly products?: readonly object[];
}

export interface TestApplication extends AppliedApplication {
  readonly bundleIdentifier: string;
  readonly packageName: string;
  /** One Apple Account's copy of the application's iOS app. */
  device(changes?: Partial<SandboxCustomer>, signer?: JwsSigner): Device;
  buyOnAndroid(purchase?: object): string;
  linkAndroid(purchaseToken: string, account: string, changes?: object): Promise<Answer>;
  link(request: object, account: string): Promise<Answer>;
  synchronize(request: object, account?: string | null): Promise<Answer>;
  read(account: string): Promise<Answer>;
}

export interface Device {
  /** A request of the app: its app transaction and the given transactions. */
  request(...transactions: readonly Partial<SandboxTransaction>[]): SignedRequest;
}

export const PRODUCTS = [
  ...DEFAULT_PRODUCTS,
  { store: "ios-store", productIdentifier: "basic", grants: ["basics"] },
  { store: "ios-store", productIdentifier: "forever", grants: ["premium"] },
] as const;

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
  ({ table, chain, android, androidRoot, destinations, send }: Surroundings) =>
  async (options: ApplicationOptions = {}): Promise<TestApplication> => {
    const identifier = applicationId(uuid());
    const name = `com.example.t${identifier.replaceAll("-", "")}`;
    const { bundleIdentifier = name, packageName = name, androidNotifications: notifications } = options;
    const { iosStore = { appAppleIdentifier: APPLE_ID }, products = PRODUCTS } = options;
    const workloadIdentity = android.externalAccount(androidRoot);
    const androidPackage = {
      packageName,
      environments: options.androidEnvironments ?? ["production", "sandbox"],
      credential: options.androidCredential ?? { workloadIdentity },
      ...(notifications !== undefined && { notifications }),
    };
    const manifest = {
      application: { identifier, name: "Trails" },
      stores: { "ios-store": [{ bundleIdentifier, ...iosStore }], "android-store": [androidPackage] },
      entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: { displayName: "Maps" } },
      products,
    };
    const trust = {
      trustsOrigin: originOf(androidRoot),
      allowsDestination: allowedDestinations(destinations),
    };
    const applied = await createApplication(table, manifestFrom(manifest, trust), Date.now);
    const goods = { productIdentifier: "premium", basePlanIdentifier: "monthly" };
    return {
      ...applied,
      bundleIdentifier,
      packageName,
      device: (changes = {}, signer = chain) => {
        const customer: SandboxCustomer = {
          bundleIdentifier,
          appAppleIdentifier: APPLE_ID,
          environment: "Production",
          appTransactionIdentifier: newIdentifier(changes.environment ?? "Production"),
          receiptCreationDate: Date.now() - 1000,
          ...changes,
        };
        const monthly = (transaction: Partial<SandboxTransaction>): SandboxTransaction =>
          subscription({ productIdentifier: "monthly", ...transaction });
        return { request: (...transactions) => signedRequest(customer, transactions.map(monthly), signer) };
      },
      buyOnAndroid: (purchase = {}) =>
        android.buy({ packageName, productKind: "subscription", ...goods, ...purchase }),
      ...callsOf(applied.key, packageName, send),
    };
  };

const ANDROID_PREFIX = "/sandbox/android-publisher";

/** The whole service on a table of its own, as `npm start` runs it, without the demo. */
export const startTestService = async (environment: Record<string, string> = {}) => {
  const table = await createTestTable();
  const assembly = await assemblyOf(SERVICE_APP);
  const roles = await startRoleGate(assembly, process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  const chain = makeChain();
  const android = createAndroidPublisherSandbox({ now: Date.now, prefix: ANDROID_PREFIX });
  const log: string[] = [];
  const output: string[] = [];
  const requests: string[] = [];
  const { address, stop } = await serve(async (request, response) => {
    if (!(await android.handle(request, response))) await gateway.handle(request, response);
  });
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

  const send = async (
    method: string,
    path: string,
    { key, body, headers }: SendOptions = {},
  ): Promise<Answer> => {
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

  return {
    address,
    table,
    credentials: createCredentialTable(table),
    chain,
    android,
    /** Standard error of the functions. */
    log,
    /** Standard output of the functions: their log and metrics. */
    output,
    /** The readable line of each request. */
    requests,
    send,
    askGoogle: () => gateway.invoke("RefreshAndroidStorePurchases"),
    deliverMessages: () => gateway.invoke("DeliverMessages"),
    watchNotifications: () => gateway.invoke("WatchNotifications"),
    application: applicationsOf({
      table,
      chain,
      android,
      androidRoot,
      destinations: environment["DESTINATIONS"],
      send,
    }),
    stop: async () => {
      await stop();
      await gateway.stop();
      await roles.stop();
      await table.remove();
      // No function tried what its role does not allow.
      expect(roles.denied).toEqual([]);
    },
  };
};

export type TestService = Awaited<ReturnType<typeof startTestService>>;
