import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import { found, refusal, withBody, type Route, type Routes } from "../routes.ts";
import { developerNotification } from "./notifications/notifications.ts";
import type { Pushes } from "./notifications/pushes.ts";
import { androidChange } from "./shop/changes.ts";
import { sandboxPurchase } from "./shop/purchases.ts";
import type { ShopKeeping } from "./shop/shop.ts";

/** Developer's endpoints of the sandbox: create, change and inspect purchases. */
export const purchaseRoutes = (shop: ShopKeeping): Routes => {
  const presented = (purchaseToken: string) => {
    const { answer, ...stored } = shop.read(purchaseToken) ?? {};
    return { purchaseToken, ...stored, purchase: answer };
  };
  const ofKnown =
    (route: Route): Route =>
    (call, token = "") =>
      shop.read(token) === undefined ? refusal(404, "There is no such purchase.") : route(call, token);
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
    "DELETE /purchases/{purchaseToken}": ofKnown((_, token = "") => {
      shop.drop(token);
      return { status: 204 };
    }),
  };
};

/** Google's keys for verifying pushes, their switch, and a test notification. */
export const notificationRoutes = (pushes: Pushes, time: () => Instant): Routes => ({
  "POST /notifications": withBody(z.object({ enabled: z.boolean() }), ({ enabled }) => {
    pushes.enable(enabled);
    return found({ enabled, nextPushAt: pushes.nextAt() });
  }),
  "POST /notifications/test": withBody(z.object({ packageName: z.string().min(1) }), ({ packageName }) => {
    const at = time();
    pushes.publish([developerNotification(packageName, "", "test", at)], at);
    return { status: 202, body: {} };
  }),
});
