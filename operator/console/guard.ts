import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export const CONSOLE_PATH = "/console";

export interface Guard {
  /** Where the page is served. Ends with a slash. */
  readonly pagePath: string;
  /** Why a request is refused, in a sentence; null: it may pass. */
  refusal(request: IncomingMessage): string | null;
  /** The cookie that a token in the address is exchanged for, once; null: the token is wrong or used. */
  admit(request: IncomingMessage, token: string): string | null;
}

/** As a browser writes them: without port 80. */
const hostsAt = (port: number): readonly string[] =>
  ["127.0.0.1", "localhost"].map((name) => new URL(`http://${name}:${port}`).host);

/** Refuses a foreign host name that resolves to this machine (DNS rebinding). */
const hostRefusal = ({ headers: { host } }: IncomingMessage, port: number): string | null =>
  host !== undefined && hostsAt(port).includes(host)
    ? null
    : `The address of the console is http://${hostsAt(port)[0]}.`;

/** Whether a browser navigates to an address. A link from another page is fine: that page cannot read the answer. */
const isOpened = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";

/**
 * Why a request of another server's page is refused, in a sentence; null: it is from this server's page, from none, or
 * navigates.
 *
 * @see https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
 */
export const otherPageRefusal = (request: IncomingMessage): string | null => {
  const { origin, host, "sec-fetch-site": site = "same-origin" } = request.headers;
  const isSameOrigin = origin === undefined || origin === `http://${host}`;
  const isOwn = isSameOrigin && (site === "same-origin" || site === "none");
  return isOwn || isOpened(request) ? null : "Only this server's own page may ask this.";
};

/** Another page's form cannot send JSON. */
const formRefusal = ({ method, headers }: IncomingMessage): string | null =>
  method === "POST" && headers["content-type"]?.split(";", 1)[0] !== "application/json"
    ? "The body must be application/json."
    : null;

const pageRefusal = (request: IncomingMessage, port: number): string | null =>
  hostRefusal(request, port) ?? otherPageRefusal(request) ?? formRefusal(request);

/** Lets in every caller that reaches the port: for a local run, which has only its sandbox. */
export const openGuard = (port: number): Guard => ({
  pagePath: `${CONSOLE_PATH}/`,
  refusal: (request) => pageRefusal(request, port),
  admit: () => null,
});

const isEqual = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
};

/** Whether any cookie matches: a server on another port may have set others of this name. */
const hasCookie = ({ headers }: IncomingMessage, wanted: string): boolean =>
  (headers.cookie ?? "").split("; ").some((cookie) => isEqual(cookie, wanted));

const newSecret = (): string => randomBytes(32).toString("base64url");

/**
 * Lets in the one browser that first opens the address with its token. The page's path is secret, because a browser
 * sends a cookie to every port of a host: another user's server on another port gets it only at the path for which it
 * was set.
 */
export const createTokenGuard = (port: number): Guard & { readonly token: string } => {
  const token = newSecret();
  const session = newSecret();
  const pagePath = `${CONSOLE_PATH}/${newSecret()}/`;
  let isUsed = false;
  const cookie = `console-${port}=${session}`;
  return {
    token,
    pagePath,
    admit: (request, given) => {
      if (hostRefusal(request, port) !== null || isUsed || !isEqual(given, token)) return null;
      isUsed = true;
      return `${cookie}; HttpOnly; SameSite=Strict; Path=${pagePath}`;
    },
    refusal: (request) =>
      pageRefusal(request, port) ??
      (hasCookie(request, cookie)
        ? null
        : "The address of the console is used once, by one browser. Run the command again for another."),
  };
};
