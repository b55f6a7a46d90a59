import { v7 as uuid } from "uuid";
import type { AskedEnvironment } from "../../lib/administration/import/claim.ts";
import { pacedStores, type ImportStores } from "../../lib/administration/import/asking/stores.ts";
import { previewOf, storingIn } from "../../lib/administration/import/asking/storing.ts";
import type { Join } from "../../lib/administration/import/join.ts";
import type { Application } from "../../lib/applications/application.ts";
import type { FactStore } from "../../lib/customers/storing/fact-store.ts";
import { customerId } from "../../lib/identifiers.ts";
import { pause } from "../../lib/pause.ts";
import { createAndroidStore } from "../../lib/stores/android-store/android-store.ts";
import { createAndroidOrders } from "../../lib/stores/android-store/orders.ts";
import { createAppStoreServer } from "../../lib/stores/ios-store/server-api/app-store-server.ts";
import { APPLE_ROOTS } from "../../lib/stores/ios-store/signatures/trust.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import { bury, writeCustomerChange } from "../../lib/table/customers/write-customer-change.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import type { EnvironmentVariables } from "../connection.ts";
import type { Session } from "../session.ts";

interface RunTerms {
  /** Requests a second to each bundle or package. */
  readonly rate: number;
  readonly only: AskedEnvironment | null;
  readonly isDryRun: boolean;
}

/** Roots that App Store chains may end in: as the functions read them. */
const rootsIn = ({ IOS_STORE_TRUSTED_ROOTS: given }: EnvironmentVariables): ReadonlySet<string> =>
  new Set(
    given ? given.split(",").map((root) => root.trim().replaceAll(":", "").toLowerCase()) : APPLE_ROOTS,
  );

/** The stores, by the credentials of the shell, and as the functions reach them. */
const storesOn = ({ environment, readSecret, now }: Session): ImportStores => {
  const appStoreUrl = environment["APP_STORE_SERVER_URL"] || undefined;
  const rootUrl = environment["ANDROID_PUBLISHER_URL"] || undefined;
  return {
    appStore: createAppStoreServer({ ...(appStoreUrl && { rootUrl: appStoreUrl }), readSecret, now }),
    androidStore: createAndroidStore({ rootUrl, readSecret, now }),
    orders: createAndroidOrders({ rootUrl, readSecret, now }),
  };
};

/** Questions that wait for an answer at once, in each store: more than the rate needs at a second an answer. */
const atOnceAt = (rate: number): number => Math.min(64, Math.max(16, Math.ceil(rate * 1.5)));

/** The parts of a run: the stores at a rate, and the use cases of the service on the session's table. */
export const runOn = (session: Session, application: Application, { rate, only, isDryRun }: RunTerms) => {
  const { table, now, wait } = session;
  const { stores, gates } = pacedStores(storesOn(session), { now, wait }, rate);
  const customers = {
    table: createCustomerTable(table),
    write: (change: Parameters<FactStore["write"]>[0]) => writeCustomerChange(table, change),
    bury: (...remains: Parameters<FactStore["bury"]>) => bury(table, ...remains),
    newCustomerIdentifier: () => customerId(uuid()),
    pause,
    now,
    androidStore: stores.androidStore,
    asks: createAskQueues(table),
  };
  const parts = {
    ...stores,
    verifier: createIosStoreVerifier(),
    trustedRoots: rootsIn(session.environment),
    now,
    application,
    storing: isDryRun ? previewOf(customers.table, application, now) : storingIn(customers, application),
    only,
    join: new Map() as Join,
    atOnce: atOnceAt(rate),
  };
  return { gates, parts };
};
