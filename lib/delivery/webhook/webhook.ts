import * as http from "node:http";
import * as https from "node:https";
import { DAY, SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AllowsDestination } from "../allowed-destinations.ts";
import { createCheckedLookup, lookupName, type NameLookup } from "./checked-lookup.ts";
import { checkDestinationUrl } from "./destination-url.ts";
import { SENDER } from "../message.ts";
import { post, type Content, type PostResult } from "./post.ts";
import { ATTEMPT_MILLISECONDS, failedBecause, type SendOutcome } from "../send-outcome.ts";

/** Maximum connections to one host. Further messages wait for one, within their own time limit. */
export const CONNECTIONS_PER_HOST = 64;

/** Below the five seconds after which Node.js servers close an idle connection; most others wait longer. */
const IDLE_MILLISECONDS = 4_000;

export interface SenderOptions {
  readonly allowsDestination: AllowsDestination;
  /** Unset: the system's resolver. */
  readonly lookup?: NameLookup;
  readonly now: () => Instant;
  /** Time limit of an attempt; unset: 15 seconds. */
  readonly attemptMilliseconds?: number;
}

/** Every connection is checked when it is made, and verifies the certificate: no TLS session is resumed. */
const agentsOf = ({ Agent }: typeof http | typeof https, options: Pick<https.AgentOptions, "lookup">) => {
  const common = {
    ...options,
    maxSockets: CONNECTIONS_PER_HOST,
    maxCachedSessions: 0,
    rejectUnauthorized: true,
  };
  return {
    kept: new Agent({ ...common, keepAlive: true, timeout: IDLE_MILLISECONDS }),
    fresh: new Agent({ ...common, keepAlive: false }),
  };
};

const LONGEST_WAIT = DAY;

/** The one form of date that senders may write (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Parses `Retry-After`, at most 24 hours ahead. Null: absent, malformed, or no later time.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */
export const retryTime = (header: string | undefined, now: Instant): Instant | null => {
  if (header === undefined) return null;
  const time = /^\d+$/.test(header)
    ? now + Number(header) * SECOND
    : HTTP_DATE.test(header)
      ? Date.parse(header)
      : NaN;
  return time > now ? Math.min(time, now + LONGEST_WAIT) : null;
};

const outcomeOf = (result: PostResult, now: Instant): SendOutcome => {
  if ("because" in result) return failedBecause(result.because);
  const { status, retryAfter } = result;
  if (status >= 200 && status < 300) return { outcome: "delivered" };
  if (status === 410) return { outcome: "gone" };
  const retryAt = status === 429 || status === 503 ? retryTime(retryAfter, now) : null;
  return { outcome: "failed", because: "status", status, retryAt };
};

/**
 * Sends to public https addresses, save where a URL is allowed as it is. One sender serves all receivers and keeps their
 * connections. Each call makes one attempt to POST. Only a 2xx is a delivery; redirects are not followed.
 */
export const createSender = ({
  allowsDestination,
  lookup = lookupName,
  now,
  attemptMilliseconds = ATTEMPT_MILLISECONDS,
}: SenderOptions) => {
  const agentsFor = (isAnyAddressAllowed: boolean) => {
    const options = { lookup: createCheckedLookup(lookup, isAnyAddressAllowed) };
    return { secure: agentsOf(https, options), plain: agentsOf(http, options) };
  };
  const [checked, unchecked] = [agentsFor(false), agentsFor(true)];

  return async (target: string, { text, headers }: Content): Promise<SendOutcome> => {
    const url = URL.parse(target);
    if (url === null || checkDestinationUrl(target, allowsDestination) !== null)
      return failedBecause("address");
    const { secure, plain } = allowsDestination(target) ? unchecked : checked;
    const { kept, fresh } = url.protocol === "https:" ? secure : plain;
    const length = String(Buffer.byteLength(text));
    const attempt = {
      url,
      text,
      headers: { ...headers, "content-length": length, "user-agent": SENDER },
      deadline: AbortSignal.timeout(attemptMilliseconds),
    };
    const result = await post({ ...attempt, agent: kept });
    // A kept connection that the other end has closed meanwhile says nothing about the destination.
    const isStale = "because" in result && result.because === "connect" && result.isKeptConnection;
    return outcomeOf(isStale ? await post({ ...attempt, agent: fresh }) : result, now());
  };
};
