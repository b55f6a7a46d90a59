import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Application, ApplicationDirectory } from "../lib/applications/application.ts";
import type { IosStoreCustomers } from "../lib/customers/ios-store-request.ts";
import { catalogOf, type CatalogProduct } from "../lib/entitlements/catalog.ts";
import { applicationId, customerId } from "../lib/identifiers.ts";
import { createIosStoreVerifier, type IosStoreVerifier } from "../lib/stores/ios-store/verifier.ts";
import { bury } from "../lib/table/burial.ts";
import { createCustomerTable } from "../lib/table/customers.ts";
import type { Table } from "../lib/table/table.ts";
import { writeCustomerChange } from "../lib/table/write-customer-change.ts";
import { DEMO } from "../local/demo.ts";
import { fingerprintOf } from "../sandbox/ios-store/signing.ts";
import { watchChecks } from "../testing/support/signature-checks.ts";
import { openTable } from "../functions/environment/open-table.ts";
import { createTestTable } from "../testing/support/table.ts";
import { Stopwatch, sum } from "./measure.ts";
import { meter, type Meter } from "./meter.ts";
import { newChain, type Chain } from "./purchases.ts";

/** The iOS store's use cases on their own metered table, with the system clock. */
export interface World {
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

const product = (productIdentifier: string, changes: Partial<CatalogProduct> = {}): CatalogProduct => ({
  store: "ios-store",
  productIdentifier,
  basePlanIdentifier: null,
  purchaseOptionIdentifier: null,
  grants: ["premium"],
  accessDuration: null,
  ...changes,
});

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

const pause = (attempt: number): Promise<void> => sleep(10 * attempt);

/** Creates the world. The application is in memory, as in a function that has read it. */
export const createWorld = async (): Promise<World> => {
  const created = await createTestTable();
  const table = { ...created, ...openTable(created.name) };
  const chain = newChain();
  const application: Application = {
    identifier: applicationId(uuid()),
    name: DEMO.name,
    iosStore: [
      {
        bundleIdentifier: DEMO.bundleIdentifier,
        appAppleIdentifier: DEMO.appAppleIdentifier,
        environments: ["production"],
        xcodeCertificates: [],
        serverApi: null,
      },
    ],
    androidStore: [],
    catalog: catalogOf(new Map([["premium", "Premium"]]), [
      product(DEMO.iosSubscription),
      product(DEMO.iosNonConsumable),
      product(DAY_PASS, { accessDuration: { months: 0, milliseconds: 86_400_000 } }),
    ]),
    transfers: "refuse",
    destinations: [],
    keepsChanges: false,
    renewalLeeway: 0,
  };
  const directory: ApplicationDirectory = {
    byIdentifier: () => Promise.resolve(application),
    byBundle: () => Promise.resolve(application),
    byPackage: () => Promise.resolve(null),
  };
  const verifying = new Stopwatch();
  const { checks, done } = watchChecks();
  return {
    application,
    chain,
    table,
    verifying,
    meter: meter(table.client),
    customers: {
      directory,
      table: createCustomerTable(table, pause),
      write: (change) => writeCustomerChange(table, change),
      bury: (...remains) => bury(table, ...remains),
      newCustomerIdentifier: () => customerId(uuid()),
      pause,
      now: () => Date.now(),
      verifier: timed(createIosStoreVerifier(checks), verifying),
      trustedRoots: new Set([fingerprintOf(chain.root)]),
    },
    signatureChecks: () => sum(Object.values(done)),
    remove: table.remove,
  };
};
