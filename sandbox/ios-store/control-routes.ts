import * as z from "zod";
import { found, withBody, type Routes } from "../routes.ts";
import type { Counter } from "./counter.ts";
import { notifiedApp } from "./notifications/notifications.ts";
import type { Pushes } from "./notifications/pushes.ts";
import { serverApiFault, type ServerApiFault } from "./server-api/faults.ts";
import { changeSchema } from "./shop/change.ts";
import { bought } from "./shop/purchase.ts";
import { fingerprintOf, type JwsSigner } from "./signing.ts";

/** Endpoints for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
export const controlRoutes = ({
  counter,
  pushes,
  serverApi,
  signer,
}: {
  readonly counter: Counter;
  readonly pushes: Pick<Pushes, "enable">;
  readonly serverApi: { readonly fail: (fault: ServerApiFault | null) => void };
  readonly signer: JwsSigner;
}): Routes => ({
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
  "POST /notifications/test": withBody(notifiedApp, async (app) => {
    await counter.notify(app);
    return found({});
  }),
  "GET /root": () =>
    found({ fingerprint: fingerprintOf({ certificate: Buffer.from(signer.x5c.at(-1) ?? "", "base64") }) }),
  "POST /server-api": withBody(z.strictObject({ fails: serverApiFault.nullable() }), ({ fails }) => {
    serverApi.fail(fails);
    return found({ fails });
  }),
});
