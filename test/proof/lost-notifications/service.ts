import * as z from "zod";
import { composeAndroidStoreReception } from "../../../functions/wiring/android-store.ts";
import {
  composeAndroidStoreRefresh,
  composeAndroidStoreSweep,
} from "../../../functions/wiring/android-store-asking.ts";
import { composeIosStoreReception } from "../../../functions/wiring/ios-store.ts";
import { composeIosStoreRefresh, composeIosStoreSweep } from "../../../functions/wiring/ios-store-asking.ts";
import { queueApplication } from "../../../lib/administration/acts/refresh-application.ts";
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
import { askGoogle } from "../../../lib/customers/asking/ask-google.ts";
import {
  askDuePurchases,
  askQueuesOf,
  type AskRun,
} from "../../../lib/customers/asking/ask-due-purchases.ts";
import { askApple } from "../../../lib/customers/asking/ask-apple.ts";
import { sweepAndroidStoreRefunds } from "../../../lib/customers/sweep-android-store-refunds.ts";
import { sweepIosStoreNotifications } from "../../../lib/customers/sweep-ios-store-notifications.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createAndroidStore } from "../../../lib/stores/android-store/android-store.ts";
import { createAppStoreServer } from "../../../lib/stores/ios-store/server-api/app-store-server.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { refreshingOn } from "../../../operator/composition.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { createWorld } from "../../../testing/support/world.ts";
import { ANDROID_STORE_URL, APPLE, IOS_STORE_URL, type Push, type Stores } from "./stores.ts";

/** Bodies of the link endpoints. */
export type LinkRequest =
  | { readonly store: "ios-store"; readonly request: IosStoreLinkRequest }
  | { readonly store: "android-store"; readonly request: AndroidStoreLinkRequest };

/** One deployment of the service, with a table of its own, which asks the sandbox stores. */
export interface Service {
  /** @param name by which answers name the customer, unless it has one */
  link(link: LinkRequest, name: string): Promise<void>;
  receive(push: Push): Promise<void>;
  /** Moment at which the scheduled refresh finds something to do; `Infinity`: never. */
  nextRefreshAt(): Promise<Instant>;
  refresh(): Promise<void>;
  sweepRefunds(): Promise<void>;
  sweepNotifications(): Promise<void>;
  /** `application refresh`: queues every purchase; the scheduled refresh asks. */
  queueAll(): Promise<void>;
  /** Endpoint 3's entitlements at a moment; `lastVerifiedAt` is empty. */
  read(account: string, moment: Instant): Promise<readonly CustomerEntitlement[]>;
  /** Times of the refreshes that wait in the queue, by purchase; null: none does. */
  queued(): Promise<ReadonlyMap<string, Instant | null>>;
  /** Violations of the table's invariants, and failures of the service itself. */
  violations(): Promise<readonly string[]>;
}

/** Hangs and pauses take no time here, so that these limits are for a busy machine alone. */
const TIMING = { request: 5_000, pause: 0, total: 10_000 };

/** After every refresh that is due at all. */
const LAST = Date.UTC(9000, 0, 1);

const pushedByApple = z.object({ signedPayload: z.string() });
const pushedByGoogle = z.object({ message: z.object({ data: z.string() }) });

