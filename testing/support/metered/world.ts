import { setTimeout as sleep } from "node:timers/promises";
import type { Application } from "../../../lib/applications/application.ts";
import type { IosStoreCustomers } from "../../../lib/customers/ios-store-customers.ts";
import { createIosStoreVerifier, type IosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import type { Table } from "../../../lib/table/dynamodb/table.ts";
import { DEMO } from "../../../local/demo.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { watchChecks } from "../stores/signature-checks.ts";
import { openTable } from "../../../functions/environment/open-table.ts";
import { createTestTable } from "../table/table.ts";
import { Stopwatch, sum } from "./measuring.ts";
import { meter, type Meter } from "./meter.ts";
import { newChain, type Chain } from "./purchases.ts";
import { anApplication } from "../application.ts";
import { aBundle } from "../stores/ios-store.ts";
import { aCatalog, aProduct, period } from "../stores/purchases.ts";
import { createWorld } from "../world.ts";

/** The iOS store's use cases on their own metered table, with the system clock. */
export interface MeteredWorld {
  readonly customers: IosStoreCustomers;
  readonly application: Application;
  readonly chain: Chain;
  readonly table: Table;
  readonly meter: Meter;
  /** Time spent verifying. */
  readonly verifying: Stopwatch;
  /** Signature checks of payloads so far; those of certificates are not counted. */
  signatureChecks(): number;
  remove(): Promise<void>;
}

export const DAY_PASS = "day_pass";
/** Product that the catalog does not map. */
export const COINS = "coins";

const timed = (verifier: IosStoreVerifier, stopwatch: Stopwatch): IosStoreVerifier => ({
  verifyAppTransaction: (...given) => stopwatch.during(() => verifier.verifyAppTransaction(...given)),
  verifyTransaction: (...given) => stopwatch.during(() => verifier.verifyTransaction(...given)),
  verifyTransactions: (...given) => stopwatch.during(() => verifier.verifyTransactions(...given)),
  verifyRenewalInfos: (...given) => stopwatch.during(() => verifier.verifyRenewalInfos(...given)),
  verifyNotification: (...given) => stopwatch.during(() => verifier.verifyNotification(...given)),
  verifyNotificationParts: (...given) => stopwatch.during(() => verifier.verifyNotificationParts(...given)),
});

/** Creates the world. The application is in memory, as in a function that has read it. */
export const createMeteredWorld = async (): Promise<MeteredWorld> => {
  const created = await createTestTable();
  const table = { ...created, ...openTable(created.name) };
  const chain = newChain();
  const { application, directory, factStore } = createWorld(table, {
    application: anApplication({
      name: DEMO.name,
      iosStore: [
        aBundle({ bundleIdentifier: DEMO.bundleIdentifier, appAppleIdentifier: DEMO.appAppleIdentifier }),
      ],
      catalog: aCatalog([
        aProduct({ productIdentifier: DEMO.iosSubscription }),
        aProduct({ productIdentifier: DEMO.iosNonConsumable }),
        aProduct({ productIdentifier: DAY_PASS, accessDuration: period("P1D") }),
      ]),
    }),
    now: Date.now,
    pause: (attempt) => sleep(10 * attempt),
  });
  const verifying = new Stopwatch();
  const { checks, done } = watchChecks();
  return {
    application,
    chain,
    table,
    verifying,
    meter: meter(table.client),
    customers: {
      ...factStore,
      directory,
      verifier: timed(createIosStoreVerifier(checks), verifying),
      trustedRoots: new Set([fingerprintOf(chain.root)]),
    },
    signatureChecks: () => sum(Object.values(done)),
    remove: table.remove,
  };
};
