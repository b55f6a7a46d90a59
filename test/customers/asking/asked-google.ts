import { v7 as uuid } from "uuid";
import type { Application } from "../../../lib/applications/application.ts";
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
import { NOW, PACKAGE_NAME, startAndroidStore } from "../../../testing/support/stores/android-store.ts";
import { aCatalog, aProduct } from "../../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../../testing/support/table/table.ts";
import { createWorld } from "../../../testing/support/world.ts";

type Google = Pick<AndroidStore, "lookUp" | "acknowledge">;

type Kind = "subscription" | "one_time_product";

/** An application that sells at Google's sandbox, on one clock; `faulty` stands between it and the real client. */
export const askedGoogle = async (
  table: TestTable,
  faulty: (google: Google, now: () => Instant) => Google = (google) => google,
  changes: Partial<Application> = {},
) => {
  const clock = { now: NOW };
  const now = () => clock.now;
  const { sandbox, store, androidPackage, close } = await startAndroidStore({ now });
  const accepted = { environments: ["production", "sandbox"], notifications: null } as const;
  const configuration = { ...androidPackage, ...accepted };
  const products = ["premium", "lifetime"].map((productIdentifier) =>
    aProduct({ store: "android-store", productIdentifier }),
  );
  const application = anApplication({
    androidStore: [configuration],
    catalog: aCatalog(products),
    ...changes,
  });
  const world = createWorld(table, { application, now });
  const { directory, factStore } = world;
  const google = store({ now });
  const queues = createAskQueues(table);
  const purchases = { ...factStore, directory, androidStore: faulty(google, now), asks: queues };
  const run: AskRun = {
    store: "android-store",
    directory,
    queues,
    table: factStore.table,
    applications: () => Promise.resolve([application.identifier]),
    ask: (of, due) => askGoogle(purchases, of, due),
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
    sandbox,
    world,
    run,
    buy: (changes: object = {}): string =>
      sandbox.buy({
        packageName: PACKAGE_NAME,
        productKind: "subscription",
        productIdentifier: "premium",
        basePlanIdentifier: "monthly",
        ...changes,
      }),
    link: (purchaseToken: string, productKind: Kind = "subscription", account = "user-1") =>
      linkAndroidStoreCustomer(purchases, application.identifier, {
        packageName: PACKAGE_NAME,
        purchaseToken,
        productKind,
        applicationAccountIdentifier: account,
      }),
    /** Stores what Google says of a purchase, as a notification does. */
    hear: async (purchaseToken: string, productKind: Kind = "subscription") => {
      const question = { purchaseToken, productKind, productIdentifier: null };
      const answer = await purchases.androidStore.lookUp(configuration, question);
      if (answer.outcome !== "verified") throw new Error(answer.outcome);
      const origin = { source: sourceOf(configuration, question), askedAt: null };
      const context = { ports: purchases, application, configuration };
      return storeAndroidStorePurchase(context, answer, origin, null);
    },
    close,
  };
};
