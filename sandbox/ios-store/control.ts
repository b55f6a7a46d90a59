import { createHash } from "node:crypto";
import * as z from "zod";
import { found, refusal, withBody, type Answer, type Routes } from "../routes.ts";
import { changeSchema } from "./shop/change.ts";
import type { Counter } from "./counter.ts";
import { APP_NOTIFICATIONS, notifiedApp } from "./notifications/notifications.ts";
import { bought } from "./shop/purchase.ts";
import type { Pushes } from "./notifications/pushes.ts";
import type { JwsSigner } from "./signing.ts";
import { serverApiFault, type ServerApiFaults } from "./server-api/faults.ts";

const orNoPurchase = (body: unknown): Answer =>
  body === null ? refusal(404, "There is no such purchase.") : found(body);

/** SHA-256 of the root of a chain. */
const rootOf = (x5c: readonly string[]): string =>
  createHash("sha256")
    .update(Buffer.from(x5c.at(-1) ?? "", "base64"))
    .digest("hex");

/** Endpoints of the sandbox, for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
export const controlRoutes = (
  counter: Counter,
  pushes: Pushes,
  faults: ServerApiFaults,
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
  "GET /root": () => found({ fingerprint: rootOf(x5c) }),
  "POST /server-api": withBody(z.strictObject({ fails: serverApiFault.nullable() }), ({ fails }) => {
    faults.set(fails);
    return found({ fails });
  }),
});
