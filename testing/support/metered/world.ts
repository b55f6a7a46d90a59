import { setTimeout as sleep } from "node:timers/promises";
import type { IosStoreCustomers } from "../../../lib/customers/ios-store-customers.ts";
import { createIosStoreVerifier, type IosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { DEMO } from "../../../local/demo.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { watchChecks } from "../stores/signature-checks.ts";
import { openTable } from "../../../functions/environment/open-table.ts";
import { createTestTable } from "../table/table.ts";
import { Stopwatch, sum } from "./measuring.ts";
import { meter } from "./meter.ts";
import { newChain } from "./purchases.ts";
import { anApplication } from "../application.ts";
import { aBundle } from "../stores/ios-store.ts";
import { aCatalog, aProduct, period } from "../stores/purchases.ts";
import { createWorld } from "../world.ts";

const DAY_PASS = "day_pass";
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

/**
 * The iOS store's use cases on their own metered table, with the system clock. The application is in memory, as in a function
 * that has read it.
 */
export const createMeteredWorld = async () => {
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
    /** Time spent verifying. */
    verifying,
    meter: meter(table.client),
    customers: {
      ...factStore,
      directory,
      verifier: timed(createIosStoreVerifier(checks), verifying),
      trustedRoots: new Set([fingerprintOf(chain.root)]),
    } satisfies IosStoreCustomers,
    /** Signature checks of payloads so far; those of certificates are not counted. */
    signatureChecks: () => sum(Object.values(done)),
    remove: table.remove,
  };
};
export type MeteredWorld = Awaited<ReturnType<typeof createMeteredWorld>>;
