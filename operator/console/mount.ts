import type { IncomingMessage, ServerResponse } from "node:http";
import { boundedText, parseJson } from "../../lib/bounded-text.ts";
import { requireTableFormat } from "../../lib/table/dynamodb/format.ts";
import type { Connection } from "../connection.ts";
import { sentenceOf } from "../operator-error.ts";
import { openSession, type Effects } from "../session.ts";
import { jsonText } from "../text/answer.ts";
import { assetOf } from "./assets.ts";
import { runCall, type ConsoleSandbox } from "./calls.ts";
import { CONSOLE_PATH, type Guard } from "./guard.ts";
import type { LiveLines } from "./live-lines.ts";

export interface ConsoleOptions {
  readonly connection: Connection;
  readonly effects: Effects;
  readonly guard: Guard;
  readonly sandbox: ConsoleSandbox | null;
  /** Requests to a local run; null: the service is deployed. */
  readonly requests: LiveLines | null;
  readonly log: (line: string) => void;
}

const API = "api/";
const LARGEST_BODY = 64 * 1024;
/** Maximum bytes waiting for a page that does not read its lines. */
const LARGEST_BACKLOG = 8 * 1024 * 1024;

/**
 * The browser keeps nothing, no other page may frame this one, and it loads only from here. The drawing library sets
 * styles by script.
 */
const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

const send = (
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(status, { ...HEADERS, "Content-Type": contentType, ...headers });
  response.end(body);
};

const sendText = (response: ServerResponse, status: number, sentence: string): void =>
  send(response, status, "text/plain; charset=utf-8", `${sentence}\n`);

const redirect = (
  response: ServerResponse,
  location: string,
  headers: Readonly<Record<string, string>> = {},
): void => send(response, 303, "text/plain; charset=utf-8", "", { Location: location, ...headers });

const sendJson = (response: ServerResponse, status: number, body: unknown): void =>
  send(response, status, "application/json", jsonText(body));

/** A body's JSON; undefined: it is not JSON, or too large. */
const readJson = async (request: IncomingMessage): Promise<unknown> =>
  parseJson(await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY));

/** Streams the lines to a page until it closes. */
const follow = (response: ServerResponse, lines: LiveLines): void => {
  if (response.destroyed) return;
  response.writeHead(200, { ...HEADERS, "Content-Type": "text/event-stream" });
  response.write(": the requests so far\n\n");
  const unfollow = lines.follow((line) => {
    response.write(`data: ${JSON.stringify(line)}\n\n`);
    // The page reconnects by itself and gets the latest lines.
    if (response.writableLength > LARGEST_BACKLOG) response.destroy();
  });
  response.once("close", unfollow);
};

/** Serves the console at `/console`; returns false, without side effects, for other paths. */
export const createConsole = (options: ConsoleOptions) => {
  const { connection, effects, guard, sandbox, requests, log } = options;

  const answerCall = async (
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
  ): Promise<void> => {
    const body = await readJson(request);
    request.resume();
    const warnings: string[] = [];
    try {
      await requireTableFormat(connection.store);
      const now = await connection.clock(effects.now);
      const session = openSession(connection, { ...effects, now }, (line) => void warnings.push(line));
      const answered = await runCall({ session, sandbox }, name, body);
      return sendJson(response, answered.status, { ...answered.body, warnings });
    } catch (error) {
      return sendJson(response, 422, { message: sentenceOf(error, connection) });
    } finally {
      for (const line of warnings) log(line);
    }
  };

  const admit = (request: IncomingMessage, response: ServerResponse, token: string): void => {
    const cookie = guard.admit(request, token);
    if (cookie === null) return sendText(response, 403, "This address was used, or is not known.");
    // Removes the token from the address bar and the browser's history.
    return redirect(response, guard.pagePath, { "Set-Cookie": cookie });
  };

  /** Answers a request below the page's path. */
  const answerPage = async (
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
  ): Promise<void> => {
    const { method } = request;
    if (name === `${API}requests` && method === "GET" && requests !== null) return follow(response, requests);
    if (name.startsWith(API))
      return method === "POST"
        ? answerCall(request, response, name.slice(API.length))
        : sendJson(response, 405, { message: "POST is expected." });
    const asset = method === "GET" ? await assetOf(name) : null;
    return asset === null
      ? sendText(response, 404, "There is no such page.")
      : send(response, 200, asset.contentType, asset.body);
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    if (path !== CONSOLE_PATH && !path.startsWith(`${CONSOLE_PATH}/`)) return false;
    const token = new URLSearchParams(query).get("token");
    const refusal = guard.refusal(request);
    if (token !== null && path === CONSOLE_PATH && request.method === "GET") admit(request, response, token);
    else if (refusal !== null) sendText(response, 403, refusal);
    else if (path === CONSOLE_PATH) redirect(response, guard.pagePath);
    else if (!path.startsWith(guard.pagePath)) sendText(response, 404, "There is no such page.");
    else await answerPage(request, response, path.slice(guard.pagePath.length));
    return true;
  };
};
