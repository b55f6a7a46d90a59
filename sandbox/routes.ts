import * as z from "zod";
import { boundedText, parseJson } from "../lib/bounded-text.ts";
import { ImpossibleChange } from "./impossible-change.ts";
import { answer, type Mount } from "./mount.ts";

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

  constructor(answer: Answer) {
    super(`Refused with ${answer.status}.`);
    this.answer = answer;
  }
}

/** A route with a JSON body, which refuses one that does not match the schema. */
export const withBody =
  <Schema extends z.ZodType>(
    schema: Schema,
    act: (body: z.output<Schema>, ...named: string[]) => Answer | Promise<Answer>,
  ): Route =>
  (call, ...named) => {
    const parsed = schema.safeParse(parseJson(call.body));
    return parsed.success ? act(parsed.data, ...named) : refusal(400, z.prettifyError(parsed.error));
  };

export const aroundEach = (routes: Routes, around: (route: Route) => Route): Routes =>
  Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, around(route)]));

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
    if (error instanceof ImpossibleChange) return refusal(error.status, error.message);
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
