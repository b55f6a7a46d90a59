import { setTimeout as sleep } from "node:timers/promises";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import { allowedDestinations } from "../../lib/delivery/addresses.ts";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { openGuard, type Guard } from "../../operator/console/guard.ts";
import { createConsole, type LiveLines } from "../../operator/console/server.ts";
import type { Mount } from "../../sandbox/mount.ts";
import { CLOCK_PATH } from "../clock/clock-endpoint.ts";
import { isAtHand } from "../database/database.ts";
import { DEMO } from "../demo.ts";
import { ANDROID_PREFIX, IOS_PREFIX } from "../sandbox-paths.ts";

interface LocalConsoleOptions {
  readonly port: number;
  readonly table: Table;
  readonly dynamoDbEndpoint: string;
  readonly masterSecret: string;
  /** Destinations beside public ones, as the functions have them. */
  readonly destinations: string;
  /** The demo application's. */
  readonly apiKey: string;
  readonly now: () => number;
  readonly requests: LiveLines;
  readonly log: (line: string) => void;
}

/** Refuses everybody: a table on another machine may be a deployed one. */
const closedGuard = (port: number): Guard => ({
  ...openGuard(port),
  refusal: () =>
    "The table is not on this machine, and is not shown without a token: the operator's command console shows it.",
});

/** The console of a local run: without a token, as its table is created here, and with both stores and the clock. */
export const createLocalConsole = (options: LocalConsoleOptions): Mount => {
  const { port, table, masterSecret, now, requests, log } = options;
  const sandbox: ConsoleSandbox = {
    applicationIdentifier: DEMO.applicationIdentifier,
    apiKey: options.apiKey,
    iosStorePath: IOS_PREFIX,
    androidStorePath: ANDROID_PREFIX,
    clockPath: CLOCK_PATH,
  };
  return createConsole({
    connection: {
      environment: {},
      table: table.name,
      where: options.dynamoDbEndpoint,
      store: table,
      trustsOrigin: () => true,
      allowsDestination: allowedDestinations(options.destinations),
      masterSecret: () => Promise.resolve(new TextEncoder().encode(masterSecret)),
      // Only an import asks the stores.
      readSecret: () => Promise.resolve(null),
      caller: () => Promise.resolve("local"),
      clock: (now) => Promise.resolve(now),
      close: () => undefined,
    },
    // DynamoDB Local's index does not lag behind its table.
    effects: { now, wait: (milliseconds) => sleep(milliseconds), waitForIndex: () => Promise.resolve() },
    guard: isAtHand(options.dynamoDbEndpoint) ? openGuard(port) : closedGuard(port),
    sandbox,
    requests,
    log,
  });
};
