import { ADDRCONFIG, type LookupAddress } from "node:dns";
import { lookup as lookUp } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify } from "node:util";
import ipaddr from "ipaddr.js";

/** Whether a webhook may have this URL although it is plain HTTP, or its address is not public. */
export type AllowsDestination = (url: string) => boolean;

export const ALLOWS_NONE: AllowsDestination = () => false;

/** Reads a local run's `DESTINATIONS`: `any`, or origins with commas between them. Unset, as when deployed: none. */
export const allowedDestinations = (variable: string | undefined): AllowsDestination => {
  if (variable === undefined) return ALLOWS_NONE;
  const origins = new Set(variable.split(","));
  return (url) => origins.has("any") || origins.has(URL.parse(url)?.origin ?? "");
};

/**
 * Whether an address is on the public internet. Of IPv6, IANA has allocated only 2000::/3 for it; ranges in it that embed
 * IPv4 addresses have names of their own, as all special ones have.
 *
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export const isPublicAddress = (address: string): boolean => {
  if (isIP(address) === 0 || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  const [first = 0] = parsed.toByteArray();
  return parsed.range() === "unicast" && (parsed.kind() === "ipv4" || first >> 5 === 1);
};

const LONGEST_URL_CHARACTERS = 2_048;

/** An at sign in the authority, also of an empty user name, which `URL` leaves out. */
const USER_INFORMATION = /^[^:]*:[\s/\\]*[^/?#\\]*@/;

/** Why a URL cannot be a destination, as a sentence; null: it can. The addresses of its host are checked at each attempt. */
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
  // An IPv6 literal without its brackets. `URL` normalizes every notation of an IPv4 address.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (/(^|\.)localhost\.?$/.test(host)) return "The URL must not name localhost.";
  if (isIP(host) !== 0 && !isPublicAddress(host)) return "The URL's address is not public.";
  return null;
};

/** All addresses of a name. Rejects where it has none. */
export type NameLookup = (name: string) => Promise<readonly string[]>;

/** The system's resolver, called as Node.js calls it for a connection. */
export const lookupName: NameLookup = async (name) =>
  (await lookUp(name, { all: true, hints: ADDRCONFIG })).map(({ address }) => address);

/** No connection was tried: the name does not resolve (`name`), or not to public addresses alone (`address`). */
export class LookupError extends Error {
  override readonly name = "LookupError";
  readonly reason: "address" | "name";

  constructor(reason: "address" | "name") {
    super(`The lookup failed: ${reason}.`);
    this.reason = reason;
  }
}

/** Shares a lookup in flight: one slow name would occupy the few threads of the system's resolver. */
const shared = (lookup: NameLookup): NameLookup => {
  const underWay = new Map<string, Promise<readonly string[]>>();
  const start = (name: string): Promise<readonly string[]> => {
    const started = Promise.resolve(name)
      .then(lookup)
      .finally(() => underWay.delete(name));
    underWay.set(name, started);
    return started;
  };
  return (name) => underWay.get(name) ?? start(name);
};

/** A `lookup` for `net.connect`, which connects to what was checked. Refuses a name if one address is not public: any may be used. */
export const createCheckedLookup = (find: NameLookup, isAnyAddressAllowed: boolean): LookupFunction => {
  const lookup = shared(find);
  const addressesOf = async (name: string): Promise<readonly [LookupAddress, ...LookupAddress[]]> => {
    const addresses = await lookup(name).catch((): readonly string[] => []);
    const [first, ...others] = addresses.map((address) => ({ address, family: isIP(address) }));
    if (first === undefined) throw new LookupError("name");
    if (!isAnyAddressAllowed && !addresses.every(isPublicAddress)) throw new LookupError("address");
    return [first, ...others];
  };

  const findAddresses = callbackify(addressesOf);
  return (name, { all }, callback) =>
    findAddresses(name, (error, addresses) => {
      if (error !== null) callback(error, []);
      else if (all === true) callback(null, [...addresses]);
      else callback(null, addresses[0].address, addresses[0].family);
    });
};
