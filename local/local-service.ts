import { randomBytes } from "node:crypto";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { masterSecretName } from "../lib/delivery/webhook-secret.ts";
import { APPLE_ROOTS } from "../lib/stores/ios-store/signatures/chain.ts";
import { requireTableFormat, TableFormatError } from "../lib/table/dynamodb/table.ts";
import { createLiveLines } from "../operator/console/server.ts";
import type { Mount } from "../sandbox/routes.ts";
import { createSecretsManager, createTokenService } from "./aws.ts";
import { createDestination, createEventBus, DESTINATION_PATH } from "./destinations.ts";
import { createMovedClock } from "./clock/moved-clock.ts";
import {
  createClockEndpoint,
  createSchedules,
  createTimekeeper,
  ImpossibleMove,
  scheduledFunctionsOf,
} from "./clock/timekeeper.ts";
import { createKeeper, keptOffset, keptOrNew, openDataFolder } from "./database/data-folder.ts";
import {
  connectionVariables,
  isAtHand,
  openDatabase,
  preparingTable,
  tableOf,
  type WantedDynamoDb,
} from "./database/database.ts";
import { ANY_REGION } from "./database/dynamodb-local.ts";
import { prepareDemo } from "./demo.ts";
import { createGateway, type Gateway } from "./gateway/gateway.ts";
import { readAssembly, synthesizeForRun } from "./lambda/assembly.ts";
import { createLocalConsole, refuseOtherPages } from "./pages/console.ts";
import { createDocumentation } from "./pages/documentation.ts";
import { createSandboxStores } from "./sandbox-stores.ts";
import { LocalError, openFront } from "./server.ts";

export interface LocalServiceOptions {
  /** 0: any free one. */
  readonly port: number;
  /** A running DynamoDB, or the port to start DynamoDB Local on (0: any free one). */
  readonly dynamoDb: WantedDynamoDb;
  /** Null: everything is in memory. */
  readonly dataFolder: string | null;
  /** Folder whose files are the local Secrets Manager's secrets. */
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
  /** Destinations besides public ones and the demo's: `any`, or origins. */
  readonly destinations?: string;
  /** Receives a line for each message to the demo application. */
  readonly tell?: (line: string) => void;
  /** Receives the functions' standard error and the reasons of failures. */
  readonly log: (line: string) => void;
  /** Receives a readable line for each request to the API. */
  readonly onRequest?: (line: string) => void;
  /** Aborts the start: everything started is stopped, then the signal's reason is thrown. */
  readonly signal?: AbortSignal;
}

export type LocalService = Awaited<ReturnType<typeof startLocalService>>;

/** Earlier requests that the console shows. */
const REQUESTS_KEPT = 200;

const TABLE_NAME = "customer-entitlements";

/**
 * Starts the whole service on 127.0.0.1: DynamoDB Local, the API of the synthesized stack, sandbox stores, the API
 * reference, and a demo application with a key.
 *
 * @throws LocalError that says what to do, if it cannot start; nothing is left running
 */
