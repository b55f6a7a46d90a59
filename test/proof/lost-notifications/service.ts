import * as z from "zod";
import {
  composeAndroidStoreReception,
  composeAndroidStoreRefresh,
  composeAndroidStoreSweep,
} from "../../../functions/wiring/android-store.ts";
import {
  composeIosStoreCustomers,
  composeIosStoreReception,
  composeIosStoreRefresh,
  composeIosStoreSweep,
} from "../../../functions/wiring/ios-store.ts";
import { queueApplication } from "../../../lib/administration/acts/refresh.ts";
import type { Application } from "../../../lib/applications/application.ts";
import type {
  AndroidStoreLinkRequest,
  CustomerEntitlement,
  IosStoreLinkRequest,
} from "../../../lib/contract/schemas.ts";
import { linkAndroidStoreCustomer } from "../../../lib/customers/link-android-store-customer.ts";
import { linkIosStoreCustomer } from "../../../lib/customers/ios-store-customers.ts";
import { receiveAndroidStoreNotification } from "../../../lib/customers/receive-android-store-notification.ts";
import { receiveIosStoreNotification } from "../../../lib/customers/receive-ios-store-notification.ts";
import { sweepIosStoreNotifications } from "../../../lib/customers/sweep-ios-store-notifications.ts";
import { askGoogle } from "../../../lib/customers/asking/ask-google.ts";
import { sweepAndroidStoreRefunds } from "../../../lib/customers/sweep-android-store-refunds.ts";
import { askDuePurchases } from "../../../lib/customers/asking/ask-due-purchases.ts";
import { askQueuesOf } from "../../../lib/customers/application-stores.ts";
import { askApple } from "../../../lib/customers/asking/ask-apple.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createAndroidStore } from "../../../lib/stores/android-store/android-store.ts";
import { createAppStoreServer } from "../../../lib/stores/ios-store/app-store-server.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { createMemoryTable, type MemoryTable } from "../../../testing/support/table/memory-table.ts";
import { createWorld, type World } from "../../../testing/support/world.ts";
import type { Receive, Stores } from "./stores.ts";

/** Bodies of the link endpoints. */
export type LinkRequest =
  | { readonly store: "ios-store"; readonly request: IosStoreLinkRequest }
  | { readonly store: "android-store"; readonly request: AndroidStoreLinkRequest };

/** One deployment of the service, with a table of its own, which asks the sandbox stores. */
export type Service = ReturnType<typeof createService>;

/** Hangs and pauses take no time here, so that these limits are for a busy machine alone. */
const TIMING = { request: 5_000, pause: 0, total: 10_000 };

/** After every refresh that is due at all. */
const LAST = Date.UTC(9000, 0, 1);

const pushedByApple = z.object({ signedPayload: z.string() });
const pushedByGoogle = z.object({ message: z.object({ data: z.string() }) });

const atOnce = () => Promise.resolve();

/** The service's functions as they are deployed, but for how they reach the stores. */
const composeFunctions = (
  { clock, environment, ios: { serverKey } }: Stores,
  { world, table }: { readonly world: World; readonly table: MemoryTable },
  fetch: typeof globalThis.fetch,
  onFailure: (error: unknown) => void,
) => {
  const now = () => clock.now;
  const readSecret = () => Promise.resolve(serverKey.privateKey);
  const { ANDROID_PUBLISHER_URL: androidPublisherUrl, APP_STORE_SERVER_URL: appStoreServerUrl } = environment;
  const configuration = {
    table,
    now,
    onFailure,
    onNoteFailure: onFailure,
    readSecret,
    trustedRoots: new Set([environment["IOS_STORE_TRUSTED_ROOTS"] ?? ""]),
    androidPublisherUrl,
    appStoreServerUrl,
    googleCertificatesUrl: undefined,
  };
  const parts = {
    directory: world.directory,
    applications: () => Promise.resolve([world.application.identifier]),
    pause: world.factStore.pause,
  };
  const asking = { readSecret, now, timing: TIMING, fetch };
  const appStore = createAppStoreServer({ ...asking, rootUrl: appStoreServerUrl });
  const ios = {
    ...composeIosStoreCustomers(configuration),
    ...composeIosStoreReception(configuration),
    ...parts,
  };
  const google = {
    ...composeAndroidStoreReception(configuration),
    ...parts,
    androidStore: createAndroidStore({ ...asking, rootUrl: androidPublisherUrl }),
    // Who pushes is proved elsewhere.
    pushTokens: {
      verify: () =>
        Promise.resolve({ outcome: "verified" as const, claims: { serviceAccount: "", audience: "" } }),
      disagreement: () => null,
    },
  };
  const refreshIos = composeIosStoreRefresh(configuration);
  const refreshAndroid = composeAndroidStoreRefresh(configuration);
  return {
    ios,
    google,
    refreshes: [
      {
        ...refreshIos,
        ...parts,
        wait: atOnce,
        ask: (async (asked, due) => askApple({ ...ios, appStore }, asked, due)) as typeof refreshIos.ask,
      },
      {
        ...refreshAndroid,
        ...parts,
        wait: atOnce,
        ask: (async (asked, due) => askGoogle(google, asked, due)) as typeof refreshAndroid.ask,
      },
    ],
    refundSweep: { ...composeAndroidStoreSweep(configuration), ...google },
    notificationSweep: { ...composeIosStoreSweep(configuration), ...ios, note: atOnce, appStore },
  };
};

