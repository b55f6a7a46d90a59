import { isIP } from "node:net";
import { ALLOWS_NONE, type AllowsDestination } from "../allowed-destinations.ts";
import { isPublicAddress } from "./public-address.ts";

const LONGEST_URL_CHARACTERS = 2_048;

/** The host of a URL as an address or name: an IPv6 literal without its brackets. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** An at sign in the authority, also of an empty user name, which `URL` leaves out. */
const USER_INFORMATION = /^[^:]*:[\s/\\]*[^/?#\\]*@/;

const isLocalName = (host: string): boolean => /(^|\.)localhost\.?$/.test(host);

/**
 * Why a URL cannot be a destination, as a sentence; null: it can. The addresses of its host are checked at each
 * attempt. `URL` normalizes every notation of an IPv4 address.
 */
export const checkDestinationUrl = (
  text: string,
  allowsDestination: AllowsDestination = ALLOWS_NONE,
): string | null => {
  if (text.length > LONGEST_URL_CHARACTERS) return "The URL is longer than 2,048 characters.";
  const url = URL.parse(text);
  if (url === null) return "The URL cannot be parsed.";
  const isAllowed = allowsDestination(text);
  if (url.protocol !== "https:" && !(isAllowed && url.protocol === "http:"))
    return "The URL must begin with https://.";
  if (USER_INFORMATION.test(text)) return "The URL must not hold a user name or password.";
  if (text.includes("#")) return "The URL must not have a fragment.";
  if (isAllowed) return null;
  const host = hostOf(url);
  if (isLocalName(host)) return "The URL must not name localhost.";
  if (isIP(host) !== 0 && !isPublicAddress(host)) return "The URL's address is not public.";
  return null;
};
