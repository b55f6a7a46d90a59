import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

const ipv4Of = (bytes: readonly number[]): string => bytes.join(".");

/**
 * IPv4 addresses embedded in an IPv6 address, by its range: a gateway on the way may deliver to them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2 mapped
 * @see https://www.rfc-editor.org/rfc/rfc6052#section-2.2 NAT64; the prefix for local use (RFC 8215) is not public
 * @see https://www.rfc-editor.org/rfc/rfc3056#section-2 6to4
 * @see https://www.rfc-editor.org/rfc/rfc4380#section-4 Teredo: the server, and the client with its bits inverted
 */
const WRAPPED: Readonly<Record<string, (bytes: readonly number[]) => readonly string[]>> = {
  ipv4Mapped: (bytes) => [ipv4Of(bytes.slice(12))],
  rfc6052: (bytes) => (bytes[5] === 0 ? [ipv4Of(bytes.slice(12))] : []),
  "6to4": (bytes) => [ipv4Of(bytes.slice(2, 6))],
  teredo: (bytes) => [ipv4Of(bytes.slice(4, 8)), ipv4Of(bytes.slice(12).map((byte) => byte ^ 0xff))],
};

/** IANA has allocated only 2000::/3 for unicast on the internet. */
const isGlobalUnicast = ([first = 0]: readonly number[]): boolean => first >> 5 === 1;

/** An IPv6 address in purely hexadecimal notation: `ipaddr.js` reads `::8.8.8.8` as the mapped `::ffff:8.8.8.8`. */
const hexadecimal = (address: string): string | undefined =>
  URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);

/**
 * Whether an address is on the public internet. An IPv6 address that embeds IPv4 addresses is public if those are.
 *
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address);
  const text = family === 6 ? hexadecimal(address) : address;
  if (family === 0 || text === undefined) return false;
  const parsed = ipaddr.parse(text);
  const [bytes, range] = [parsed.toByteArray(), parsed.range()];
  if (range === "unicast") return family === 4 || isGlobalUnicast(bytes);
  const wrapped = WRAPPED[range]?.(bytes) ?? [];
  return wrapped.length > 0 && wrapped.every(isPublicAddress);
};
