import { Mutex } from "async-mutex";
import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../clock.ts";
import { ImpossibleChange } from "../impossible-change.ts";
import { found, refusal, serveRoutes, withBody, type Answer, type Routes } from "../routes.ts";
import {
  APP_NOTIFICATIONS,
  appNotification,
  notificationOf,
  notifiedApp,
  signNotification,
  type AppNotification,
  type NotifiedApp,
} from "./notifications/notifications.ts";
import { createPushes, NO_PUSHES, savedPushes } from "./notifications/pushes.ts";
import { serverApiFault } from "./server-api/faults.ts";
import { createServerApi } from "./server-api/server-api.ts";
import { createServerKey, type ServerKey } from "./server-api/server-key.ts";
import { newIdentifier } from "./shop/app-store.ts";
import { changeSchema, type IosChange, type RequestedChange } from "./shop/change.ts";
import { type Account, type Lineage, type Notice } from "./shop/lineage.ts";
import { personsPurchases, type PersonsPurchases } from "./shop/payloads.ts";
import { bought, type Bought, type RequestedPurchase } from "./shop/purchase.ts";
import { createShop, savedShop } from "./shop/shop.ts";
import { fingerprintOf, type JwsSigner } from "./signing.ts";

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
  /** API key of the Server API's clients; unset: a new one. */
  readonly serverKey?: ServerKey;
  /** State as {@link TimedStore.save} wrote it; null: nothing was sold. */
  readonly saved: string | null;
}

const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

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

const orNoPurchase = (body: unknown): Answer =>
  body === null ? refusal(404, "There is no such purchase.") : found(body);

export type IosStoreSandbox = ReturnType<typeof createIosStoreSandbox>;

/**
 * A sandbox App Store: it sells, renews as time passes, signs and notifies as the App Store does, and has its Server API of
 * both environments. A change is answered once its notifications were.
 *
 * @throws Error if what was saved cannot be read
 */
