import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createTimeline, type TimedStore } from "../clock.ts";
import { serveRoutes } from "../routes.ts";
import { controlRoutes, createCounter, type DefaultApp } from "./counter.ts";
import { notificationOf, signNotification } from "./notifications/notifications.ts";
import { createPushes, savedPushes } from "./notifications/pushes.ts";
import { createServerApi } from "./server-api/server-api.ts";
import { createServerKey, type ServerKey } from "./server-api/server-key.ts";
import { changeSchema, type RequestedChange } from "./shop/change.ts";
import type { Notice } from "./shop/current.ts";
import { savedShop } from "./shop/ledger.ts";
import { bought, type RequestedPurchase } from "./shop/purchase.ts";
import { createShop, type Shop } from "./shop/shop.ts";
import type { JwsSigner } from "./signing.ts";

export interface IosStoreOptions extends DefaultApp {
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

const parseSaved = (saved: string): z.output<typeof savedStore> => {
  try {
    return savedStore.parse(JSON.parse(saved));
  } catch (cause) {
    throw new Error("What was saved of the sandbox iOS store cannot be read.", { cause });
  }
};

export type IosStoreSandbox = ReturnType<typeof createIosStoreSandbox>;

/**
 * A local App Store: it sells, renews as time passes, signs and notifies, and has the Server API of both environments. A
 * change is answered once its notifications were.
 *
 * @throws Error if what was saved cannot be read
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
  if (saved !== null) restore(parseSaved(saved));

  const timeline = createTimeline(shop, pushes, now);
  /** A receiver may read before it answers a notification: so what is due happens, and its notifications follow. */
  const catchUp = (): Instant => {
    const at = now();
    while ((shop.nextEventAt() ?? Infinity) <= at) shop.passNextEvent();
    if ((pushes.nextAt() ?? Infinity) <= at) void timeline.runUntil(at);
    return at;
  };
  const counter = createCounter(shop, timeline, signer, options);
  const serverApi = createServerApi({ shop, pushes, catchUp, signer, serverKey, now });
  return {
    ...counter,
    handle: serveRoutes(prefix, {
      ...serverApi.routes,
      ...controlRoutes(counter, pushes, serverApi, signer),
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
