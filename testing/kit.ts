import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import type { EndpointName } from "../lib/contract/endpoints.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import type { AndroidPublisherSandbox } from "../sandbox/android-store/publisher.ts";
import type { IosStoreSandbox } from "../sandbox/ios-store/ios-store.ts";
import { signJws } from "../sandbox/ios-store/signing.ts";
import {
  type GivenManifest,
  createTestApplication,
  defaultManifest,
  type TestApplication,
} from "./application.ts";
import { callEndpoint, invokeEndpoint, type Answer, type CalledRequest, invokeFunction } from "./calling.ts";
import { instantOf, keepTime, type TestClock } from "./clock.ts";
import { createTable, itemsIn, localAwsVariables, openDynamoDb } from "./dynamodb.ts";
import { startTestStores } from "./stores.ts";

export interface KitOptions {
  /** The time at which the clock stands; an instant, or a time as ISO 8601. Unset: now. */
  readonly at?: Instant | string;
  /** Whether the stores send notifications from the start; unset: they do not. */
  readonly notifies?: boolean;
  /** More environment variables of the functions, read when the first of them is loaded. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The functions in this process with their own table, both stores, and the time. */
export interface Kit {
  readonly clock: TestClock;
  readonly table: Table;
  /** Sells, changes what it sold (`change(id, { change: "refund" })`), and answers the App Store Server API. */
  readonly ios: IosStoreSandbox;
  /** Sells, changes what it sold (`change(token, { change: "refund" })`), fails (`failNext`), and answers the Publisher API. */
  readonly android: AndroidPublisherSandbox;
  /**
   * An application: of the given manifest, or one with a bundle and a package of its own that sells
   * {@link DEFAULT_PRODUCTS}. Credentials of the stores in it are replaced by the sandbox's.
   */
  application(manifest?: GivenManifest): Promise<TestApplication>;
  /** Calls an endpoint as a caller would: the authorizer where it has a scope, then its handler. */
  call<Name extends EndpointName>(name: Name, request?: CalledRequest): Promise<Answer<Name>>;
  /** Invokes an endpoint's handler with an event of {@link apiGatewayEvent}. */
  invoke(name: EndpointName, event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult>;
  /** Runs a function of `functions/schedules/`, by its file's name. */
  run(schedule: string, event?: unknown): Promise<unknown>;
  /** Signs any payload as the App Store does: a compact JWS that the functions trust. */
  sign(payload: Readonly<Record<string, unknown>>): string;
  /** Switches the stores' notifications on or off. */
  notify(on: boolean): void;
  /** Every item of the table. */
  items(): Promise<Record<string, unknown>[]>;
  /** Stops everything and restores `Date` and the environment. Call it once, after the last test. */
  stop(): Promise<void>;
}

/** Variables for the functions' log. They write nothing to the test's output, unless the shell says otherwise. */
const logVariables = (): Record<string, string> => ({
  POWERTOOLS_SERVICE_NAME: "customer-entitlements",
  POWERTOOLS_LOG_LEVEL: process.env["POWERTOOLS_LOG_LEVEL"] ?? "SILENT",
  POWERTOOLS_METRICS_DISABLED: process.env["POWERTOOLS_METRICS_DISABLED"] ?? "true",
});

/** Sets environment variables; returns a function that restores them. */
const setEnvironment = (variables: Readonly<Record<string, string>>): (() => void) => {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
};

let started: Promise<Kit> | undefined;

/**
 * Starts what the functions need, once in a process: DynamoDB Local (or the one that `AWS_ENDPOINT_URL_DYNAMODB` names) with a
 * table of its own, and both sandbox stores. A further call in the same process gives the same kit: tests are kept apart by
 * applications, not by tables.
 *
 * The handlers are those of `functions/`, loaded into this process: breakpoints and coverage work.
 */
export const startKit = async (options: KitOptions = {}): Promise<Kit> => (started ??= start(options));

const start = async ({ at, notifies = false, environment = {} }: KitOptions): Promise<Kit> => {
  const startsAt = instantOf(at ?? Date.now());
  const ends = new AsyncDisposableStack();
  const dynamoDb = await openDynamoDb();
  ends.defer(dynamoDb.stop);
  ends.defer(setEnvironment(localAwsVariables(dynamoDb.endpoint)));
  const { remove, ...table } = await createTable();
  ends.defer(remove);

  let isNotifying = notifies;
  const { clock, stores: timed, beginCall, restore } = keepTime(startsAt);
  ends.defer(restore);
  const invoke: Kit["invoke"] = async (endpoint, event) => {
    beginCall();
    return invokeEndpoint(endpoint, event);
  };
  const stores = await startTestStores(invoke, clock.now, () => isNotifying);
  ends.defer(stores.stop);
  const { ios, android } = stores;
  timed.push(ios, android);
  ends.defer(
    setEnvironment({ ...logVariables(), ...stores.environment, TABLE_NAME: table.name, ...environment }),
  );

  return {
    clock,
    table,
    ios,
    android,
    application: async (given = defaultManifest()) =>
      createTestApplication(given, { table, stores, now: clock.now }),
    call: async (endpoint, request = {}) => {
      beginCall();
      return callEndpoint(endpoint, request);
    },
    invoke,
    run: async (schedule, event = {}) => {
      beginCall();
      return invokeFunction("schedule", schedule, event);
    },
    sign: (payload) => signJws(payload, stores.chain),
    notify: (on) => {
      isNotifying = on;
    },
    items: async () => itemsIn(table),
    stop: async () => ends.disposeAsync(),
  };
};
