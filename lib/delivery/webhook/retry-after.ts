import { SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";

const LONGEST_WAIT = 24 * 3600 * SECOND;

/** The one form of date that senders may write (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Parses `Retry-After`: seconds, or an HTTP date. Null where it is absent, malformed, or names no later time; at most 24
 * hours ahead.
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
