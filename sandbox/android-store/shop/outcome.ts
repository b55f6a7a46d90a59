import type { Notice } from "../notifications/notifications.ts";
import type { VoidedOrder } from "../publisher-api/voided-purchases.ts";
import type { SoldPurchase } from "./purchases.ts";

/** A purchase after a change or after some time, and the notifications of it. */
export interface Outcome {
  readonly sold: SoldPurchase;
  readonly notices: readonly Notice[];
  /** Order that is voided; null: none is. */
  readonly voided: VoidedOrder | null;
}

export const outcome = (sold: SoldPurchase, ...notices: Notice[]): Outcome => ({
  sold,
  notices,
  voided: null,
});
