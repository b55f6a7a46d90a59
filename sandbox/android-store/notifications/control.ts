import * as z from "zod";
import { parseJson } from "../../../lib/bounded-text.ts";
import { controlError, type Answer } from "../answers.ts";
import { developerNotification } from "./notifications.ts";
import type { PushKeys } from "./push-keys.ts";
import type { Pushes } from "./pushes.ts";
import type { ShopKeeping } from "../shop/shop.ts";

const switchRequest = z.object({ enabled: z.boolean() });
const testRequest = z.object({ packageName: z.string().min(1) });

/** Google's keys for verifying pushes; `POST /certs/rotate` makes a new one. */
export const createCertificates =
  (keys: PushKeys) =>
  async (method: string, path: string): Promise<Answer> => {
    if (path === "/certs" && method === "GET")
      return { status: 200, body: await keys.list(), headers: { "cache-control": "public, max-age=300" } };
    if (path === "/certs/rotate" && method === "POST") {
      keys.rotate();
      return { status: 204 };
    }
    return controlError(405, "GET /certs or POST /certs/rotate is expected.");
  };

/** Switches pushes off and on, and sends a test notification. */
export const createNotificationsControl = (
  shop: ShopKeeping,
  pushes: Pushes,
): ((method: string, path: string, body: string) => Answer) => {
  const presented = (): Answer => ({
    status: 200,
    body: { enabled: pushes.isEnabled, nextPushAt: pushes.nextAt() },
  });

  return (method, path, body) => {
    if (path === "/notifications" && method === "GET") return presented();
    if (path === "/notifications" && method === "POST") {
      const wanted = switchRequest.safeParse(parseJson(body));
      if (!wanted.success) return controlError(400, z.prettifyError(wanted.error));
      pushes.enable(wanted.data.enabled);
      return presented();
    }
    if (path === "/notifications/test" && method === "POST") {
      const wanted = testRequest.safeParse(parseJson(body));
      if (!wanted.success) return controlError(400, z.prettifyError(wanted.error));
      const at = shop.time();
      pushes.publish([developerNotification(wanted.data.packageName, "", "test", at)], at, "test");
      return { status: 202, body: {} };
    }
    return controlError(405, "POST is expected.");
  };
};
