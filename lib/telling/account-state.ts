import { createHash } from "node:crypto";
import type { CustomerEntitlement } from "../contract/schemas.ts";
import type { AccountId, CustomerId } from "../identifiers.ts";
import { compare } from "../order.ts";

/** An account as `readAccountEntitlements` would answer it at a moment. */
export interface AccountState {
  readonly account: AccountId;
  readonly customers: readonly CustomerId[];
  readonly entitlements: readonly CustomerEntitlement[];
}

/** Digest of a told state, for comparison with later ones. */
export interface StateDigest {
  readonly customers: readonly CustomerId[];
  /** Digest of each entitlement by its identifier. */
  readonly entitlements: ReadonlyMap<string, string>;
}

/** State of an account of which nothing was told. */
export const NO_STATE: StateDigest = { customers: [], entitlements: new Map() };

/** A new verification time alone is not a change. */
const digestOf = (entitlement: CustomerEntitlement): string =>
  createHash("sha256")
    .update(JSON.stringify({ ...entitlement, lastVerifiedAt: null }))
    .digest("base64url")
    .slice(0, 22);

export const digestsOf = ({ customers, entitlements }: AccountState): StateDigest => ({
  customers,
  entitlements: new Map(entitlements.map((one) => [one.identifier, digestOf(one)])),
});

/** Difference of two states of an account; null: none. */
export interface StateDifference {
  /** Identifiers of the entitlements that differ, sorted; empty where only the customers do. */
  readonly changed: readonly string[];
  /** Customers only in the later state. */
  readonly gained: readonly CustomerId[];
  /** Customers only in the earlier state. */
  readonly lost: readonly CustomerId[];
}

export const stateDifference = (before: StateDigest, after: StateDigest): StateDifference | null => {
  const named = new Set([...before.entitlements.keys(), ...after.entitlements.keys()]);
  const changed = [...named]
    .filter((identifier) => before.entitlements.get(identifier) !== after.entitlements.get(identifier))
    .sort(compare);
  const gained = after.customers.filter((customer) => !before.customers.includes(customer));
  const lost = before.customers.filter((customer) => !after.customers.includes(customer));
  return changed.length + gained.length + lost.length === 0 ? null : { changed, gained, lost };
};
