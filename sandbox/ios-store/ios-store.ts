import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../clock.ts";
import { serveRoutes } from "../routes.ts";
import { ImpossibleChange } from "../impossible-change.ts";
import { changeSchema, type RequestedChange } from "./shop/change.ts";
import { controlRoutes } from "./control.ts";
import { createCounter } from "./counter.ts";
import type { AppNotification, NotifiedApp } from "./notifications/notifications.ts";
import { bought, type RequestedPurchase } from "./shop/purchase.ts";
import { createPushes, NO_PUSHES, savedPushes } from "./notifications/pushes.ts";
import { createServerApi } from "./server-api/server-api.ts";
import { createServerApiFaults, serverApiFault, type ServerApiFault } from "./server-api/faults.ts";
import { createServerKey, type ServerKey } from "./server-api/server-key.ts";
import { createShop, savedShop } from "./shop/shop.ts";
import type { JwsSigner } from "./signing.ts";

export interface IosStoreOptions {
  /** Mount path without a trailing slash. */
  readonly prefix: string;
  readonly signer: JwsSigner;
  /** Defaults for purchases that name no bundle or no Apple ID. */
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
  readonly now: () => Instant;
  /** Address of the notifications; null: none are sent. */
  readonly notificationUrl: string | null | (() => string | null);
  /** Milliseconds until a notification counts as failed; unset: 10 seconds. */
  readonly pushTimeout?: number;
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
 * A sandbox App Store: it sells, renews as time passes, signs and notifies as the App Store does, and has its Server API of
 * both environments. A change is answered once its notifications were. A transaction with its own dates, ids or states is
 * signed as requested and not remembered, unless it is `live`.
 *
 * @throws Error if what was saved cannot be read
 */
export const createIosStoreSandbox = (options: IosStoreOptions) => {
  const { prefix, signer, now, notificationUrl, saved, bundleIdentifier, appAppleIdentifier } = options;
  const shop = createShop();
  const pushes = createPushes(
    () => (typeof notificationUrl === "function" ? notificationUrl() : notificationUrl),
    options.pushTimeout,
  );
  if (saved !== null) {
    const sold = parseSaved(saved);
    shop.restore(sold.shop);
    pushes.restore(sold.pushes);
  }
  const counter = createCounter({ shop, pushes, signer, now, bundleIdentifier, appAppleIdentifier });
  const faults = createServerApiFaults();
  const serverKey = options.serverKey ?? createServerKey();
  const serverApi = createServerApi({ shop, pushes, counter, faults, signer, serverKey, now });
  const store = {
    handle: serveRoutes(prefix, { ...serverApi.routes, ...controlRoutes(counter, pushes, faults, signer) }),
    buy: async (purchase: RequestedPurchase) => counter.buy(bought.parse(purchase)),
    /** @throws ImpossibleChange if the purchase does not allow it, or there is none; then nothing has changed */
    change: async (originalTransactionIdentifier: string, change: RequestedChange) => {
      const changed = await counter.change(originalTransactionIdentifier, changeSchema.parse(change));
      if (changed === null) throw new ImpossibleChange("There is no such purchase.");
      return changed;
    },
    read: counter.read,
    readAll: counter.readAll,
    /** @param app unset: the store's defaults, in the sandbox environment */
    notify: async (notification: AppNotification, app: NotifiedApp = {}) => counter.notify(notification, app),
    enableNotifications: pushes.enable,
    /** API key of the Server API's clients, for every bundle. */
    serverKey,
    /** Makes requests of the Server API fail; null: they no longer do. */
    failServerApi: (fault: ServerApiFault | null): void =>
      faults.set(fault === null ? null : serverApiFault.parse(fault)),
    /** Requests of the Server API by endpoint, including those that failed. */
    requests: serverApi.requests,
    nextEventAt: () => {
      const next = Math.min(shop.nextEventAt() ?? Infinity, pushes.nextAt() ?? Infinity);
      return next === Infinity ? null : next;
    },
    runUntil: counter.runUntil,
    reset: () => {
      shop.restore({ accounts: [], lineages: [] });
      pushes.restore(NO_PUSHES);
      faults.set(null);
    },
    save: () => JSON.stringify({ format: 1, shop: shop.save(), pushes: pushes.save() }),
  };
  return store satisfies TimedStore;
};
