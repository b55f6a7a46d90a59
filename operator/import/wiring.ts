import { v7 as uuid } from "uuid";
import type { AppStoreAsking } from "../../lib/administration/import/asking/ask-person.ts";
import type { ImportStores } from "../../lib/administration/import/asking/stores.ts";
import { createApplicationDirectory, DIRECTORY_AGE_MILLISECONDS } from "../../lib/applications/directory.ts";
import type { IosStoreCustomers } from "../../lib/customers/ios-store-request.ts";
import type { AndroidStorePurchases } from "../../lib/customers/storing/store-android-store-purchase.ts";
import { customerId } from "../../lib/identifiers.ts";
import { pause } from "../../lib/pause.ts";
import { createAndroidStore } from "../../lib/stores/android-store/android-store.ts";
import { createAndroidOrders } from "../../lib/stores/android-store/orders.ts";
import { createAppStoreServer } from "../../lib/stores/ios-store/server-api/app-store-server.ts";
import { APPLE_ROOTS } from "../../lib/stores/ios-store/signatures/trust.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { createApplicationReader } from "../../lib/table/applications/application-reader.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import { bury } from "../../lib/table/customers/burial.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { writeCustomerChange } from "../../lib/table/customers/write-customer-change.ts";
import type { EnvironmentVariables } from "../connection.ts";
import type { Session } from "../session.ts";

/** Roots that App Store chains may end in: as the functions read them. */
const rootsIn = ({ IOS_STORE_TRUSTED_ROOTS: given }: EnvironmentVariables): ReadonlySet<string> =>
  new Set(
    given ? given.split(",").map((root) => root.trim().replaceAll(":", "").toLowerCase()) : APPLE_ROOTS,
  );

/** The stores, by the credentials of the shell, and as the functions reach them. */
export const storesOn = (
  { readSecret, now }: Pick<Session, "readSecret" | "now">,
  environment: EnvironmentVariables,
): ImportStores => {
  const appStoreUrl = environment["APP_STORE_SERVER_URL"] || undefined;
  const googleUrl = environment["ANDROID_PUBLISHER_URL"] || undefined;
  return {
    appStore: createAppStoreServer({ ...(appStoreUrl && { rootUrl: appStoreUrl }), readSecret, now }),
    androidStore: createAndroidStore({ rootUrl: googleUrl, readSecret, now }),
    orders: createAndroidOrders({ rootUrl: googleUrl, readSecret, now }),
  };
};

/** The use cases of the service on the session's table, with stores that an import asks. */
export const customersOn = (
  { table, now }: Pick<Session, "table" | "now">,
  { androidStore }: Pick<ImportStores, "androidStore">,
  environment: EnvironmentVariables,
): IosStoreCustomers & AndroidStorePurchases & Pick<AppStoreAsking, "verifier"> => {
  const { load, applicationOfBundle, applicationOfPackage } = createApplicationReader(table);
  return {
    table: createCustomerTable(table),
    write: (change) => writeCustomerChange(table, change),
    bury: (...remains) => bury(table, ...remains),
    newCustomerIdentifier: () => customerId(uuid()),
    pause,
    now,
    directory: createApplicationDirectory({
      load,
      applicationOfBundle,
      applicationOfPackage,
      now,
      maximumAgeMilliseconds: DIRECTORY_AGE_MILLISECONDS,
    }),
    verifier: createIosStoreVerifier(),
    trustedRoots: rootsIn(environment),
    androidStore,
    asks: createAskQueues(table),
  };
};
