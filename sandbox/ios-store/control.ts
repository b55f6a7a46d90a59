import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import { answer, pathOf, type Mount } from "../mount.ts";
import { ImpossibleChange } from "../impossible-change.ts";
import { changeSchema } from "./shop/change.ts";
import type { Counter } from "./counter.ts";
import { readJson } from "./json-body.ts";
import { appNotifications, notifiedApp, type AppNotification } from "./notifications/notifications.ts";
import { bought } from "./shop/purchase.ts";
import type { Pushes } from "./notifications/pushes.ts";
import type { JwsSigner } from "./signing.ts";
import { serverApiFault, type ServerApiFaults } from "./server-api/faults.ts";

const faulty = z.strictObject({ fails: serverApiFault.nullable() });
const switched = z.strictObject({ enabled: z.boolean() });

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const refusal = (status: number, message: string): Answer => ({ status, body: { message } });
const found = (body: unknown): Answer =>
  body === null ? refusal(404, "There is no such purchase.") : { status: 200, body };

/** Answers with the action's result. */
const withBody = async <Body>(
  schema: z.ZodType<Body>,
  request: IncomingMessage,
  use: (body: Body) => unknown,
): Promise<Answer> => {
  const parsed = schema.safeParse(await readJson(request));
  request.resume();
  if (!parsed.success) return refusal(400, z.prettifyError(parsed.error));
  try {
    return found(await use(parsed.data));
  } catch (error) {
    if (error instanceof ImpossibleChange) return refusal(409, error.message);
    throw error;
  }
};

const isAppNotification = (name: string): name is AppNotification => Object.hasOwn(appNotifications, name);

/** The identifier in a path; empty, which names nothing, if its escapes are invalid. */
const decoded = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return "";
  }
};

/** SHA-256 of the root of a chain. */
const rootOf = (x5c: readonly string[]): string =>
  createHash("sha256")
    .update(Buffer.from(x5c.at(-1) ?? "", "base64"))
    .digest("hex");

/** Endpoints of the sandbox, for developers: buy, change and read purchases, switch notifications, and make the Server API fail. */
export const createControl = (
  prefix: string,
  counter: Counter,
  pushes: Pushes,
  faults: ServerApiFaults,
  { x5c }: Pick<JwsSigner, "x5c">,
): Mount => {
  const answerTo = async (request: IncomingMessage, path: string): Promise<Answer | null> => {
    const [, resource = "", name, ...further] = path.split("/");
    if (further.length > 0) return null;
    const identifier = decoded(name ?? "");
    switch (`${request.method} ${resource}${name === undefined ? "" : "/"}`) {
      case "POST purchases":
        return withBody(bought, request, counter.buy);
      case "GET purchases":
        return { status: 200, body: { purchases: await counter.readAll() } };
      case "POST purchases/":
        return withBody(changeSchema, request, async (change) => counter.change(identifier, change));
      case "GET purchases/":
        return found(await counter.read(identifier));
      case "POST notifications":
        return withBody(switched, request, ({ enabled }) => {
          pushes.enable(enabled);
          return { enabled };
        });
      case "POST notifications/":
        return isAppNotification(identifier)
          ? withBody(notifiedApp, request, async (app) => {
              await counter.notify(identifier, app);
              return {};
            })
          : null;
      case "GET root":
        return { status: 200, body: { fingerprint: rootOf(x5c) } };
      case "POST server-api":
        return withBody(faulty, request, ({ fails }) => {
          faults.set(fails);
          return { fails };
        });
      default:
        return null;
    }
  };

  return async (request, response) => {
    const path = pathOf(request);
    if (!path.startsWith(`${prefix}/`)) return false;
    const answered = await answerTo(request, path.slice(prefix.length));
    if (answered === null) return false;
    answer(response, answered.status, "application/json", JSON.stringify(answered.body));
    return true;
  };
};
