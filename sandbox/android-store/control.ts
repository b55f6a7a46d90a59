import * as z from "zod";
import { parseJson } from "../../lib/bounded-text.ts";
import { controlError, decode, type Answer } from "./answers.ts";
import { androidChange } from "./shop/changes.ts";
import { ImpossibleChange } from "../impossible-change.ts";
import { sandboxPurchase } from "./shop/purchases.ts";
import type { ShopKeeping } from "./shop/shop.ts";

/** Developer's endpoints of the sandbox: create, change and inspect purchases. */
export const createControl = (
  shop: ShopKeeping,
): ((method: string, path: string, body: string) => Answer) => {
  const presented = (purchaseToken: string) => {
    const { answer, ...stored } = shop.read(purchaseToken) ?? {};
    return { purchaseToken, ...stored, purchase: answer };
  };

  const answerControl = (method: string, path: string, body: string): Answer => {
    const purchaseToken = decode(path.slice("/purchases/".length));
    if (path === "/purchases" && method === "GET")
      return { status: 200, body: { purchases: shop.tokens().map(presented) } };
    if (path === "/purchases" && method === "POST") {
      const wanted = sandboxPurchase.safeParse(parseJson(body));
      if (!wanted.success) return controlError(400, z.prettifyError(wanted.error));
      return { status: 201, body: presented(shop.buy(wanted.data)) };
    }
    if (shop.read(purchaseToken) === undefined) return controlError(404, "There is no such purchase.");
    switch (method) {
      case "GET":
        return { status: 200, body: presented(purchaseToken) };
      case "DELETE":
        shop.drop(purchaseToken);
        return { status: 204 };
      case "POST": {
        const wanted = androidChange.safeParse(parseJson(body));
        if (!wanted.success) return controlError(400, z.prettifyError(wanted.error));
        const { change, ...details } = wanted.data;
        return { status: 200, body: presented(shop.change(purchaseToken, change, details)) };
      }
      default:
        return controlError(405, "GET, POST or DELETE is expected.");
    }
  };

  return (method, path, body) => {
    try {
      return answerControl(method, path, body);
    } catch (error) {
      if (error instanceof ImpossibleChange) return controlError(409, error.message);
      throw error;
    }
  };
};
