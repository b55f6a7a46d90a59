import { randomUUID } from "node:crypto";
import { DEMO } from "../local/demo.ts";
import { startLocalService, type LocalService } from "../local/local-service.ts";
import { fingerprintOf, importChain } from "../sandbox/ios-store/signing.ts";
import { requiredVariable } from "./environment.ts";
import { newDevice, signedRequest, subscription, type Chain, type SignedRequest } from "./purchases.ts";

/** The whole service on the local gateway, with a subscriber on one account. */
export interface BenchService {
  readonly address: string;
  readonly tableName: string;
  readonly apiKey: string;
  readonly androidPurchaseToken: string;
  readonly account: string;
  /** Request of the subscriber's app. */
  readonly request: SignedRequest;
  stop(): Promise<void>;
}

const ANDROID_PREFIX = "/sandbox/android-publisher";

/** Certificate chain with which all parts of a run sign, and which they trust. */
export const runChain = (): Chain => (chain ??= importChain(requiredVariable("BENCH_CHAIN")));
let chain: Chain | undefined;

const post = async ({ address, demo }: LocalService, path: string, body: object): Promise<void> => {
  const response = await fetch(`${address}/v1/customers/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${demo.apiKey}` },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
};

export const startBenchService = async (): Promise<BenchService> => {
  const chain = runChain();
  const log: string[] = [];
  const service = await startLocalService({
    port: 0,
    dynamoDb: { endpoint: requiredVariable("AWS_ENDPOINT_URL_DYNAMODB") },
    dataFolder: null,
    runsByItself: false,
    tableName: `bench-${randomUUID()}`,
    assemblyFolder: requiredVariable("BENCH_ASSEMBLY"),
    trustedRoots: fingerprintOf(chain.root),
    log: (line) => void log.push(line),
  });
  const account = "subscriber";
  const request = signedRequest(newDevice(), [subscription()], chain);
  const androidPurchaseToken = service.androidPurchaseToken ?? "";
  await post(service, "ios-store/link", { ...request, applicationAccountIdentifier: account });
  await post(service, "android-store/link", {
    packageName: DEMO.packageName,
    purchaseToken: androidPurchaseToken,
    productKind: "subscription",
    applicationAccountIdentifier: "android-subscriber",
  });
  return {
    address: service.address,
    tableName: service.tableName,
    apiKey: service.demo.apiKey,
    androidPurchaseToken,
    account,
    request,
    stop: async () => {
      await service.stop();
      if (log.length > 0) process.stderr.write(`${log.slice(0, 10).join("\n")}\n`);
    },
  };
};

/** Events that API Gateway or the schedule would send to the functions, by function name. */
export const eventsOf = ({
  tableName,
  request,
  account,
  androidPurchaseToken,
  apiKey,
}: BenchService): Readonly<Record<string, unknown>> => {
  const requestContext = {
    requestId: "1",
    authorizer: { applicationIdentifier: DEMO.applicationIdentifier, keyIdentifier: "bench" },
  };
  const posted = (body: object) => ({ body: JSON.stringify(body), isBase64Encoded: false, requestContext });
  return {
    "authorize-credential": {
      authorizationToken: `Bearer ${apiKey}`,
      methodArn: `arn:aws:execute-api:us-east-1:123456789012:local/${tableName}/GET/v1/customers/1/entitlements`,
    },
    "read-account-entitlements": {
      pathParameters: { applicationAccountIdentifier: account },
      requestContext,
    },
    "synchronize-ios-store-purchases": posted(request),
    "link-ios-store-customer": posted({ ...request, applicationAccountIdentifier: account }),
    "link-android-store-customer": posted({
      packageName: DEMO.packageName,
      purchaseToken: androidPurchaseToken,
      productKind: "subscription",
      applicationAccountIdentifier: "android-subscriber",
    }),
    "acknowledge-due-purchases": {},
  };
};

/** Environment variables of a function. */
export const functionEnvironment = (service: BenchService, name: string): Record<string, string> => ({
  PATH: requiredVariable("PATH"),
  LANG: "en_US.UTF-8",
  TZ: ":UTC",
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "1024",
  AWS_LAMBDA_FUNCTION_NAME: name,
  AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
  AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
  AWS_REGION: "us-east-1",
  AWS_DEFAULT_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_ENDPOINT_URL_DYNAMODB: requiredVariable("AWS_ENDPOINT_URL_DYNAMODB"),
  TABLE_NAME: service.tableName,
  POWERTOOLS_SERVICE_NAME: "customer-entitlements",
  ANDROID_PUBLISHER_URL: `${service.address}${ANDROID_PREFIX}`,
  IOS_STORE_TRUSTED_ROOTS: fingerprintOf(runChain().root),
});
