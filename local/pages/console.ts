import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { allowedDestinations } from "../../lib/delivery/addresses.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import { openGuard, otherPageRefusal, type Guard } from "../../operator/console/guard.ts";
import { createConsole, type LiveLines } from "../../operator/console/server.ts";
import { CHANGES as ANDROID_CHANGES } from "../../sandbox/android-store/shop/requests.ts";
import { CHANGES as IOS_CHANGES } from "../../sandbox/ios-store/shop/requests.ts";
import { answer, pathOf, type Mount } from "../../sandbox/routes.ts";
import { CLOCK_PATH } from "../clock/timekeeper.ts";
import { isAtHand } from "../database/database.ts";
import { DEMO } from "../demo.ts";
import { ANDROID_PREFIX, IOS_PREFIX } from "../sandbox-stores.ts";

/** Refuses everybody: a table on another machine may be a deployed one. */
const closedGuard = (port: number): Guard => ({
  ...openGuard(port),
  refusal: () =>
    "The table is not on this machine, and is not shown without a token: the operator's command console shows it.",
});

/** The console of a local run: without a token, as its table is created here, and with both stores and the clock. */
export const createLocalConsole = ({
  port,
  table,
  dynamoDbEndpoint,
  masterSecret,
  destinations,
  apiKey,
  now,
  requests,
  log,
}: {
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
}): Mount =>
  createConsole({
    connection: {
      environment: {},
      table: table.name,
      where: dynamoDbEndpoint,
      store: table,
      trustsOrigin: () => true,
      allowsDestination: allowedDestinations(destinations),
      masterSecret: () => Promise.resolve(new TextEncoder().encode(masterSecret)),
      // Only an import asks the stores.
      readSecret: () => Promise.resolve(null),
      caller: () => Promise.resolve("local"),
      clock: (now) => Promise.resolve(now),
      close: () => undefined,
    },
    // DynamoDB Local's index does not lag behind its table.
    effects: { now, wait: (milliseconds) => sleep(milliseconds), waitForIndex: () => Promise.resolve() },
    guard: isAtHand(dynamoDbEndpoint) ? openGuard(port) : closedGuard(port),
    sandbox: {
      applicationIdentifier: DEMO.applicationIdentifier,
      apiKey,
      iosStorePath: IOS_PREFIX,
      androidStorePath: ANDROID_PREFIX,
      clockPath: CLOCK_PATH,
      changes: { "ios-store": IOS_CHANGES, "android-store": ANDROID_CHANGES },
    },
    requests,
    log,
  });

/**
 * Whether a host is an address (an emulator's: 10.0.2.2), or a name that no page's owner can point at this machine (DNS
 * rebinding).
 */
const isOfThisMachine = (host: string | undefined): boolean => {
  const name = URL.parse(`http://${host}`)?.hostname ?? "";
  const isName = ["localhost", "host.docker.internal"].includes(name) || name.endsWith(".localhost");
  return isName || isIP(name.replaceAll(/^\[|\]$/g, "")) !== 0;
};

const SHOWN_TO_NO_PAGE = { "Cross-Origin-Resource-Policy": "same-origin" } as const;

/**
 * Denies other servers' pages everything but the API: the demo's key, the secrets, the stores and the clock. Commands
 * and native apps send no origin, and pass.
 */
export const refuseOtherPages: Mount = async (request, response) => {
  // The service's API is served to every caller, as the deployed one is.
  if (pathOf(request).startsWith("/v1/")) return false;
  const refusal = isOfThisMachine(request.headers.host)
    ? otherPageRefusal(request)
    : "Name this machine by its address or as localhost.";
  if (refusal !== null) answer(response, 403, "text/plain; charset=utf-8", `${refusal}\n`, SHOWN_TO_NO_PAGE);
  return refusal !== null;
};