export const createService = (
  { clock }: Pick<Stores, "clock">,
  application: Application,
  fetch: typeof globalThis.fetch,
): Service => {
  const table = createMemoryTable();
  const now = () => clock.now;
  const world = createWorld(table, { application, now, pause: () => Promise.resolve() });
  const failures: string[] = [];
  const onFailure = (error: unknown): void =>
    void failures.push(String(error instanceof Error ? error.stack : error));
  const configuration = {
    table,
    now,
    onFailure,
    onNoteFailure: onFailure,
    readSecret: () => Promise.resolve(APPLE.serverKey.privateKey),
    trustedRoots: new Set([fingerprintOf(APPLE)]),
    androidPublisherUrl: ANDROID_STORE_URL,
    appStoreServerUrl: IOS_STORE_URL,
    googleCertificatesUrl: undefined,
  };
  const { readSecret } = configuration;
  const parts = {
    directory: world.directory,
    applications: () => Promise.resolve([application.identifier]),
    pause: world.factStore.pause,
  };
  const asking = { readSecret, now, timing: TIMING, fetch };
  const androidStore = createAndroidStore({ ...asking, rootUrl: ANDROID_STORE_URL });
  const appStore = createAppStoreServer({ ...asking, rootUrl: IOS_STORE_URL });
  const ios = { ...composeIosStoreReception(configuration), ...parts };
  const google = {
    ...composeAndroidStoreReception(configuration),
    ...parts,
    androidStore,
    // Who pushes is proved elsewhere.
    pushTokens: {
      verify: () =>
        Promise.resolve({ outcome: "verified" as const, claims: { serviceAccount: "", audience: "" } }),
      disagreement: () => null,
    },
  };
  const wait = () => Promise.resolve();
  const runs: readonly AskRun[] = [
    {
      ...composeIosStoreRefresh(configuration),
      ...parts,
      wait,
      ask: async (asked, due) => askApple({ ...ios, appStore }, asked, due),
    },
    {
      ...composeAndroidStoreRefresh(configuration),
      ...parts,
      wait,
      ask: async (asked, due) => askGoogle(google, asked, due),
    },
  ];
  const asks = createAskQueues(table);
  const queues = runs.flatMap(({ store }) => askQueuesOf(application, store));
  const names = new Map<string, string>();

  return {
    link: async (link, name) => {
      const { customerIdentifier } =
        link.store === "ios-store"
          ? await linkIosStoreCustomer(ios, application.identifier, link.request)
          : await linkAndroidStoreCustomer(google, application.identifier, link.request);
      if (customerIdentifier !== null && !names.has(customerIdentifier)) names.set(customerIdentifier, name);
    },
    receive: async ({ store, body, authorization, address }) => {
      const json: unknown = JSON.parse(body);
      const received =
        store === "ios-store"
          ? receiveIosStoreNotification(ios, pushedByApple.parse(json))
          : receiveAndroidStoreNotification(google, {
              request: pushedByGoogle.parse(json),
              authorization,
              address,
            });
      await received.catch(onFailure);
    },
    nextRefreshAt: async () => {
      const times = await Promise.all(
        queues.map(async (reference) => {
          const [first] = await asks.of(reference).due(LAST, 1);
          return first === undefined
            ? Infinity
            : Math.max(first.dueAt, (await asks.healthOf(reference)).pausedUntil);
        }),
      );
      return Math.min(...times);
    },
    refresh: async () => {
      for (const run of runs) await askDuePurchases(run, clock.now + 60_000);
    },
    sweepRefunds: async () => {
      await sweepAndroidStoreRefunds(
        { ...composeAndroidStoreSweep(configuration), ...google },
        clock.now + 60_000,
      );
    },
    sweepNotifications: async () => {
      await sweepIosStoreNotifications(
        { ...composeIosStoreSweep(configuration), ...ios, note: () => Promise.resolve(), appStore },
        clock.now + 60_000,
      );
    },
    queueAll: async () => {
      const refreshing = {
        ...refreshingOn(table, { now, wait }),
        pause: parts.pause,
      };
      await queueApplication(refreshing, application, { since: clock.now, only: null }, () => undefined);
    },
    read: async (account, moment) => {
      const answer = await world.at(moment).read(account);
      return answer.entitlements.map(({ customerIdentifier, ...said }) => ({
        ...said,
        lastVerifiedAt: "",
        customerIdentifier: names.get(customerIdentifier) ?? customerIdentifier,
      }));
    },
    queued: async () => {
      const stored = await table.items();
      const purchases = stored.filter(({ sk, verifiedAt }) => sk === "PURCHASE" && Number(verifiedAt) > 0);
      return new Map(purchases.map(({ key, askAt }) => [String(key), askAt == null ? null : Number(askAt)]));
    },
    violations: async () => [
      ...failures,
      ...checkInvariants(await table.items(), { catalogOf: () => application.catalog }),
    ],
  };
};