export const createIosStoreSandbox = (options: IosStoreOptions) => {
  const { prefix, signer, now, notificationUrl, saved, ...defaults } = options;
  const shop = createShop();
  const pushes = createPushes(() =>
    typeof notificationUrl === "function" ? notificationUrl() : notificationUrl,
  );
  if (saved !== null) {
    const sold = parseSaved(saved);
    shop.restore(sold.shop);
    pushes.restore(sold.pushes);
  }

  const tell = (notices: readonly Notice[], dueAt: Instant): void => {
    for (const notice of notices) {
      const account = shop.account(notice.lineage.account);
      const signedPayload = signNotification(notificationOf(account, notice, signer), signer);
      pushes.queue({ signedPayload, environment: account.environment, dueAt });
    }
  };

  const nextEventAt = (): Instant | null => {
    const next = Math.min(shop.nextEventAt() ?? Infinity, pushes.nextAt() ?? Infinity);
    return next === Infinity ? null : next;
  };

  const runDue = async (moment: Instant): Promise<void> => {
    for (let next = nextEventAt(); next !== null && next <= moment; next = nextEventAt())
      if (pushes.nextAt() === next) await pushes.sendNext();
      else tell(shop.passNextEvent(), next);
  };

  /** Tasks run one at a time, so that notifications keep the order of their events. */
  const turns = new Mutex();
  const runUntil = async (moment: Instant): Promise<void> => turns.runExclusive(async () => runDue(moment));
  /** Runs a task once everything due has happened, and then what the task has made due. */
  const upToDate = async <Result>(task: (at: Instant) => Result): Promise<Result> =>
    turns.runExclusive(async () => {
      await runDue(now());
      const at = now();
      const result = task(at);
      await runDue(at);
      return result;
    });
  /**
   * Reads at once, without waiting for notifications, because a receiver may read before it answers one. Everything due
   * has happened; its notifications follow.
   */
  const look = <Result>(read: (at: Instant) => Result): Result => {
    const at = now();
    for (let due = shop.nextEventAt(); due !== null && due <= at; due = shop.nextEventAt())
      tell(shop.passNextEvent(), due);
    if ((pushes.nextAt() ?? Infinity) <= at) void runUntil(at);
    return read(at);
  };

  const presented = (key: string, at: Instant): PersonsPurchases =>
    personsPurchases(shop.account(key), shop.lineagesOf(key), at, signer);
  const presentedOf = (lineage: Lineage | undefined, at: Instant): PersonsPurchases | null =>
    lineage === undefined ? null : presented(lineage.account, at);

  const accountOf = ({ applicationAccountIdentifier, ...customer }: Bought): Account => {
    const environment = ENVIRONMENTS[customer.environment];
    const { appTransactionIdentifier = newIdentifier(environment) } = customer;
    return {
      bundleIdentifier: customer.bundleIdentifier ?? defaults.bundleIdentifier,
      appAppleIdentifier: customer.appAppleIdentifier ?? defaults.appAppleIdentifier,
      environment,
      appTransactionIdentifier,
      ...(applicationAccountIdentifier !== undefined && { applicationAccountIdentifier }),
    };
  };

  const sell = (purchase: Bought, at: Instant): PersonsPurchases => {
    const account = accountOf(purchase);
    const outcomes = shop.sell(account, purchase.transactions, at);
    for (const { notices } of outcomes) tell(notices, at);
    const lineages = outcomes.map(({ lineage }) => lineage);
    return personsPurchases(account, lineages, at, signer);
  };

  /** Before a request is answered, everything due has happened, and its notifications were sent. */
  const counter = {
    buy: async (purchase: Bought) => upToDate((at) => sell(purchase, at)),
    /** Null: there is no such purchase. */
    change: async (originalTransactionIdentifier: string, change: IosChange) => {
      // Presented in the same turn, once the change's notifications were sent.
      return turns.runExclusive(async () => {
        await runDue(now());
        const at = now();
        const lineage = shop.lineage(originalTransactionIdentifier);
        if (lineage === undefined) return null;
        const outcome = shop.change(lineage, change, at);
        tell(outcome.notices, at);
        await runDue(at);
        return presented(outcome.lineage.account, at);
      });
    },
    /** Null: there is no such purchase. */
    read: async (originalTransactionIdentifier: string) =>
      upToDate((at) => presentedOf(shop.lineage(originalTransactionIdentifier), at)),
    readAll: async () => upToDate((at) => shop.accounts().map((key) => presented(key, at))),
    /** @param app unset: the store's defaults, in the sandbox environment */
    notify: async (
      notification: AppNotification,
      { environment = "sandbox", ...named }: NotifiedApp = {},
    ): Promise<void> =>
      upToDate((at) => {
        const app = {
          bundleIdentifier: named.bundleIdentifier ?? defaults.bundleIdentifier,
          appAppleIdentifier: named.appAppleIdentifier ?? defaults.appAppleIdentifier,
          environment: ENVIRONMENTS[environment],
        };
        const signedPayload = signNotification(appNotification(notification, app, at), signer);
        pushes.queue({ signedPayload, environment: app.environment, dueAt: at });
      }),
  };
  const serverKey = options.serverKey ?? createServerKey();
  const serverApi = createServerApi({ shop, pushes, look, signer, serverKey, now });
  /** Endpoints for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
  const controlRoutes: Routes = {
    "POST /purchases": withBody(bought, async (purchase) => found(await counter.buy(purchase))),
    "GET /purchases": async () => found({ purchases: await counter.readAll() }),
    "POST /purchases/{identifier}": withBody(changeSchema, async (change, identifier = "") =>
      orNoPurchase(await counter.change(identifier, change)),
    ),
    "GET /purchases/{identifier}": async (_, identifier = "") => orNoPurchase(await counter.read(identifier)),
    "POST /notifications": withBody(z.strictObject({ enabled: z.boolean() }), ({ enabled }) => {
      pushes.enable(enabled);
      return found({ enabled });
    }),
    ...Object.fromEntries(
      APP_NOTIFICATIONS.map((name) => [
        `POST /notifications/${name}`,
        withBody(notifiedApp, async (app) => {
          await counter.notify(name, app);
          return found({});
        }),
      ]),
    ),
    "GET /root": () =>
      found({ fingerprint: fingerprintOf({ certificate: Buffer.from(signer.x5c.at(-1) ?? "", "base64") }) }),
    "POST /server-api": withBody(z.strictObject({ fails: serverApiFault.nullable() }), ({ fails }) => {
      serverApi.fail(fails);
      return found({ fails });
    }),
  };
  return {
    ...counter,
    handle: serveRoutes(prefix, { ...serverApi.routes, ...controlRoutes }),
    buy: async (purchase: RequestedPurchase) => counter.buy(bought.parse(purchase)),
    /** @throws ImpossibleChange if the purchase does not allow it, or there is none; then nothing has changed */
    change: async (originalTransactionIdentifier: string, change: RequestedChange) => {
      const changed = await counter.change(originalTransactionIdentifier, changeSchema.parse(change));
      if (changed === null) throw new ImpossibleChange("There is no such purchase.");
      return changed;
    },
    enableNotifications: pushes.enable,
    /** API key of the Server API's clients, for every bundle. */
    serverKey,
    /** Makes requests of the Server API fail; null: they no longer do. */
    failServerApi: serverApi.fail,
    /** Requests of the Server API, including those that failed. */
    requests: serverApi.requests,
    nextEventAt,
    runUntil,
    reset: () => {
      shop.restore({ accounts: [], lineages: [] });
      pushes.restore(NO_PUSHES);
      serverApi.fail(null);
    },
    save: () => JSON.stringify({ format: 1, shop: shop.save(), pushes: pushes.save() }),
  } satisfies TimedStore & Record<string, unknown>;
};
