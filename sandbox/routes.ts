import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { boundedText, parseJson } from "../lib/bounded-text.ts";
import { SECOND } from "../lib/duration.ts";
import type { Instant } from "../lib/entitlements/time.ts";

/** Handler served beside the API. Answers its own requests; returns false, without side effects, for others. */
export type Mount = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

export const pathOf = (request: IncomingMessage): string => request.url?.split("?", 1)[0] ?? "";

export const answer = (
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
};

export interface Call {
  readonly method: string;
  /** Below the prefix; percent-encoded, as sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  /** Null: it is too large. */
  readonly body: string | null;
}

/** A text is sent as it is, any other body as JSON. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, none at all, or a closed connection. */
export type Reply = Answer | "hang" | "disconnect";

/** @param named the parameters of the path, decoded; one with invalid escapes is empty, which names nothing */
export type Route = (call: Call, ...named: string[]) => Reply | Promise<Reply>;

/** Routes by method and path, such as `GET /purchases/{purchaseToken}`. */
export type Routes = Readonly<Record<string, Route>>;

const LARGEST_BODY = 1024 * 1024;

export const found = (body: unknown): Answer => ({ status: 200, body });

export const refusal = (status: number, message: string): Answer => ({ status, body: { message } });

/** Ends a request with an answer of the store. */
export class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer, message = `Refused with ${answer.status}.`) {
    super(message);
    this.answer = answer;
  }
}

/** A change that the purchase does not allow now (409), or of an unknown purchase (404). */
export class ImpossibleChange extends Refused {
  constructor(message: string, status: 404 | 409 = 409) {
    super(refusal(status, message), message);
  }
}

/** Names the words that a union accepts, which the library's own message does not. */
const unknownWord: z.core.$ZodErrorMap = (issue) =>
  issue.code === "invalid_union" && Array.isArray(issue["options"])
    ? `must be one of ${issue["options"].join(", ")}`
    : undefined;

/** A route with a JSON body, which refuses one that does not match the schema. */
export const withBody =
  <Schema extends z.ZodType>(
    schema: Schema,
    act: (body: z.output<Schema>, ...named: string[]) => Answer | Promise<Answer>,
  ): Route =>
  (call, ...named) => {
    const body = parseJson(call.body);
    if (body === undefined) return refusal(400, "The body is not JSON.");
    const parsed = schema.safeParse(body, { error: unknownWord });
    return parsed.success ? act(parsed.data, ...named) : refusal(400, z.prettifyError(parsed.error));
  };

/** `POST /notifications`, in both stores. */
export const switchOfNotifications = (enable: (on: boolean) => void): Route =>
  withBody(z.strictObject({ enabled: z.boolean() }), ({ enabled }) => {
    enable(enabled);
    return found({ enabled });
  });

/** A page token, which names where the next page begins; any text may come back. */
export const pageToken = {
  of: (content: object): string => Buffer.from(JSON.stringify(content)).toString("base64url"),
  read: (token: string): unknown => parseJson(Buffer.from(token, "base64url").toString("utf8")),
};

export const aroundEach = (routes: Routes, around: (route: Route) => Route): Routes =>
  Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, around(route)]));

/** A limit of requests for each second of the clock. */
export const createRate = () => {
  let perSecond = Infinity;
  let second = 0;
  let count = 0;
  return {
    /** @param most null: no limit */
    limit: (most: number | null): void => {
      perSecond = most ?? Infinity;
      count = 0;
    },
    /** Counts a request. Returns when the next second begins if the current one is used up; null: it is not. */
    countedUntil: (at: Instant): Instant | null => {
      const current = Math.floor(at / SECOND);
      if (current !== second) count = 0;
      second = current;
      count += 1;
      return count <= perSecond ? null : (current + 1) * SECOND;
    },
  };
};

export const decode = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return "";
  }
};

const reply = async (route: Route, call: Call, named: readonly string[]): Promise<Reply> => {
  try {
    return await route(call, ...named);
  } catch (error) {
    if (error instanceof Refused) return error.answer;
    throw error;
  }
};

/** Serves routes below a prefix, which has no slash at its end. */
export const serveRoutes = (prefix: string, routes: Routes): Mount => {
  const known = Object.entries(routes).map(([name, route]) => {
    const [method = "", path = ""] = name.split(" ");
    return { method, path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "([^/:]+)")}$`), route };
  });
  return async (request, response) => {
    const [whole = "", query = ""] = (request.url ?? "").split(/\?(.*)/s, 2);
    if (!whole.startsWith(`${prefix}/`)) return false;
    const path = whole.slice(prefix.length);
    const { method = "" } = request;
    const route = known.find((one) => one.method === method && one.path.test(path));
    if (route === undefined) return false;
    const body = await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY);
    request.resume();
    const { authorization } = request.headers;
    const call = { method, path, query: new URLSearchParams(query), authorization, body };
    const named = route.path.exec(path)?.slice(1).map(decode) ?? [];
    const replied = await reply(route.route, call, named);
    if (replied === "disconnect") request.socket.destroy();
    if (typeof replied === "string") return true;
    const { status, body: content, headers } = replied;
    if (typeof content === "string") answer(response, status, "text/plain", content, headers);
    else answer(response, status, "application/json", JSON.stringify(content) ?? "", headers);
    return true;
  };
};
