import type * as z from "zod";
import { parseJson } from "../../lib/bounded-text.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createTimeline, type TimedStore } from "../clock.ts";
import { aroundEach, found, serveRoutes, switchOfNotifications, withBody, type Routes } from "../routes.ts";
import { createPushes, savedPushes, type PushOptions } from "./notifications.ts";
import { createFaults, publisherRoutes } from "./publisher-api.ts";
import {
  androidChange,
  sandboxPurchase,
  type RequestedAndroidChange,
  type SandboxPurchase,
} from "./shop/requests.ts";
import { createShop, savedShop, type ShopKeeping } from "./shop/shop.ts";
import { createTokenEndpoints } from "./tokens.ts";

export type { Fault, SandboxEndpoint } from "./publisher-api.ts";

const savedStore = savedPushes.extend({ shop: savedShop });

const purchaseRoutes = (shop: ShopKeeping): Routes => {
  const presented = (purchaseToken: string) => {
    const { answer, terms: _, ...stored } = shop.sold(purchaseToken);
    return { purchaseToken, ...stored, purchase: answer };
  };
  return {
    "GET /purchases": () => found({ purchases: shop.tokens().map(presented) }),
    "POST /purchases": withBody(sandboxPurchase, (purchase) => ({
      status: 201,
      body: presented(shop.buy(purchase)),
    })),
    "GET /purchases/{purchaseToken}": (_, token = "") => found(presented(token)),
    "POST /purchases/{purchaseToken}": withBody(androidChange, (change, token = "") =>
      found(presented(shop.change(token, change))),
    ),
  };
};

export type AndroidPublisherSandbox = ReturnType<typeof createAndroidPublisherSandbox>;

/**
 * A local Google Play: the Android Publisher API (v3) with its token exchange, a shop, and notifications as Pub/Sub pushes
 * them. Time passes only in `runUntil`. A request that changes something is answered once its pushes were.
 */
export const createAndroidPublisherSandbox = (
  options: {
    now: () => Instant;
    /** Mount path without a trailing slash; unset: the root. */
    prefix?: string;
    /** Text that `save` returned, or this throws; null: a new store. */
    saved?: string | null;
  } & PushOptions,
) => {
  const { now, prefix = "" } = options;
  const saved = options.saved == null ? null : savedStore.parse(parseJson(options.saved));
  const pushes = createPushes(options, () => shop.time(), saved ?? { pushes: [], keys: [] });
  const shop: ShopKeeping = createShop(now, pushes.publish, saved?.shop ?? null);
  const { nextEventAt, runUntil } = createTimeline({ shop, pushes }, now);
  const { tokenRoutes, impersonationRoutes, requireToken, ...accounts } = createTokenEndpoints(now);
  const { faulty, limited, ...faults } = createFaults(now);

  /** Other endpoints are called during a push: waiting there would be a deadlock. */
  const pushed = (routes: Routes): Routes =>
    aroundEach(routes, (route) => async (call, ...named) => {
      const replied = await route(call, ...named);
      await pushes.sent();
      return replied;
    });

  return {
    /** Sells under a new token, unless one is given, and returns the token. */
    buy: (purchase: SandboxPurchase, purchaseToken?: string) =>
      shop.buy(sandboxPurchase.parse(purchase), purchaseToken),
    put: shop.put,
    read: shop.read,
    /**
     * @returns the token of the changed purchase, or of the one that took its place
     * @throws ImpossibleChange; then nothing has changed
     */
    change: (purchaseToken: string, change: RequestedAndroidChange) =>
      shop.change(purchaseToken, androidChange.parse(change)),
    drop: shop.drop,
    pushed: pushes.sent,
    pushRequest: pushes.request,
    enableNotifications: pushes.enable,
    nextEventAt,
    runUntil,
    reset: (): void => {
      shop.reset();
      pushes.restore([]);
    },
    save: (): string =>
      JSON.stringify({ shop: shop.save(), ...pushes.save() } satisfies z.input<typeof savedStore>),
    ...accounts,
    ...faults,
    handle: serveRoutes(prefix, {
      ...faulty("token", tokenRoutes),
      ...faulty("impersonation", impersonationRoutes),
      ...faulty("publisher", limited(publisherRoutes(shop, requireToken))),
      ...pushed({
        ...purchaseRoutes(shop),
        "POST /notifications": switchOfNotifications(pushes.enable),
      }),
      "GET /certs": async () => ({
        ...found(await pushes.keys()),
        headers: { "cache-control": "public, max-age=300" },
      }),
    }),
  } satisfies TimedStore & Record<string, unknown>;
};
