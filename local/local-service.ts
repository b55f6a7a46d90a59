import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { endpoints } from "../lib/contract/endpoints.ts";
import { APPLE_ROOTS } from "../lib/stores/ios-store/trust.ts";
import { requireTableFormat, TableFormatError } from "../lib/table/format.ts";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../sandbox/android-store/publisher.ts";
import { createIosPurchases } from "../sandbox/ios-store/purchases-endpoint.ts";
import {
  exportChain,
  fingerprintOf,
  importChain,
  makeChain,
  type SigningChain,
} from "../sandbox/ios-store/signing.ts";
import type { Mount } from "../sandbox/mount.ts";
import { openDataFolder, type DataFolder } from "./data-folder.ts";
import {
  connectionVariables,
  openDatabase,
  preparingTable,
  type Cleanup,
  type GivenDynamoDb,
} from "./database.ts";
import { DEMO, prepareDemo, type Demo } from "./demo.ts";
import { createDocumentation } from "./documentation.ts";
import { ANY_REGION } from "./dynamodb-local.ts";
import { createGateway, type Gateway } from "./gateway/gateway.ts";
import { LocalError } from "./local-error.ts";
import { ensureTable, tableOf } from "./local-table.ts";
import { close, listen } from "./server.ts";
import { synthesize } from "./synthesize.ts";
import { readAssembly, type Assembly } from "./template.ts";

export interface LocalServiceOptions {
  /** 0: any free one. */
  readonly port: number;
  /** A running DynamoDB, or the port to start DynamoDB Local on (0: any free one). */
  readonly dynamoDb: GivenDynamoDb | { readonly port: number };
  /** Null: everything is in memory. */
  readonly dataFolder: string | null;
  /** Unset: `customer-entitlements`. */
  readonly tableName?: string;
  /** Existing assembly; unset: the service is synthesized. */
  readonly assemblyFolder?: string;
  /** SHA-256 of roots trusted besides the sandbox's own, comma-separated; unset: Apple's. */
  readonly trustedRoots?: string;
  /** Replaces the sandbox's Android Publisher API. */
  readonly androidPublisherUrl?: string;
  /** Additional environment variables for all functions. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Receives the functions' standard error and the reasons of failures. */
  readonly log: (line: string) => void;
  /** Aborts the start: everything started is stopped, then the signal's reason is thrown. */
  readonly signal?: AbortSignal;
}

export interface LocalService {
  readonly address: string;
  readonly tableName: string;
  readonly dynamoDbEndpoint: string;
  readonly demo: Demo;
  /** Token of a purchase in the sandbox Android store; null if `androidPublisherUrl` replaces that store. */
  readonly androidPurchaseToken: string | null;
  /** Resolves when DynamoDB Local ends; never, if it was not started here. */
  readonly broken: Promise<void>;
  stop(): Promise<void>;
}

/** Default name of the local table. */
const TABLE_NAME = "customer-entitlements";
const CHAIN_FILE = "sandbox-ios-store.json";
const ANDROID_FILE = "sandbox-android-store.json";
const ANDROID_PREFIX = "/sandbox/android-publisher";
const ANDROID_NOTIFICATIONS = "/v1/notifications/android-store";
const ANDROID_PUSHES_AS = "play-push@sandbox.iam.gserviceaccount.com";
const IOS_PREFIX = "/sandbox/ios-store";

const now = (): number => Date.now();

const signingChain = (folder: DataFolder): SigningChain => {
  const kept = folder.read(CHAIN_FILE);
  try {
    if (kept !== null) return importChain(kept);
  } catch (cause) {
    throw new LocalError(
      `${CHAIN_FILE} in the data folder cannot be read; remove it, and new certificates are created.`,
      { cause },
    );
  }
  const chain = makeChain();
  folder.write(CHAIN_FILE, exportChain(chain));
  return chain;
};

const androidStore = (folder: DataFolder, address: string): AndroidPublisherSandbox => {
  const pushUrl = `${address}${ANDROID_NOTIFICATIONS}`;
  const served = Object.values(endpoints).map(({ path }): string => path);
  try {
    return createAndroidPublisherSandbox({
      now,
      prefix: ANDROID_PREFIX,
      pushUrl: served.includes(ANDROID_NOTIFICATIONS) ? pushUrl : null,
      audience: pushUrl,
      serviceAccount: ANDROID_PUSHES_AS,
      saved: folder.read(ANDROID_FILE),
    });
  } catch (cause) {
    if (cause instanceof LocalError) throw cause;
    throw new LocalError(
      `${ANDROID_FILE} in the data folder cannot be read; remove it, and the sandbox Android store starts empty.`,
      { cause },
    );
  }
};

/**
 * Runs two tasks concurrently. If one fails, the other is aborted and awaited, so that nothing keeps running unnoticed.
 *
 * @throws the first failure
 */
