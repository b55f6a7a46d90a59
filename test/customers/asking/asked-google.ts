import { v7 as uuid } from "uuid";
import type { AndroidStoreConfiguration, Application } from "../../../lib/applications/application.ts";
import type { AskRun } from "../../../lib/customers/asking/ask-due-purchases.ts";
import { askGoogle } from "../../../lib/customers/asking/ask-google.ts";
import { linkAndroidStoreCustomer } from "../../../lib/customers/link-android-store-customer.ts";
import {
  sourceOf,
  storeAndroidStorePurchase,
} from "../../../lib/customers/storing/store-android-store-purchase.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { AndroidStore } from "../../../lib/stores/android-store/android-store.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { anApplication } from "../../../testing/support/application.ts";
import {
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/stores/android-store.ts";
import { aCatalog, aProduct } from "../../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../../testing/support/table/table.ts";
import { createWorld, type World } from "../../../testing/support/world.ts";

type Google = Pick<AndroidStore, "lookUp" | "acknowledge">;

type Kind = "subscription" | "one_time_product";

/** An application whose package sells at Google's sandbox; each product grants an entitlement of its name. */
export const sellingAtGoogle = (
  { androidPackage }: LocalAndroidStore,
  configuration: Partial<AndroidStoreConfiguration> = {},
  changes: Partial<Application> = {},
): Application =>
  anApplication({
    androidStore: [
      { ...androidPackage, environments: ["production", "sandbox"], notifications: null, ...configuration },
    ],
    catalog: aCatalog(
      ["premium", "lifetime", "maps", "tiles"].map((name) =>
        aProduct({ store: "android-store", productIdentifier: name, grants: [name] }),
      ),
    ),
    ...changes,
  });

/** What the application of a world, and its buyers, do at Google's sandbox. */
export const atGoogle = (table: TestTable, world: World, { sandbox }: LocalAndroidStore, google: Google) => {
  const { factStore, directory, application } = world;
  const ports = { ...factStore, directory, androidStore: google, asks: createAskQueues(table) };
  return {
    ports,
    buy: (changes: object = {}): string =>
      sandbox.buy({
        packageName: PACKAGE_NAME,
        productKind: "subscription",
        productIdentifier: "premium",
        basePlanIdentifier: "monthly",
        ...changes,
      }),
    link: (
      purchaseToken: string,
      productKind: Kind = "subscription",
      account = "user-1",
      productIdentifier: string | null = null,
    ) =>
      linkAndroidStoreCustomer(ports, application.identifier, {
        packageName: PACKAGE_NAME,
        purchaseToken,
        productKind,
        productIdentifier,
        applicationAccountIdentifier: account,
      }),
    isAcknowledged: (token: string): boolean =>
      sandbox.read(token)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
  };
};

/** An application that sells at Google's sandbox, on one clock; `faulty` stands between it and the real client. */
export const askedGoogle = async (
  table: TestTable,
  faulty: (google: Google, now: () => Instant) => Google = (google) => google,
  changes: Partial<Application> = {},
) => {
  const clock = { now: NOW };
  const now = () => clock.now;
  const local = await startAndroidStore({ now });
  const application = sellingAtGoogle(local, {}, changes);
  const world = createWorld(table, { application, now });
  const { ports, ...acts } = atGoogle(table, world, local, faulty(local.store({ now }), now));
  const run: AskRun = {
    store: "android-store",
    directory: world.directory,
    queues: ports.asks,
    table: ports.table,
    applications: () => Promise.resolve([application.identifier]),
    ask: (of, due) => askGoogle(ports, of, due),
    newWorker: uuid,
    now,
    wait: (milliseconds) => {
      clock.now += milliseconds;
      return Promise.resolve();
    },
    onFailure: (error) => {
      throw error;
    },
  };
  return {
    clock,
    sandbox: local.sandbox,
    world,
    run,
    ...acts,
    /** Stores what Google says of a purchase, as a notification does. */
    hear: async (purchaseToken: string, productKind: Kind = "subscription") => {
      const question = { purchaseToken, productKind, productIdentifier: null };
      const [configuration] = application.androidStore;
      if (configuration === undefined) throw new Error("There is no package.");
      const answer = await ports.androidStore.lookUp(configuration, question);
      if (answer.outcome !== "verified") throw new Error(answer.outcome);
      const origin = { source: sourceOf(configuration, question), askedAt: null };
      return storeAndroidStorePurchase({ ports, application, configuration }, answer, origin, null);
    },
    close: local.close,
  };
};