export const createService = (stores: Stores, application: Application, fetch: typeof globalThis.fetch) => {
  const { clock } = stores;
  const table = createMemoryTable();
  const now = () => clock.now;
  const world = createWorld(table, { application, now, pause: atOnce });
  const failures: string[] = [];
  const onFailure = (error: unknown): void =>
    void failures.push(String(error instanceof Error ? error.stack : error));
  const composed = composeFunctions(stores, { world, table }, fetch, onFailure);
  const { ios, google, refreshes } = composed;
  const soon = (): Instant => clock.now + 60_000;
  const asks = createAskQueues(table);
  const queues = refreshes.flatMap(({ store }) => askQueuesOf(application, store));
  const names = new Map<string, string>();

  const receive: Receive = async (endpoint, { body, headers }) => {
    const json: unknown = JSON.parse(body ?? "");
    const received =
      endpoint === "receiveIosStoreNotification"
        ? receiveIosStoreNotification(ios, pushedByApple.parse(json))
        : receiveAndroidStoreNotification(google, {
            request: pushedByGoogle.parse(json),
            authorization: headers["Authorization"] ?? null,
            address: "",
          });
    await received.catch(onFailure);
  };
  return {
    /** @param name by which answers name the customer, unless it has one */
    link: async (link: LinkRequest, name: string): Promise<void> => {
      const { customerIdentifier } =
        link.store === "ios-store"
          ? await linkIosStoreCustomer(ios, application.identifier, link.request)
          : await linkAndroidStoreCustomer(google, application.identifier, link.request);
      if (customerIdentifier !== null && !names.has(customerIdentifier)) names.set(customerIdentifier, name);
    },
    receive,
    /** Moment at which the scheduled refresh finds something to do; `Infinity`: never. */
    nextRefreshAt: async (): Promise<Instant> => {
      const times = queues.map(async (reference) => {
        const [first] = await asks.of(reference).due(LAST, 1);
        return first === undefined
          ? Infinity
          : Math.max(first.ask.at, (await asks.healthOf(reference)).pausedUntil);
      });
      return Math.min(...(await Promise.all(times)));
    },
    refresh: async (): Promise<void> => {
      for (const run of refreshes) await askDuePurchases(run, soon());
    },
    sweepRefunds: () => sweepAndroidStoreRefunds(composed.refundSweep, soon()),
    sweepNotifications: () => sweepIosStoreNotifications(composed.notificationSweep, soon()),
    /** `application refresh`: queues every purchase; the scheduled refresh asks. */
    queueAll: async (): Promise<void> => {
      const { operations, factStore } = world;
      const refreshing = { ...operations, customers: factStore.table, queue: asks, now, wait: atOnce };
      await queueApplication(refreshing, application, { since: clock.now, only: null }, () => undefined);
    },
    /** Endpoint 3's entitlements at a moment; `lastVerifiedAt` is empty. */
    read: async (account: string, moment: Instant): Promise<readonly CustomerEntitlement[]> => {
      const { entitlements } = await world.at(moment).read(account);
      return entitlements.map((one) => ({
        ...one,
        lastVerifiedAt: "",
        customerIdentifier: names.get(one.customerIdentifier) ?? one.customerIdentifier,
      }));
    },
    /** Keys of the purchases for which a refresh waits in the queue. */
    queued: async (): Promise<readonly string[]> =>
      (await table.items())
        .filter(({ sk, verifiedAt, ask }) => sk === "PURCHASE" && Number(verifiedAt) > 0 && ask != null)
        .map(({ key }) => String(key)),
    /** Violations of the table's invariants, and failures of the service itself. */
    violations: async (): Promise<readonly string[]> => [
      ...failures,
      ...checkInvariants(await table.items(), { catalogOf: () => application.catalog }),
    ],
  };
};
