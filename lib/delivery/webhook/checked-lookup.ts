import { ADDRCONFIG, type LookupAddress } from "node:dns";
import { lookup as lookUp } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify } from "node:util";
import { isPublicAddress } from "./public-address.ts";

/** All addresses of a name. Rejects where it has none. */
export type NameLookup = (name: string) => Promise<readonly string[]>;

/** The system's resolver, called as Node.js calls it for a connection. */
export const lookupName: NameLookup = async (name) =>
  (await lookUp(name, { all: true, hints: ADDRCONFIG })).map(({ address }) => address);

/** No connection was tried: the name does not resolve (`name`), or not to public addresses alone (`address`). */
export class LookupError extends Error {
  readonly reason: "address" | "name";

  constructor(reason: "address" | "name") {
    super(`The lookup failed: ${reason}.`);
    this.name = "LookupError";
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

/**
 * A `lookup` for `net.connect`: nothing changes between the check and the connection. A name is refused if one of its
 * addresses is not public, as each may be used.
 */
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
