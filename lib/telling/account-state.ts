import { createHash } from "node:crypto";
import type { CustomerEntitlement } from "../contract/schemas.ts";
import type { CustomerId } from "../identifiers.ts";
import { compare } from "../order.ts";

export interface StateDigest {
  readonly customers: readonly CustomerId[];
  /** Digest of each entitlement by its identifier. */
  readonly entitlements: ReadonlyMap<string, string>;
}

export const NO_STATE: StateDigest = { customers: [], entitlements: new Map() };

/** A new verification time alone is not a change. */
const digestOf = (entitlement: CustomerEntitlement): string =>
  createHash("sha256")
    .update(JSON.stringify({ ...entitlement, lastVerifiedAt: null }))
    .digest("base64url")
    .slice(0, 22);

export const digestsOf = (
  customers: readonly CustomerId[],
  entitlements: readonly CustomerEntitlement[],
): StateDigest => ({
  customers,
  entitlements: new Map(entitlements.map((one) => [one.identifier, digestOf(one)])),
});

/** Identifiers of the entitlements that differ, sorted; empty where only the customers do; null: nothing differs. */
export const changedIn = (before: StateDigest, after: StateDigest): readonly string[] | null => {
  const named = new Set([...before.entitlements.keys(), ...after.entitlements.keys()]);
  const changed = [...named]
    .filter((identifier) => before.entitlements.get(identifier) !== after.entitlements.get(identifier))
    .sort(compare);
  const hasSameCustomers =
    before.customers.length === after.customers.length &&
    before.customers.every((customer) => after.customers.includes(customer));
  return changed.length === 0 && hasSameCustomers ? null : changed;
};
