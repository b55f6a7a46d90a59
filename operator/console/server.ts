import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { boundedText, parseJson } from "../../lib/bounded-text.ts";
import { requireTableFormat } from "../../lib/table/dynamodb/table.ts";
import type { Connection } from "../connection.ts";
import { OperatorError, sentenceOf } from "../operator-error.ts";
import { type Effects, openSession } from "../session.ts";
import { jsonText } from "../text/answer.ts";
import { assetOf } from "./assets.ts";
import { type ConsoleSandbox, runCall } from "./calls.ts";
import { CONSOLE_PATH, createTokenGuard, type Guard } from "./guard.ts";

/** A live stream of lines. @param kept number of the latest lines that a new follower gets first */
export const createLiveLines = (kept: number) => {
  let lines: readonly string[] = [];
  const followers = new Set<(line: string) => void>();
  return {
    add: (line: string): void => {
      lines = [...lines, line].slice(-kept);
      for (const take of followers) take(line);
    },
    /** Returns a function that ends this. */
    follow: (take: (line: string) => void) => {
      for (const line of lines) take(line);
      followers.add(take);
      return () => void followers.delete(take);
    },
  };
};
export type LiveLines = ReturnType<typeof createLiveLines>;

interface ConsoleOptions {
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
/** Bytes that may wait for a page that does not read its lines. */
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

const TEXT = "text/plain; charset=utf-8";

const sendText = (response: ServerResponse, status: number, sentence: string): void =>
  send(response, status, TEXT, `${sentence}\n`);

const sendJson = (response: ServerResponse, status: number, body: unknown): void =>
  send(response, status, "application/json", jsonText(body));

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
export const createConsole = ({ connection, effects, guard, sandbox, requests, log }: ConsoleOptions) => {
  const answerCall = async (request: IncomingMessage, response: ServerResponse, name: string) => {
    const text = await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY);
    request.resume();
    const warnings: string[] = [];
    try {
      await requireTableFormat(connection.store);
      const session = await openSession(connection, effects, (line) => void warnings.push(line));
      const answered = await runCall(session, sandbox, name, parseJson(text));
      return sendJson(response, answered.status, { ...answered.body, warnings });
    } catch (error) {
      return sendJson(response, 422, { message: sentenceOf(error, connection) });
    } finally {
      for (const line of warnings) log(line);
    }
  };

  const admit = (request: IncomingMessage, response: ServerResponse, token: string) => {
    const cookie = guard.admit(request, token);
    if (cookie === null) return sendText(response, 403, "This address was used, or is not known.");
    // Removes the token from the address bar and the browser's history.
    return send(response, 303, TEXT, "", { Location: guard.pagePath, "Set-Cookie": cookie });
  };

  /** @param name path below the page's */
  const answerPage = async (request: IncomingMessage, response: ServerResponse, name: string) => {
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
    else if (path === CONSOLE_PATH) send(response, 303, TEXT, "", { Location: guard.pagePath });
    else if (!path.startsWith(guard.pagePath)) sendText(response, 404, "There is no such page.");
    else await answerPage(request, response, path.slice(guard.pagePath.length));
    return true;
  };
};

/** Serves the console on 127.0.0.1, to one browser. */
export const serveConsole = async (
  connection: Connection,
  effects: Effects,
  port: number,
  log: (line: string) => void,
) => {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((cause: unknown) => {
    throw new OperatorError(`Port ${port} cannot be used: choose another with --port.`, { cause });
  });
  const bound = server.address();
  const listening = typeof bound === "object" && bound !== null ? bound.port : port;
  const guard = createTokenGuard(listening);
  const handle = createConsole({ connection, effects, guard, sandbox: null, requests: null, log });
  server.on("request", async (request, response) => {
    try {
      const isAnswered = await handle(request, response);
      if (!isAnswered) response.writeHead(302, { Location: CONSOLE_PATH }).end();
    } catch (error) {
      log(String(error));
      response.destroy();
    }
  });
  return {
    address: `http://127.0.0.1:${listening}${CONSOLE_PATH}?token=${guard.token}`,
    stop: async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
};
