import * as z from "zod";
import { parseJson } from "../../lib/bounded-text.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createTimeline, type TimedStore, type Timeline } from "../clock.ts";
import { found, serveRoutes, switchOfNotifications, withBody, type Routes } from "../routes.ts";
import { createPushes, notificationOf, savedPushes, signNotification } from "./notifications.ts";
import {
  createServerApi,
  createServerKey,
  serverApiFault,
  type ServerApiFault,
  type ServerKey,
} from "./server-api.ts";
import type { Notice } from "./shop/lineage.ts";
import { newIdentifier, personsPurchases } from "./shop/payloads.ts";
import {
  bought,
  changeSchema,
  type Bought,
  type IosChange,
  type RequestedChange,
  type RequestedPurchase,
} from "./shop/requests.ts";
import { createShop, savedShop, type Shop } from "./shop/shop.ts";
import { fingerprintOf, type JwsSigner } from "./signing.ts";

const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

/** Sells, changes and shows purchases: each once everything due has happened, and answered once its notifications were. */
const createCounter = (shop: Shop, { inTurn }: Timeline, { signer, ...defaults }: IosStoreOptions) => {
  const presented = (key: string, at: number) =>
    personsPurchases(shop.account(key), shop.lineagesOf(key), at, signer);
  return {
    buy: async ({ applicationAccountIdentifier, transactions, ...customer }: Bought) =>
      inTurn((at) => {
        const environment = ENVIRONMENTS[customer.environment];
        const { appTransactionIdentifier = newIdentifier(environment) } = customer;
        const account = {
          bundleIdentifier: customer.bundleIdentifier ?? defaults.bundleIdentifier,
          appAppleIdentifier: customer.appAppleIdentifier ?? defaults.appAppleIdentifier,
          environment,
          appTransactionIdentifier,
          ...(applicationAccountIdentifier !== undefined && { applicationAccountIdentifier }),
        };
        const lineages = shop.sell(account, transactions, at);
        return () => personsPurchases(account, lineages, at, signer);
      }),
    change: async (originalTransactionIdentifier: string, change: IosChange) =>
      inTurn((at) => {
        const key = shop.change(originalTransactionIdentifier, change, at);
        return () => presented(key, at);
      }),
    /** @throws ImpossibleChange if there is none */
    read: async (originalTransactionIdentifier: string) =>
      inTurn((at) => () => presented(shop.lineage(originalTransactionIdentifier).account, at)),
    readAll: async () => inTurn((at) => () => shop.accounts().map((key) => presented(key, at))),
  };
};

/** Endpoints for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
const controlRoutes = (
  counter: ReturnType<typeof createCounter>,
  { x5c }: JwsSigner,
  enableNotifications: (on: boolean) => void,
  failServerApi: (fault: ServerApiFault | null) => void,
): Routes => ({
  "POST /purchases": withBody(bought, async (purchase) => found(await counter.buy(purchase))),
  "GET /purchases": async () => found({ purchases: await counter.readAll() }),
  "POST /purchases/{identifier}": withBody(changeSchema, async (change, identifier = "") =>
    found(await counter.change(identifier, change)),
  ),
  "GET /purchases/{identifier}": async (_, identifier = "") => found(await counter.read(identifier)),
  "POST /notifications": switchOfNotifications(enableNotifications),
  "GET /root": () =>
    found({ fingerprint: fingerprintOf({ certificate: Buffer.from(x5c.at(-1) ?? "", "base64") }) }),
  "POST /server-api": withBody(z.strictObject({ fails: serverApiFault.nullable() }), ({ fails }) => {
    failServerApi(fails);
    return found({ fails });
  }),
});

export interface IosStoreOptions {
  /** App of purchases that name no bundle or no Apple ID. */
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
  /** Mount path without a trailing slash. */
  readonly prefix: string;
  readonly signer: JwsSigner;
  readonly now: () => Instant;
  /** Address of the notifications; null: none are sent. */
  readonly notificationUrl: () => string | null;
  /** API key of the Server API's clients; unset: a new one. */
  readonly serverKey?: ServerKey;
  /** State as {@link TimedStore.save} wrote it; null: nothing was sold. */
  readonly saved: string | null;
}

const savedStore = z
  .object({ format: z.literal(1), shop: savedShop, pushes: savedPushes })
  .refine(({ shop: { accounts, lineages } }) => {
    const keys = new Set(accounts.map(([key]) => key));
    return lineages.every(
      ({ account, subscription, transactions }) =>
        keys.has(account) &&
        (subscription === null || transactions.every(({ expiresDate }) => expiresDate !== null)),
    );
  }, "its parts do not fit together");

export type IosStoreSandbox = ReturnType<typeof createIosStoreSandbox>;

/**
 * A local App Store: it sells, renews as time passes, signs and notifies, and has the Server API of both environments. A
 * change is answered once its notifications were.
 *
 * @throws ZodError if `saved` is not what `save` returned
 */
export const createIosStoreSandbox = (options: IosStoreOptions) => {
  const { prefix, signer, now, notificationUrl, saved, serverKey = createServerKey() } = options;
  const pushes = createPushes(notificationUrl);
  const publish = (notices: readonly Notice[], dueAt: Instant): void => {
    for (const notice of notices) {
      const account = shop.account(notice.lineage.account);
      pushes.publish(signNotification(notificationOf(account, notice, signer), signer), account, dueAt);
    }
  };
  const shop: Shop = createShop(publish);
  const restore = (state: Omit<z.output<typeof savedStore>, "format">): void => {
    shop.restore(state.shop);
    pushes.restore(state.pushes);
  };
  if (saved !== null) restore(savedStore.parse(parseJson(saved)));

  const timeline = createTimeline({ shop, pushes }, now);
  /** A receiver may read before it answers a notification: so what is due happens, and its notifications follow. */
  const catchUp = (): Instant => {
    const at = now();
    while ((shop.nextEvent()?.at ?? Infinity) <= at) shop.passNextEvent();
    if ((pushes.nextAt() ?? Infinity) <= at) void timeline.runUntil(at);
    return at;
  };
  const counter = createCounter(shop, timeline, options);
  const serverApi = createServerApi({ shop, history: pushes.history, catchUp, signer, serverKey, now });
  return {
    ...counter,
    handle: serveRoutes(prefix, {
      ...serverApi.routes,
      ...controlRoutes(counter, signer, pushes.enable, serverApi.fail),
    }),
    buy: async (purchase: RequestedPurchase) => counter.buy(bought.parse(purchase)),
    /** @throws ImpossibleChange if the purchase does not allow it, or there is none; then nothing has changed */
    change: async (originalTransactionIdentifier: string, change: RequestedChange) =>
      counter.change(originalTransactionIdentifier, changeSchema.parse(change)),
    enableNotifications: pushes.enable,
    /** API key of the Server API's clients, for every bundle. */
    serverKey,
    /** Makes requests of the Server API fail; null: they no longer do. */
    failServerApi: serverApi.fail,
    /** Requests of the Server API, including those that failed. */
    requests: serverApi.requests,
    nextEventAt: timeline.nextEventAt,
    runUntil: timeline.runUntil,
    reset: () => {
      restore({
        shop: { accounts: [], lineages: [] },
        pushes: { enabled: true, pending: [], history: [] },
      });
      serverApi.fail(null);
    },
    save: () => JSON.stringify({ format: 1, shop: shop.save(), pushes: pushes.save() }),
  } satisfies TimedStore & Record<string, unknown>;
};
