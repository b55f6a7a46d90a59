import * as z from "zod";
import type { Timeline } from "../clock.ts";
import { found, withBody, type Routes } from "../routes.ts";
import type { Pushes } from "./notifications/pushes.ts";
import type { ServerApi } from "./server-api/server-api.ts";
import { serverApiFault } from "./server-api/faults.ts";
import { newIdentifier } from "./shop/app-store.ts";
import { changeSchema, type IosChange } from "./shop/change.ts";
import { personsPurchases } from "./shop/payloads.ts";
import { bought, type Bought } from "./shop/purchase.ts";
import type { Shop } from "./shop/shop.ts";
import { fingerprintOf, type JwsSigner } from "./signing.ts";

/** For purchases that name no bundle or no Apple ID. */
export interface DefaultApp {
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
}

const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

type Counter = ReturnType<typeof createCounter>;

/** Sells, changes and shows purchases: each once everything due has happened, and answered once its notifications were. */
export const createCounter = (shop: Shop, { inTurn }: Timeline, signer: JwsSigner, defaults: DefaultApp) => {
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
    /** @throws ImpossibleChange */
    change: async (originalTransactionIdentifier: string, change: IosChange) =>
      inTurn((at) => {
        const key = shop.change(originalTransactionIdentifier, change, at);
        return () => presented(key, at);
      }),
    /** @throws UnknownPurchase */
    read: async (originalTransactionIdentifier: string) =>
      inTurn((at) => () => presented(shop.lineage(originalTransactionIdentifier).account, at)),
    readAll: async () => inTurn((at) => () => shop.accounts().map((key) => presented(key, at))),
  };
};

/** Endpoints for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
export const controlRoutes = (
  counter: Counter,
  pushes: Pushes,
  serverApi: ServerApi,
  signer: JwsSigner,
): Routes => ({
  "POST /purchases": withBody(bought, async (purchase) => found(await counter.buy(purchase))),
  "GET /purchases": async () => found({ purchases: await counter.readAll() }),
  "POST /purchases/{identifier}": withBody(changeSchema, async (change, identifier = "") =>
    found(await counter.change(identifier, change)),
  ),
  "GET /purchases/{identifier}": async (_, identifier = "") => found(await counter.read(identifier)),
  "POST /notifications": withBody(z.strictObject({ enabled: z.boolean() }), ({ enabled }) => {
    pushes.enable(enabled);
    return found({ enabled });
  }),
  "GET /root": () =>
    found({ fingerprint: fingerprintOf({ certificate: Buffer.from(signer.x5c.at(-1) ?? "", "base64") }) }),
  "POST /server-api": withBody(z.strictObject({ fails: serverApiFault.nullable() }), ({ fails }) => {
    serverApi.fail(fails);
    return found({ fails });
  }),
});