const together = async <A, B>(
  signal: AbortSignal,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal) => Promise<B>,
): Promise<readonly [A, B]> => {
  const controller = new AbortController();
  const either = AbortSignal.any([signal, controller.signal]);
  const both = [first(either), second(either)] as const;
  try {
    return await Promise.all(both);
  } finally {
    controller.abort();
    await Promise.allSettled(both);
  }
};

/**
 * Starts the whole service on 127.0.0.1: DynamoDB Local, the API of the synthesized stack, sandbox stores, the API
 * reference, and a demo application with a key.
 *
 * @throws LocalError that says what to do, if it cannot start; nothing is left running
 */
export const startLocalService = async (options: LocalServiceOptions): Promise<LocalService> => {
  const cleanups: Cleanup[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  };
  try {
    return await start(options, cleanups, stop);
  } catch (error) {
    await stop();
    throw error;
  }
};

const start = async (
  options: LocalServiceOptions,
  cleanups: Cleanup[],
  stop: () => Promise<void>,
): Promise<LocalService> => {
  const { signal = new AbortController().signal } = options;
  const folder = openDataFolder(options.dataFolder);
  cleanups.push(folder.release);
  const tableName = options.tableName ?? TABLE_NAME;

  // Listens first; early requests wait until the gateway is ready.
  const serving = Promise.withResolvers<{ readonly mounts: readonly Mount[]; readonly gateway: Gateway }>();
  const server = createServer((request, response) => {
    void (async () => {
      const { mounts, gateway } = await serving.promise;
      for (const mount of mounts) if (await mount(request, response)) return;
      await gateway.handle(request, response);
    })().catch((error: unknown) => {
      // A LocalError is the reason of a failed start, which the caller reports.
      if (!(error instanceof LocalError)) options.log(String(error));
      response.destroy();
    });
  });
  serving.promise.catch(() => undefined);
  const port = await listen(server, options.port);
  cleanups.push(async () => {
    serving.reject(new LocalError("The service is stopping."));
    await close(server);
  });
  const address = `http://127.0.0.1:${port}`;

  const [assembly, { connection, client, local }] = await together(
    signal,
    async (signal) => assemblyOf(options, cleanups, signal),
    async () => openDatabase(options.dynamoDb, folder, cleanups),
  );
  signal.throwIfAborted();
  const region = connection.region ?? ANY_REGION;
  const chain = signingChain(folder);
  const android = options.androidPublisherUrl === undefined ? androidStore(folder, address) : null;
  if (android !== null) cleanups.push(() => folder.write(ANDROID_FILE, android.save()));
  const publisherUrl = options.androidPublisherUrl ?? `${address}${ANDROID_PREFIX}`;
  const demo = await preparingTable(connection.endpoint, async () => {
    await ensureTable(client, tableName, tableOf(assembly, region));
    const table = { client: DynamoDBDocumentClient.from(client), name: tableName };
    await requireTableFormat(table).catch((error: unknown) => {
      throw error instanceof TableFormatError ? new LocalError(error.message) : error;
    });
    return prepareDemo(
      table,
      folder,
      {
        publisherUrl,
        credential: (android ?? createAndroidPublisherSandbox({ now })).externalAccount(publisherUrl),
      },
      now,
    );
  });

  const gateway = createGateway({
    assembly,
    region,
    tableName,
    environment: {
      ...options.environment,
      ...connectionVariables(connection),
      ANDROID_PUBLISHER_URL: publisherUrl,
      IOS_STORE_TRUSTED_ROOTS: [
        fingerprintOf(chain.root),
        options.trustedRoots ?? APPLE_ROOTS.join(","),
      ].join(","),
    },
    log: options.log,
  });
  cleanups.push(gateway.stop);
  serving.resolve({
    gateway,
    mounts: [
      createDocumentation(),
      createIosPurchases({ prefix: IOS_PREFIX, signer: chain, now, ...DEMO }),
      ...(android ? [android.handle] : []),
    ],
  });

  return {
    address,
    tableName,
    dynamoDbEndpoint: connection.endpoint,
    demo,
    androidPurchaseToken:
      android?.buy({
        packageName: DEMO.packageName,
        productKind: "subscription",
        productIdentifier: DEMO.androidSubscription,
        basePlanIdentifier: DEMO.androidBasePlan,
      }) ?? null,
    broken: local?.ended ?? new Promise(() => undefined),
    stop,
  };
};

/** The given assembly, or one synthesized for this run and removed after it. */
const assemblyOf = async (
  { assemblyFolder }: LocalServiceOptions,
  cleanups: Cleanup[],
  signal: AbortSignal,
): Promise<Assembly> => {
  if (assemblyFolder !== undefined) return readAssembly(assemblyFolder);
  const temporary = mkdtempSync(join(tmpdir(), "entitlements-"));
  const remove = (): void => rmSync(temporary, { recursive: true, force: true });
  process.once("exit", remove);
  cleanups.push(() => {
    process.removeListener("exit", remove);
    remove();
  });
  return synthesize({ folder: temporary, signal });
};
