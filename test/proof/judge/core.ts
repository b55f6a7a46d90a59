import { DAY } from "../../../lib/duration.ts";
import { entitlementsAt } from "../../../lib/entitlements/entitlements.ts";
import type { Holding } from "../../../lib/entitlements/holding.ts";
import { isInactive } from "../../../lib/entitlements/inactivity.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { aLine } from "../../../testing/support/stores/purchases.ts";
import { CATALOG, LEEWAY } from "./catalog.ts";

/** All that the judge needs of the core that it judges. */

export type { Purchase };

const TERMS = { catalog: CATALOG, renewalLeeway: LEEWAY };
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

/** What is known of one customer. */
export type Known = readonly Holding[];

export const knownOf = (facts: readonly Purchase[]): Known =>
  joinAll(facts).map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase }));

/** Ends of access by entitlement, of those that are active; null: lifetime. */
export const activeAt = (moment: number, known: Known): ReadonlyMap<string, number | null> =>
  new Map(
    entitlementsAt(moment, known, TERMS)
      .filter(({ active }) => active)
      .map(({ identifier, expiresAt }) => [identifier, expiresAt === null ? null : Date.parse(expiresAt)]),
  );

/** Whether the customer may move to another account where `transfers` is `when_inactive`. */
export const mayMove = (moment: number, known: Known): boolean => isInactive(moment, known, TERMS);

/** Time after an end within which a customer stays whose store has not called it over. */
export const UNSURE_AFTER_END = DAY;

/** One App Store transaction, as its reader makes a line of it. */
export interface AppStoreTransaction {
  readonly id: string;
  readonly event: string;
  readonly product: string;
  readonly nature: Line["nature"];
  readonly startsAt: number;
  readonly purchasedAt: number;
  readonly endsAt: number | null;
  readonly isUpgraded: boolean;
  readonly revokedAt: number | null;
  /** A refund of some of its units, too. */
  readonly refundedAt?: number | null;
  readonly quantity?: number;
  readonly refundedQuantity?: number;
  readonly signedAt: number;
}

export const appStoreLine = (transaction: AppStoreTransaction): Line => {
  const refundedAt = transaction.refundedAt ?? transaction.revokedAt;
  return aLine({
    transactionIdentifier: transaction.id,
    event: transaction.event,
    productIdentifier: transaction.product,
    nature: transaction.nature,
    standing: transaction.isUpgraded ? "expired" : "entitled",
    startsAt: transaction.startsAt,
    purchasedAt: transaction.purchasedAt,
    endsAt: transaction.endsAt,
    revokedAt: transaction.revokedAt,
    revokedSince: refundedAt,
    quantity: transaction.quantity ?? 1,
    refundedQuantity: transaction.refundedQuantity ?? 0,
    verifiedAt: transaction.signedAt,
  });
};