export const startLocalService = async (options: LocalServiceOptions) => {
  const resources = new AsyncDisposableStack();
  try {
    const ground = await openGround(options, resources);
    const stores = composeStores(ground);
    const prepared = await prepareTable(ground, stores);
    options.signal?.throwIfAborted();
    serve(ground, stores, prepared, resources);
    return {
      address: ground.front.address,
      tableName: ground.tableName,
      dynamoDbEndpoint: ground.connection.endpoint,
      demo: prepared.demo,
      /** Token of a purchase in the sandbox Android store; null if another one replaces it. */
      androidPurchaseToken: stores.androidPurchaseToken,
      /** Resolves when DynamoDB Local ends; never, if it was not started here. */
      broken: ground.local?.ended ?? new Promise<never>(() => undefined),
      stop: async (): Promise<void> => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
};

type Ground = Awaited<ReturnType<typeof openGround>>;
type Stores = ReturnType<typeof composeStores>;
type Prepared = Awaited<ReturnType<typeof prepareTable>>;

/** Step 1: the data folder, the clock, the port, the synthesized stack and the database. */
const openGround = async (options: LocalServiceOptions, resources: AsyncDisposableStack) => {
  const { signal = new AbortController().signal, assemblyFolder, tableName = TABLE_NAME } = options;
  const folder = openDataFolder(options.dataFolder);
  resources.defer(folder.release);
  const clock = createMovedClock(keptOffset(folder));
  const front = await openFront(options.port, options.log, resources);
  const over = new AbortController();
  const either = [
    assemblyFolder === undefined
      ? synthesizeForRun(resources, AbortSignal.any([signal, over.signal]))
      : readAssembly(assemblyFolder),
    openDatabase(options.dynamoDb, folder, resources),
  ] as const;
  // If one fails, the other must not keep running unnoticed.
  const [assembly, database] = await Promise.all(either).finally(async () => {
    over.abort();
    await Promise.allSettled(either);
  });
  const region = database.connection.region ?? ANY_REGION;
  return { options, folder, clock, front, assembly, ...database, region, tableName };
};

/** Step 2: the sandbox stores, and the secrets that the functions read. */
const composeStores = ({ options, folder, clock, front, connection, region }: Ground) => {
  const { address } = front;
  const { androidPublisherUrl, secretsFolder = null } = options;
  const stores = createSandboxStores({ address, folder, now: clock.now, androidPublisherUrl });
  const masterSecret = keptOrNew(folder, "master-secret", () => randomBytes(48).toString("base64url"));
  const accessKeySuffix = randomBytes(16).toString("hex");
  const secretsManager = createSecretsManager(
    secretsFolder,
    region,
    (name) => (name === masterSecretName(TABLE_NAME) ? masterSecret : stores.secret(name)),
    (accessKey) => accessKey === connection.credentials?.accessKeyId || accessKey.endsWith(accessKeySuffix),
  );
  const demoEnds = {
    destination: `${address}${DESTINATION_PATH}`,
    publisherUrl: stores.publisherUrl,
    stores: stores.demoStores,
  };
  return { ...stores, demoEnds, masterSecret, accessKeySuffix, secretsManager };
};

/** Step 3: the table, with the demo application and its key. */
const prepareTable = async (
  { client, connection, tableName, assembly, folder, clock }: Ground,
  { demoEnds }: Stores,
) => {
  const { ensure, empty } = tableOf(assembly, client, tableName);
  const table = { client: DynamoDBDocumentClient.from(client), name: tableName };
  const demo = await preparingTable(connection.endpoint, async () => {
    await ensure();
    await requireTableFormat(table).catch((error: unknown) => {
      throw error instanceof TableFormatError ? new LocalError(error.message) : error;
    });
    return prepareDemo(table, folder, demoEnds, clock.now);
  });
  return { table, demo, empty };
};

/** Step 4: the gateway, the time, and the pages; then requests are answered. */
const serve = (ground: Ground, stores: Stores, prepared: Prepared, resources: AsyncDisposableStack): void => {
  const { options, front, clock, connection } = ground;
  const { table, demo } = prepared;
  const { log, onRequest, tell = () => undefined } = options;
  const requests = createLiveLines(REQUESTS_KEPT);
  const destinations = [...(options.destinations?.split(",") ?? []), front.address].join(",");
  const gateway = openGateway(ground, stores, destinations, (line) => {
    requests.add(line);
    onRequest?.(line);
  });
  resources.defer(gateway.stop);
  const { timekeeper, keep, reset } = keepTime(ground, stores, prepared, gateway);
  resources.defer(() => {
    timekeeper.stop();
    keep();
  });
  if (options.runsByItself !== false) timekeeper.start();
  const mounts = [
    refuseOtherPages,
    createDocumentation(stores.liveExamples, demo.apiKey),
    createLocalConsole({
      port: front.port,
      table,
      dynamoDbEndpoint: connection.endpoint,
      masterSecret: stores.masterSecret,
      destinations,
      apiKey: demo.apiKey,
      now: clock.now,
      requests,
      log,
    }),
    createClockEndpoint({ clock, timekeeper, reset, log }),
    stores.secretsManager,
    createTokenService(),
    createDestination(tell),
    createEventBus(tell),
    ...stores.mounts.map((mount): Mount => async (request, response) => {
      const isAnswered = await mount(request, response);
      if (isAnswered) keep();
      return isAnswered;
    }),
  ];
  front.serve({ mounts, handle: gateway.handle });
};

/** The API of the stack, and its functions. */
const openGateway = (
  { options, front: { address }, assembly, region, tableName, clock, connection }: Ground,
  stores: Stores,
  destinations: string,
  onRequest: (line: string) => void,
): Gateway =>
  createGateway({
    assembly,
    region,
    tableName,
    accessKeySuffix: stores.accessKeySuffix,
    environment: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      AWS_ENDPOINT_URL_STS: address,
      AWS_ENDPOINT_URL_EVENTBRIDGE: address,
      DESTINATIONS: destinations,
      ...stores.environment,
      ...options.environment,
      ...connectionVariables(connection),
      ANDROID_PUBLISHER_URL: stores.publisherUrl,
      IOS_STORE_TRUSTED_ROOTS: [stores.trustedRoot, options.trustedRoots ?? APPLE_ROOTS.join(",")].join(","),
    },
    clock,
    log: options.log,
    onRequest,
  });

/** The schedules and the stores' events, which follow the clock, and the reset to the first state. */
const keepTime = (
  { options: { log }, folder, clock, front, assembly, connection }: Ground,
  stores: Stores,
  { demo, empty }: Prepared,
  gateway: Gateway,
) => {
  const keep = createKeeper(folder, clock, stores.timed, log);
  const invoke = async (functionId: string) => gateway.invoke(functionId, { logsFailure: false });
  const schedules = createSchedules(scheduledFunctionsOf(assembly), invoke, log);
  const timekeeper = createTimekeeper({ clock, stores: stores.timed, schedules, onChange: keep, log });
  const reset = async (): Promise<void> => {
    if (!isAtHand(connection.endpoint))
      throw new ImpossibleMove(
        `A reset empties the table, and the DynamoDB at ${connection.endpoint} is not on this machine.`,
      );
    await front.betweenRequests(async () => {
      await gateway.renew();
      await empty();
      clock.reset();
      stores.reset();
      await demo.restore();
      keep();
    });
  };
  return { timekeeper, keep, reset };
};
