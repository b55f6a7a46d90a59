import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { APPLE_ROOTS } from "../lib/stores/ios-store/trust.ts";
import { requireTableFormat, TableFormatError } from "../lib/table/dynamodb/format.ts";
import { masterSecretName } from "../lib/telling/master-secret.ts";
import type { Mount } from "../sandbox/mount.ts";
import { createClockEndpoint } from "./clock/clock-endpoint.ts";
import { createMovedClock } from "./clock/moved-clock.ts";
import { createStoreEvents } from "./clock/store-events.ts";
import { createTimekeeper, ImpossibleMove } from "./clock/timekeeper.ts";
import { openDataFolder } from "./data-folder.ts";
import {
  connectionVariables,
  isAtHand,
  openDatabase,
  preparingTable,
  type Cleanup,
  type GivenDynamoDb,
} from "./database.ts";
import { prepareDemo, restoreDemo, type Demo } from "./demo.ts";
import { createLiveLines } from "../operator/console/live-lines.ts";
import { createLocalConsole } from "./console.ts";
import { createDestination, createEventBus, DESTINATION_PATH } from "./destination.ts";
import { createDocumentation } from "./documentation.ts";
import { ANY_REGION } from "./dynamodb-local.ts";
import { createGateway, type Gateway } from "./gateway/gateway.ts";
import { createKeeper, keptOffset } from "./kept-state.ts";
import { LocalError } from "./local-error.ts";
import { localMasterSecret } from "./master-secret.ts";
import { emptyTable, ensureTable, tableOf } from "./local-table.ts";
import { refuseOtherPages } from "./other-pages.ts";
import { sandboxDocument } from "./sandbox-document.ts";
import { createSandboxStores } from "./sandbox-stores.ts";
import { createSchedules, scheduledFunctionsOf } from "./schedules.ts";
import { createSecretsManager } from "./secrets-manager.ts";
import { close, listen } from "./server.ts";
import { synthesize } from "./synthesize.ts";
import { readAssembly, type Assembly } from "./template.ts";
import { createTokenService } from "./token-service.ts";
import { createRequestLock } from "./request-lock.ts";

export interface LocalServiceOptions {
  /** 0: any free one. */
  readonly port: number;
  /** A running DynamoDB, or the port to start DynamoDB Local on (0: any free one). */
  readonly dynamoDb: GivenDynamoDb | { readonly port: number };
  /** Null: everything is in memory. */
  readonly dataFolder: string | null;
  /** Folder whose files are the local Secrets Manager's secrets; null or unset: there is none. */
  readonly secretsFolder?: string | null;
  /** Unset: `customer-entitlements`. */
  readonly tableName?: string;
  /** Existing assembly; unset: the service is synthesized. */
  readonly assemblyFolder?: string;
  /** SHA-256 of roots trusted besides the sandbox's own, comma-separated; unset: Apple's. */
  readonly trustedRoots?: string;
  /** Replaces the sandbox's Android Publisher API. */
  readonly androidPublisherUrl?: string;
  /** False: schedules run only when the clock is moved. Unset: every second too. */
  readonly runsByItself?: boolean;
  /** Additional environment variables for all functions. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Destinations besides public ones that the functions may send to: `any`, or origins; unset: only the demo's. */
  readonly destinations?: string;
  /** Receives a line for each message that the demo application is told; unset: they are dropped. */
  readonly tell?: (line: string) => void;
  /** Receives the functions' standard error and the reasons of failures. */
  readonly log: (line: string) => void;
  /** Receives a readable line for each request to the API; unset: nobody does. */
  readonly onRequest?: (line: string) => void;
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

/** Number of earlier requests that the console shows when it is opened. */
const REQUESTS_KEPT = 200;

/** Default name of the local table. */
const TABLE_NAME = "customer-entitlements";

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

  const clock = createMovedClock(keptOffset(folder));

