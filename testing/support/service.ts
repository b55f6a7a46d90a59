import { v7 as uuid } from "uuid";
import { createGateway } from "../../local/gateway/gateway.ts";
import { createAndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { fingerprintOf, makeChain, type JwsSigner } from "../../sandbox/ios-store/signing.ts";
import { createCredentialTable } from "../../lib/table/applications/credentials.ts";
import { assemblyOf, SERVICE_APP } from "./local-gateway.ts";
import { undocumented } from "./openapi.ts";
import { serve } from "../server.ts";
import { startRoleGate } from "./table/role-gate.ts";
import { createTestTable } from "./table/table.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { allowedDestinations } from "../../lib/delivery/addresses.ts";
import { originOf } from "../../lib/stores/android-store/workload-identity.ts";
import type { SandboxCustomer, SandboxTransaction } from "../../sandbox/ios-store/shop/payloads.ts";
import { createApplication, manifestFrom, type ManifestFields, DEFAULT_PRODUCTS } from "../application.ts";
import { newDevice, signedRequest, subscription } from "./stores/signed-purchases.ts";
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

/** An application's choices; what is unset is the sandbox's. */
export interface ApplicationOptions {
  /** Of its bundle and its package. */
  readonly name?: string;
  readonly iosStore?: object;
  /** Fields of the package. Without `notifications`, nobody may push its notifications. */
  readonly androidStore?: object;
  readonly products?: readonly object[];
}

export const PRODUCTS = [
  ...DEFAULT_PRODUCTS,
  { store: "ios-store", productIdentifier: "basic", grants: ["basics"] },
  { store: "ios-store", productIdentifier: "forever", grants: ["premium"] },
] as const;

interface SendOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
type Send = (method: string, path: string, options?: SendOptions) => Promise<Answer>;

/** Sends requests to the service at an address. Their answers must be as documented. */
const sendingTo =
  (address: string): Send =>
  async (method, path, { key, body, headers } = {}) => {
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

/** Requests to an application. */
const callsOf = (key: string, packageName: string, send: Send) => ({
  linkAndroid: (purchaseToken: string, account: string, changes: object = {}) =>
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
  link: (request: object, account: string) =>
    send("POST", "/v1/customers/ios-store/link", {
      key,
      body: { ...request, applicationAccountIdentifier: account },
    }),
  synchronize: (request: object, account?: string | null) =>
    send("POST", "/v1/customers/ios-store/synchronize", {
      body: { ...request, ...(account !== undefined && { applicationAccountIdentifier: account }) },
    }),
  read: (account: string) =>
    send("GET", `/v1/customers/${encodeURIComponent(account)}/entitlements`, { key }),
});

/** What an application sells with, as a manifest. */
const manifestOf = (workloadIdentity: unknown, options: ApplicationOptions): ManifestFields => {
  const identifier = uuid();
  const { name = `com.example.t${identifier.replaceAll("-", "")}`, products = PRODUCTS } = options;
  const { iosStore = { appAppleIdentifier: APPLE_ID }, androidStore } = options;
  const environments = ["production", "sandbox"];
  return {
    application: { identifier, name },
    stores: {
      "ios-store": [{ bundleIdentifier: name, ...iosStore }],
      "android-store": [
        { packageName: name, environments, credential: { workloadIdentity }, ...androidStore },
      ],
    },
    entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: { displayName: "Maps" } },
    products,
  };
};

const deviceOf = (customer: SandboxCustomer, signer: JwsSigner) => ({
  /** A request of the app: its app transaction and the given transactions. */
  request: (...transactions: readonly Partial<SandboxTransaction>[]) => {
    const bought = transactions.map((one) => subscription({ productIdentifier: "monthly", ...one }));
    return signedRequest(customer, bought, signer);
  },
});

const ANDROID_GOODS = { productIdentifier: "premium", basePlanIdentifier: "monthly" };
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

  const send = sendingTo(address);
  const application = async (options: ApplicationOptions = {}) => {
    const manifest = manifestFrom(manifestOf(android.externalAccount(androidRoot), options), {
      trustsOrigin: originOf(androidRoot),
      allowsDestination: allowedDestinations(environment["DESTINATIONS"]),
    });
    const name = manifest.androidStore[0]?.packageName ?? "";
    const applied = await createApplication(table, manifest, Date.now);
    return {
      ...applied,
      bundleIdentifier: name,
      packageName: name,
      /** One Apple Account's copy of the application's iOS app. */
      device: (changes: Partial<SandboxCustomer> = {}, signer: JwsSigner = chain) =>
        deviceOf(newDevice({ bundleIdentifier: name, appAppleIdentifier: APPLE_ID, ...changes }), signer),
      buyOnAndroid: (purchase: object = {}) =>
        android.buy({ packageName: name, productKind: "subscription", ...ANDROID_GOODS, ...purchase }),
      ...callsOf(applied.key, name, send),
    };
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
    application,
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
export type TestApplication = Awaited<ReturnType<TestService["application"]>>;
