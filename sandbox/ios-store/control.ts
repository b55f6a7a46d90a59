import * as z from "zod";
import { found, refusal, withBody, type Answer, type Routes } from "../routes.ts";
import { changeSchema, type IosChange } from "./shop/change.ts";
import {
  APP_NOTIFICATIONS,
  notifiedApp,
  type AppNotification,
  type NotifiedApp,
} from "./notifications/notifications.ts";
import type { Pushes } from "./notifications/pushes.ts";
import { serverApiFault, type ServerApiFault } from "./server-api/faults.ts";
import type { PersonsPurchases } from "./shop/payloads.ts";
import { bought, type Bought } from "./shop/purchase.ts";
import { fingerprintOf, type JwsSigner } from "./signing.ts";

const orNoPurchase = (body: unknown): Answer =>
  body === null ? refusal(404, "There is no such purchase.") : found(body);

/** The store as requests use it: before one is answered, everything due has happened, and its notifications were sent. */
export interface Counter {
  buy(purchase: Bought): Promise<PersonsPurchases>;
  /** Null: there is no such purchase. */
  change(originalTransactionIdentifier: string, change: IosChange): Promise<PersonsPurchases | null>;
  /** Null: there is no such purchase. */
  read(originalTransactionIdentifier: string): Promise<PersonsPurchases | null>;
  readAll(): Promise<readonly PersonsPurchases[]>;
  /** @param app unset: the store's defaults, in the sandbox environment */
  notify(notification: AppNotification, app?: NotifiedApp): Promise<void>;
}

/** Endpoints of the sandbox, for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
export const controlRoutes = (
  counter: Counter,
  pushes: Pushes,
  serverApi: { fail(fault: ServerApiFault | null): void },
  { x5c }: JwsSigner,
): Routes => ({
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
    found({ fingerprint: fingerprintOf({ certificate: Buffer.from(x5c.at(-1) ?? "", "base64") }) }),
  "POST /server-api": withBody(z.strictObject({ fails: serverApiFault.nullable() }), ({ fails }) => {
    serverApi.fail(fails);
    return found({ fails });
  }),
});
