import type { Notice } from "../notifications/notifications.ts";
import type { SoldPurchase } from "./purchases.ts";
import type { VoidedOrder } from "../publisher-api/voided-purchases.ts";

/** A purchase after a change or after some time, and the notifications of it. */
export interface Outcome<Sold extends SoldPurchase = SoldPurchase> {
  readonly sold: Sold;
  readonly notices: readonly Notice[];
  /** Order that is voided; null: none is. */
  readonly voided: VoidedOrder | null;
}

export const outcome = <Sold extends SoldPurchase>(sold: Sold, ...notices: Notice[]): Outcome<Sold> => ({
  sold,
  notices,
  voided: null,
});
