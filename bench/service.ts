import { execFile, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type SigningChain, fingerprintOf, importChain } from "../sandbox/ios-store/signing.ts";
import { endpoints } from "../lib/contract/endpoints.ts";
import { DEMO } from "../local/demo.ts";
import { startLocalService } from "../local/local-service.ts";
import { localAwsVariables } from "../testing/dynamodb.ts";
import {
  newDevice,
  renewableSubscription,
  signedRequest,
} from "../testing/support/stores/signed-purchases.ts";

export const run = promisify(execFile);

/** Acts in a new folder, which is then removed. */
export const inFolder = async <Result>(act: (folder: string) => Promise<Result>): Promise<Result> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    return await act(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run \`npm run bench\`.`);
  return value;
};

const ANDROID_PREFIX = "/sandbox/android-publisher";

/** Certificate chain with which all parts of a run sign, and which they trust. */
export const runChain = (): SigningChain => (chain ??= importChain(requiredVariable("BENCH_CHAIN")));
let chain: SigningChain | undefined;

/** @throws unless it is answered with success */
const postTo = async (url: string, body: object, apiKey: string): Promise<unknown> => {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: `Bearer ${apiKey}`,
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
};

/** Links the Android subscription of the demo application. */
const androidLink = (purchaseToken: string) => ({
  packageName: DEMO.packageName,
  purchaseToken,
  productKind: "subscription",
  applicationAccountIdentifier: "android-subscriber",
});

/** The whole service on the local gateway, with a subscriber on one account. */
export const startBenchService = async () => {
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
  const device = newDevice();
  const bought = renewableSubscription();
  const request = signedRequest(device, [bought], chain);
  const androidPurchaseToken = service.androidPurchaseToken ?? "";
  const link = (path: string, body: object) => postTo(`${service.address}${path}`, body, service.demo.apiKey);
  await link(endpoints.linkIosStoreCustomer.path, { ...request, applicationAccountIdentifier: account });
  await link(endpoints.linkAndroidStoreCustomer.path, androidLink(androidPurchaseToken));
  return {
    address: service.address,
    tableName: service.tableName,
    apiKey: service.demo.apiKey,
    androidPurchaseToken,
    account,
    /** Request of the subscriber's app. */
    request,
    stop: async () => {
      await service.stop();
      if (log.length > 0) process.stderr.write(`${log.slice(0, 10).join("\n")}\n`);
    },
  };
};

export type BenchService = Awaited<ReturnType<typeof startBenchService>>;

/** The service in its own process, apart from what measures it. A message stops it. */
export const serve = async (): Promise<BenchService> => {
  const server = fork(fileURLToPath(import.meta.url), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [described]: Omit<BenchService, "stop">[] = await once(server, "message");
  if (described === undefined) throw new Error("The service did not start.");
  return {
    ...described,
    stop: async () => {
      server.send("stop");
      await once(server, "exit");
    },
  };
};

/** Events that API Gateway would send to the functions, by function name. */
export const eventsOf = (service: BenchService) => {
  const { tableName, request, account, androidPurchaseToken, apiKey } = service;
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
    "link-android-store-customer": posted(androidLink(androidPurchaseToken)),
  };
};

/** Environment variables of a function. */
const functionEnvironment = (service: BenchService, name: string): Record<string, string> => ({
  PATH: requiredVariable("PATH"),
  LANG: "en_US.UTF-8",
  TZ: ":UTC",
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "1024",
  AWS_LAMBDA_FUNCTION_NAME: name,
  AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
  AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
  AWS_DEFAULT_REGION: "us-east-1",
  ...localAwsVariables(requiredVariable("AWS_ENDPOINT_URL_DYNAMODB")),
  TABLE_NAME: service.tableName,
  POWERTOOLS_SERVICE_NAME: "customer-entitlements",
  ANDROID_PUBLISHER_URL: `${service.address}${ANDROID_PREFIX}`,
  IOS_STORE_TRUSTED_ROOTS: fingerprintOf(runChain().root),
});

/** Milliseconds until a function is loaded and has answered, and per further invocation; the CPU times are of all threads. */
export type Timings = Readonly<
  Record<"load" | "answer" | "loadCpu" | "answerCpu" | "milliseconds" | "cpuMilliseconds", number>
>;

const INVOKER = fileURLToPath(new URL("workers/invoke.cjs", import.meta.url));

/**
 * Invokes a bundled function in a fresh process, with the events in turn.
 *
 * @param counts invocations after the first: those that are not counted, and those that are
 */
export const invoke = async (
  service: BenchService,
  { name, file }: { readonly name: string; readonly file: string },
  events: readonly unknown[],
  counts: readonly [warmUps: number, counted: number] = [0, 0],
): Promise<Timings> => {
  const [eventFile, resultFile] = [`${file}.events.json`, `${file}.result.json`];
  writeFileSync(eventFile, JSON.stringify(events));
  await run(process.execPath, [INVOKER, file, eventFile, resultFile, ...counts.map(String)], {
    env: functionEnvironment(service, name),
  });
  return JSON.parse(readFileSync(resultFile, "utf8"));
};

if (import.meta.main) {
  const { stop, ...described } = await startBenchService();
  process.on("message", () => void stop().then(() => process.exit(0)));
  process.send?.(described);
}
