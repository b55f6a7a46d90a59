import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Whether a browser's request may be answered, and how it is let in. */
export interface Guard {
  /** Why a request is refused, in a sentence; null: it may pass. */
  refusal(request: IncomingMessage): string | null;
  /** The cookie that a token in the address is exchanged for, once; null: the token is wrong or used. */
  admit(request: IncomingMessage, token: string): string | null;
}

const hostsAt = (port: number): readonly string[] => [`127.0.0.1:${port}`, `localhost:${port}`];

/** A name of another host that leads to this machine is refused (DNS rebinding). */
const hostRefusal = ({ headers: { host } }: IncomingMessage, port: number): string | null =>
  host !== undefined && hostsAt(port).includes(host)
    ? null
    : `The address of the console is http://${hostsAt(port)[0]}.`;

/** Whether a browser opens an address, from wherever its link is: the page that links cannot read it. */
const isOpened = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";

/**
 * The page that may call: served by this server, at this address.
 *
 * @see https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
 */
const originRefusal = (request: IncomingMessage, port: number): string | null => {
  const { headers, method } = request;
  const host = hostRefusal(request, port);
  if (host !== null) return host;
  const { origin } = headers;
  const isSameOrigin = origin === undefined || origin === `http://${headers.host}`;
  const site = headers["sec-fetch-site"] ?? "same-origin";
  const isOwn = isSameOrigin && (site === "same-origin" || site === "none");
  if (!isOwn && !isOpened(request)) return "Only the console's own page may ask this.";
  // A form of another page can send no JSON.
  if (method === "POST" && headers["content-type"]?.split(";", 1)[0] !== "application/json")
    return "The body must be application/json.";
  return null;
};

/** Lets in whoever reaches the port: for a local run, which has nothing but its sandbox. */
export const openGuard = (port: () => number): Guard => ({
  refusal: (request) => originRefusal(request, port()),
  admit: () => null,
});

const isEqual = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
};

const cookieOf = ({ headers }: IncomingMessage, name: string): string =>
  headers.cookie
    ?.split("; ")
    .find((cookie) => cookie.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? "";

const newSecret = (): string => randomBytes(32).toString("base64url");

/** Lets in the one browser that opens the address with its token first. */
export const createTokenGuard = (port: () => number): Guard & { readonly token: string } => {
  const token = newSecret();
  const session = newSecret();
  let isUsed = false;
  const name = (): string => `console-${port()}`;
  return {
    token,
    admit: (request, given) => {
      if (hostRefusal(request, port()) !== null || isUsed || !isEqual(given, token)) return null;
      isUsed = true;
      return `${name()}=${session}; HttpOnly; SameSite=Strict; Path=/console`;
    },
    refusal: (request) =>
      originRefusal(request, port()) ??
      (isEqual(cookieOf(request, name()), session)
        ? null
        : "The address of the console is used once, by one browser. Run the command again for another."),
  };
};
