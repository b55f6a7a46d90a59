import type { AndroidStoreConfiguration, Destination } from "../../../lib/applications/application.ts";
import { askGoogle } from "../../../lib/customers/asking/ask-google.ts";
import { packageInEnvironment } from "../../../lib/customers/application-stores.ts";
import {
  receiveAndroidStoreNotification,
  type AndroidStoreReception,
} from "../../../lib/customers/receive-android-store-notification.ts";
import { createPushTokenVerifier } from "../../../lib/stores/android-store/push-token.ts";
import { createStoreRequestQueue } from "../../../lib/table/telling/delivery-queue.ts";
import {
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
} from "../../../testing/support/stores/android-store.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { pendingIn } from "../../../testing/support/table/table.ts";
import { createWorld } from "../../../testing/support/world.ts";
import { atGoogle, sellingAtGoogle } from "../asking/asked-google.ts";

export const ADDRESS = "https://here.example.com/live/v1/notifications/android-store";

export interface Pushed {
  readonly data?: unknown;
  readonly claims?: Record<string, unknown>;
  readonly authorization?: string | null;
}

/** Google's store and its push keys, for the tests of one file. */
export const notifiedPackages = async () => {
  const table = createMemoryTable();
  const [local, key] = await Promise.all([startAndroidStore(), makePushKey(() => NOW, "a")]);
  const keyServer = await startKeyServer(key);
  afterAll(() => Promise.all([table.remove(), local.close(), keyServer.close()]));
  beforeEach(() => {
    local.sandbox.calls.length = 0;
    local.sandbox.clearFaults();
  });

  /** An application with a package whose notifications are pushed. */
  const aWorld = (
    changes: Partial<AndroidStoreConfiguration> = {},
    destinations: readonly Destination[] = [],
  ) => {
    const notifications = { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE };
    const application = sellingAtGoogle(local, { notifications, ...changes }, { destinations });
    const world = createWorld(table, { application, pause: () => Promise.resolve() });
    const received: unknown[] = [];
    const noted: unknown[] = [];
    const at = (moment: number, changed: Partial<AndroidStoreReception> = {}) => {
      const google = local.store({ now: () => moment });
      const { ports, link } = atGoogle(table, world.at(moment), local, google);
      const reception: AndroidStoreReception = {
        ...ports,
        pushTokens: createPushTokenVerifier({ certificatesUrl: keyServer.url, now: () => NOW }),
        note: (store, signedAt) => {
          noted.push({ ...store, signedAt });
          return Promise.resolve();
        },
        requests: createStoreRequestQueue(table),
        onReceived: (what) => received.push(what),
        ...changed,
      };
      const push = async ({ data, claims, authorization }: Pushed) => {
        const encoded =
          typeof data === "string" ? data : Buffer.from(JSON.stringify(data ?? null)).toString("base64");
        return receiveAndroidStoreNotification(reception, {
          request: { message: data === undefined ? {} : { data: encoded } },
          authorization: authorization === undefined ? `Bearer ${await key.sign(claims)}` : authorization,
          address: ADDRESS,
        });
      };
      const notify = (members: object, pushed: Omit<Pushed, "data"> = {}) =>
        push({ ...pushed, data: { version: "1.0", packageName: PACKAGE_NAME, ...members } });
      return {
        push,
        notify,
        subscription: (purchaseToken: string, notificationType = 4, members: object = {}) =>
          notify({
            subscriptionNotification: { version: "1.0", notificationType, purchaseToken },
            ...members,
          }),
        oneTime: (purchaseToken: string) =>
          notify({ oneTimeProductNotification: { version: "1.0", notificationType: 1, purchaseToken } }),
        link,
        /** Asks about what is due, as the schedule does. */
        refresh: async (): Promise<number> => {
          const queue = packageInEnvironment(application.identifier, PACKAGE_NAME);
          const due = await ports.asks.of(queue).due(moment, 10);
          for (const one of due) await askGoogle(reception, application, one);
          return due.length;
        },
        read: async (account = "user-1") => (await world.at(moment).read(account)).entitlements,
      };
    };
    return {
      ...at(NOW),
      at,
      world,
      received,
      noted,
      queued: async () =>
        (await pendingIn(table)).filter((due) => due.application === application.identifier).length,
      items: async () => await table.items(application.identifier),
    };
  };

  const { buy, isAcknowledged } = atGoogle(table, createWorld(table), local, local.store());
  return {
    table,
    sandbox: local.sandbox,
    aWorld,
    buy,
    buyOnce: (): string =>
      buy({ productKind: "one_time_product", productIdentifier: "maps", basePlanIdentifier: undefined }),
    isAcknowledged,
    /** Questions to Google. */
    asked: (): number => local.sandbox.calls.filter(({ endpoint }) => endpoint === "publisher").length,
  };
};
export type NotifiedWorld = ReturnType<Awaited<ReturnType<typeof notifiedPackages>>["aWorld"]>;