  // Listens first; early requests wait until the gateway is ready.
  const serving = Promise.withResolvers<{ readonly mounts: readonly Mount[]; readonly gateway: Gateway }>();
  const lock = createRequestLock();
  const server = createServer((request, response) => {
    void (async () => {
      const { mounts, gateway } = await serving.promise;
      for (const mount of mounts) if (await mount(request, response)) return;
      await lock.share(async () => gateway.handle(request, response));
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
  const stores = createSandboxStores({
    address,
    folder,
    now: clock.now,
    androidPublisherUrl: options.androidPublisherUrl,
  });
  const masterSecret = localMasterSecret(folder);
  const accessKeySuffix = randomBytes(16).toString("hex");
  const secretsManager = createSecretsManager(
    options.secretsFolder ?? null,
    region,
    (name) => (name === masterSecretName(TABLE_NAME) ? masterSecret : stores.secret(name)),
    (accessKey) => accessKey === connection.accessKeyId || accessKey.endsWith(accessKeySuffix),
  );
  const { demoAndroidStore, demoAppStore } = stores;
  const demoStores = { demoAndroidStore, demoAppStore, demoDestination: `${address}${DESTINATION_PATH}` };
  const { tell = () => undefined } = options;
  const tableDefinition = tableOf(assembly, region);
  const table = { client: DynamoDBDocumentClient.from(client), name: tableName };
  const demo = await preparingTable(connection.endpoint, async () => {
    await ensureTable(client, tableName, tableDefinition);
    await requireTableFormat(table).catch((error: unknown) => {
      throw error instanceof TableFormatError ? new LocalError(error.message) : error;
    });
    return prepareDemo(table, folder, demoStores, clock.now);
  });

  const destinations = [...(options.destinations?.split(",") ?? []), address].join(",");
  const requests = createLiveLines(REQUESTS_KEPT);
  const gateway = createGateway({
    assembly,
    region,
    tableName,
    accessKeySuffix,
    environment: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      AWS_ENDPOINT_URL_STS: address,
      AWS_ENDPOINT_URL_EVENTBRIDGE: address,
      DESTINATIONS: destinations,
      APP_STORE_SERVER_URL: demoAppStore.serverUrl,
      ...(stores.googleCertificatesUrl !== null && { GOOGLE_CERTIFICATES_URL: stores.googleCertificatesUrl }),
      ...options.environment,
      ...connectionVariables(connection),
      ANDROID_PUBLISHER_URL: demoAndroidStore.publisherUrl,
      IOS_STORE_TRUSTED_ROOTS: [stores.trustedRoot, options.trustedRoots ?? APPLE_ROOTS.join(",")].join(","),
    },
    clock,
    log: options.log,
    onRequest: (line) => {
      requests.add(line);
      options.onRequest?.(line);
    },
  });
  cleanups.push(gateway.stop);

  const keep = createKeeper(folder, clock, stores.timed, options.log);
  const timekeeper = createTimekeeper({
    clock,
    stores: createStoreEvents(stores.timed, { log: options.log }),
    schedules: createSchedules(scheduledFunctionsOf(assembly, region).values(), {
      invoke: async (functionId) => gateway.invoke(functionId, { logsFailure: false }),
      log: options.log,
    }),
    onChange: keep,
    log: options.log,
  });
  cleanups.push(() => {
    timekeeper.stop();
    keep();
  });
  const reset = async (): Promise<void> => {
    if (!isAtHand(connection.endpoint))
      throw new ImpossibleMove(
        `A reset empties the table, and the DynamoDB at ${connection.endpoint} is not on this machine.`,
      );
    await lock.holdAlone(async () => {
      await gateway.renew();
      await emptyTable(client, tableName, tableDefinition);
      clock.reset();
      stores.reset();
      await restoreDemo(table, demo, demoStores, clock.now);
      keep();
    });
  };
  if (options.runsByItself !== false) timekeeper.start();
  serving.resolve({
    gateway,
    mounts: [
      refuseOtherPages,
      createDocumentation({
        live: stores.liveExamples,
        sandboxDocument: sandboxDocument(),
        apiKey: demo.apiKey,
      }),
      createLocalConsole({
        port,
        table,
        dynamoDbEndpoint: connection.endpoint,
        masterSecret,
        destinations,
        demo,
        now: clock.now,
        requests,
        log: options.log,
      }),
      createClockEndpoint({ clock, timekeeper, reset, log: options.log }),
      secretsManager,
      createTokenService(),
      createDestination(tell),
      createEventBus(tell),
      ...stores.mounts.map((mount) => keptAfter(mount, keep)),
    ],
  });

  return {
    address,
    tableName,
    dynamoDbEndpoint: connection.endpoint,
    demo,
    androidPurchaseToken: stores.androidPurchaseToken,
    broken: local?.ended ?? new Promise(() => undefined),
    stop,
  };
};

/** A mount that saves the stores' state after each request that it answers. */
const keptAfter =
  (mount: Mount, keep: () => void): Mount =>
  async (request, response) => {
    const answered = await mount(request, response);
    if (answered) keep();
    return answered;
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
