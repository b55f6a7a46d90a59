import { Mutex } from "async-mutex";
import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../clock.ts";
import { createRate } from "../rate.ts";
import { googleError } from "./answers.ts";
import { parseJson } from "../../lib/bounded-text.ts";
import {
  aroundEach,
  found,
  refusal as refused,
  serveRoutes,
  withBody,
  type Call,
  type Reply,
  type Route,
  type Routes,
} from "../routes.ts";
import { developerNotification } from "./notifications/notifications.ts";
import { publisherRoutes } from "./publisher-api/publisher-api.ts";
import { createPushes, savedKeys, savedPushes, type PushOptions } from "./notifications/pushes.ts";
import { androidChange } from "./shop/changes.ts";
import { sandboxPurchase } from "./shop/purchases.ts";
import { createShop, savedShop, type ShopKeeping } from "./shop/shop.ts";
import { createTokenEndpoints } from "./publisher-api/tokens.ts";

/** Endpoints whose requests are counted, and may meet faults. */
export type SandboxEndpoint = "token" | "impersonation" | "publisher";

/** A request received, including one that met a fault. Its path is without the prefix; percent-encoded, as sent. */
type SandboxCall = Pick<Call, "method" | "path"> & { readonly endpoint: SandboxEndpoint };

/** A fault: a given response, no response at all, or a closed connection. */
export type Fault = Reply;

const savedStore = z.object({ shop: savedShop, pushes: savedPushes, keys: savedKeys });

/** Developer's endpoints of the sandbox: create, change and inspect purchases. */
const purchaseRoutes = (shop: ShopKeeping): Routes => {
  const presented = (purchaseToken: string) => {
    const { answer, ...stored } = shop.read(purchaseToken) ?? {};
    return { purchaseToken, ...stored, purchase: answer };
  };
  const ofKnown =
    (route: Route): Route =>
    (call, token = "") =>
      shop.read(token) === undefined ? refused(404, "There is no such purchase.") : route(call, token);
  return {
    "GET /purchases": () => found({ purchases: shop.tokens().map(presented) }),
    "POST /purchases": withBody(sandboxPurchase, (purchase) => ({
      status: 201,
      body: presented(shop.buy(purchase)),
    })),
    "GET /purchases/{purchaseToken}": ofKnown((_, token = "") => found(presented(token))),
    "POST /purchases/{purchaseToken}": ofKnown(
      withBody(androidChange, ({ change, ...details }, token = "") =>
        found(presented(shop.change(token, change, details))),
      ),
    ),
  };
};

export type AndroidPublisherSandbox = ReturnType<typeof createAndroidPublisherSandbox>;

/**
 * A local Google Play: the Android Publisher API (v3) with its token exchange, a shop, and Real-time Developer Notifications
 * as Pub/Sub pushes them. Time passes only in `runUntil`. A request that changes something is answered once its pushes were.
 *
 * @see https://developer.android.com/google/play/billing/rtdn-reference
 */
export const createAndroidPublisherSandbox = (
  options: {
    now: () => Instant;
    /** Mount path without a trailing slash; unset: the root. */
    prefix?: string;
    /** Existing packages; unset: every package exists. */
    packageNames?: readonly string[];
    /** Text that `save` returned, or this throws; null: a new store. */
    saved?: string | null;
  } & PushOptions,
) => {
  const { now, prefix = "", packageNames } = options;
  const saved = options.saved == null ? null : savedStore.parse(parseJson(options.saved));
  const pushes = createPushes(options, () => shop.time(), saved ?? { pushes: [], keys: [] });
  const shop: ShopKeeping = createShop(now, pushes.publish, saved?.shop ?? null);
  const { routes: tokenRoutes, refusal, ...accounts } = createTokenEndpoints(now);
  const faults: Record<SandboxEndpoint, Fault[]> = {
    token: [],
    impersonation: [],
    publisher: [],
  };
  const calls: SandboxCall[] = [];

  /** Routes whose requests are counted, and meet the faults of their endpoint. */
  const faulty = (endpointOf: (call: Call) => SandboxEndpoint, routes: Routes): Routes =>
    aroundEach(routes, (route) => (call, ...named) => {
      const endpoint = endpointOf(call);
      calls.push({ endpoint, method: call.method, path: call.path });
      return faults[endpoint].shift() ?? route(call, ...named);
    });

  const rate = createRate();
  const authorized = aroundEach(
    publisherRoutes(shop, packageNames),
    (route) =>
      (call, ...named) =>
        rate.countedUntil(now()) === null
          ? (refusal(call.authorization) ?? route(call, ...named))
          : googleError(429, "rateLimitExceeded", "Rate limit exceeded."),
  );
  /** Other endpoints are called during a push: waiting there would be a deadlock. */
  const pushed = (routes: Routes): Routes =>
    aroundEach(routes, (route) => async (call, ...named) => {
      const replied = await route(call, ...named);
      await pushes.pushed();
      return replied;
    });

  /** Switches pushes off and on, and sends a test notification. */
  const notificationRoutes: Routes = {
    "POST /notifications": withBody(z.object({ enabled: z.boolean() }), ({ enabled }) => {
      pushes.enable(enabled);
      return found({ enabled });
    }),
    "POST /notifications/test": withBody(z.object({ packageName: z.string().min(1) }), ({ packageName }) => {
      const at = shop.time();
      pushes.publish([developerNotification(packageName, "", "test", at)], at);
      return { status: 202, body: {} };
    }),
  };

  const nextEventAt = (): Instant | null => {
    const moments = [shop.nextEventAt(), pushes.nextAt()].filter((moment) => moment !== null);
    return moments.length === 0 ? null : Math.min(...moments);
  };

  const run = async (moment: Instant): Promise<void> => {
    await pushes.pushed();
    for (let next = nextEventAt(); next !== null && next <= moment; next = nextEventAt()) {
      if (shop.nextEventAt() === next) shop.makeNextHappen(next);
      else await pushes.sendDue(next);
      await pushes.pushed();
    }
    shop.passTime(moment);
  };
  /** Runs are sequential, so that no event happens twice. */
  const runs = new Mutex();

  return {
    buy: shop.buy,
    put: shop.put,
    read: shop.read,
    change: shop.change,
    drop: shop.drop,
    pushed: pushes.pushed,
    pushRequest: pushes.request,
    enableNotifications: pushes.enable,
    nextEventAt,
    runUntil: async (moment: Instant): Promise<void> => runs.runExclusive(async () => run(moment)),
    reset: (): void => {
      shop.reset();
      pushes.forget();
    },
    save: (): string =>
      JSON.stringify({
        shop: shop.save(),
        ...pushes.save(),
      } satisfies z.input<typeof savedStore>),
    ...accounts,
    handle: serveRoutes(prefix, {
      ...faulty(({ path }) => (path === "/token" ? "token" : "impersonation"), tokenRoutes),
      ...faulty(() => "publisher", authorized),
      ...pushed(purchaseRoutes(shop)),
      "GET /certs": async () => ({
        ...found(await pushes.keys()),
        headers: { "cache-control": "public, max-age=300" },
      }),
      ...pushed(notificationRoutes),
    }),
    /** Makes the next requests to an endpoint fail, one per fault. */
    failNext: (endpoint: SandboxEndpoint, ...next: Fault[]): void => {
      faults[endpoint].push(...next);
    },
    /** Discards the faults that no request has met yet. */
    clearFaults: (): void => {
      for (const waiting of Object.values(faults)) waiting.length = 0;
    },
    /** Requests of a second that are answered; null: all. */
    limitPublisher: rate.limit,
    calls,
  } satisfies TimedStore & Record<string, unknown>;
};
