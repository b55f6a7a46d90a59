import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { otherPageRefusal } from "../../operator/console/guard.ts";
import { answer, pathOf, type Mount } from "../../sandbox/mount.ts";

/** The service's API is served to every caller, as the deployed one is. */
const API = "/v1/";

/**
 * Whether a host is an address (an emulator's: 10.0.2.2), or a name that no page's owner can point at this machine (DNS
 * rebinding).
 */
const isOfThisMachine = (host: string | undefined): boolean => {
  const name = URL.parse(`http://${host}`)?.hostname ?? "";
  const isName = ["localhost", "host.docker.internal"].includes(name) || name.endsWith(".localhost");
  return isName || isIP(name.replaceAll(/^\[|\]$/g, "")) !== 0;
};

const SHOWN_TO_NO_PAGE = { "Cross-Origin-Resource-Policy": "same-origin" } as const;

const refusalOf = (request: IncomingMessage): string | null =>
  isOfThisMachine(request.headers.host)
    ? otherPageRefusal(request)
    : "Name this machine by its address or as localhost.";

/**
 * Denies other servers' pages everything but the API: the demo's key, the secrets, the stores and the clock. Commands
 * and native apps send no origin, and pass.
 */
export const refuseOtherPages: Mount = (request, response) => {
  const refusal = pathOf(request).startsWith(API) ? null : refusalOf(request);
  if (refusal !== null) answer(response, 403, "text/plain; charset=utf-8", `${refusal}\n`, SHOWN_TO_NO_PAGE);
  return Promise.resolve(refusal !== null);
};
