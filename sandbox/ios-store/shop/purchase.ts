import * as z from "zod";
import { isInstant, plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { PRODUCT_TYPES } from "./app-store.ts";
import { period, text, time } from "./fields.ts";
import { told, type Current, type Lineage, type Outcome, type Subscription } from "./lineage.ts";
import { nextEventOf, withNextEvent } from "./renewals.ts";

/** A purchase to make, the body of `POST /purchases`, and the lineage that it begins. */

const boughtTransaction = z
  .strictObject({
    productIdentifier: text,
    type: z.enum(PRODUCT_TYPES).default("Auto-Renewable Subscription"),
    /** Unset: now. */
    purchaseDate: time.optional(),
    /** Subscriptions only: the end, or else the duration in `period`. */
    expiresDate: time.optional(),
    period: period.prefault("P1M"),
    /** Grace period while a failed charge is retried, at most a period; null: the product has none. */
    gracePeriod: period.nullable().prefault("P16D"),
    renews: z.boolean().default(true),
    /** Whether the charge for the next period fails. */
    billingFails: z.boolean().default(false),
    quantity: z.int().positive().default(1),
    appAccountToken: z.uuid().optional(),
    transactionIdentifier: text.optional(),
    originalTransactionIdentifier: text.optional(),
  })
  .refine(({ purchaseDate = 0 }) => isInstant(purchaseDate), {
    path: ["purchaseDate"],
    message: "must not be before 1970",
  });
export type BoughtTransaction = z.output<typeof boughtTransaction>;

export const bought = z.strictObject({
  bundleIdentifier: text.optional(),
  /** The app's Apple ID, which is verified in production; unset: the demo application's. */
  appAppleIdentifier: z.int().positive().optional(),
  environment: z.enum(["production", "sandbox"]).default("sandbox"),
  /** The person: the same identifier is the same person. Null: an app from before these identifiers. Unset: a new person. */
  appTransactionIdentifier: text.nullable().optional(),
  transactions: z.array(boughtTransaction).default([]),
  /** Copied into the response. */
  applicationAccountIdentifier: z.string().nullable().optional(),
});
export type Bought = z.output<typeof bought>;

/** As a request names it. */
export type RequestedPurchase = z.input<typeof bought>;

const subscriptionFrom = (goods: BoughtTransaction, purchaseDate: Instant): Subscription | null => {
  const { type, productIdentifier, expiresDate, period, gracePeriod, renews, billingFails } = goods;
  if (type !== "Auto-Renewable Subscription") return null;
  return {
    standing: { kind: "active" },
    next: { productIdentifier, period },
    cadence:
      expiresDate === undefined
        ? { from: purchaseDate, periods: 1, period }
        : { from: expiresDate, periods: 0, period },
    gracePeriod,
    autoRenews: renews,
    servedSince: purchaseDate,
    billingFails,
    chargedAheadAt: null,
    priceIncrease: null,
  };
};

/** Periods that a customer of long standing may have had. */
const LONGEST_HISTORY = 1000;

/**
 * A new lineage, as it is now. One that was bought in the past has had all its notifications.
 *
 * @throws ImpossibleChange
 */
export const sold = (
  goods: BoughtTransaction,
  account: string,
  { at, newIdentifier }: Omit<Current, "lineage">,
): Outcome => {
  const { purchaseDate = at, productIdentifier } = goods;
  if (purchaseDate > at) throw new ImpossibleChange("Nothing is sold in the future.");
  if (goods.expiresDate !== undefined && goods.expiresDate <= purchaseDate)
    throw new ImpossibleChange("A period ends after it begins.");
  const subscription = subscriptionFrom(goods, purchaseDate);
  const transactionIdentifier = goods.transactionIdentifier ?? newIdentifier();
  const { expiresDate = plusPeriod(purchaseDate, goods.period) } = goods;
  const first = {
    transactionIdentifier,
    event: newIdentifier(),
    productIdentifier,
    purchaseDate,
    expiresDate: subscription === null ? null : expiresDate,
    reason: "PURCHASE",
    isUpgraded: false,
    revocation: null,
  } as const;
  let lineage: Lineage = {
    originalTransactionIdentifier: goods.originalTransactionIdentifier ?? transactionIdentifier,
    account,
    type: goods.type,
    quantity: goods.quantity,
    originalPurchaseDate: purchaseDate,
    appAccountToken: goods.appAccountToken ?? null,
    sharedFrom: null,
    transactions: [first],
    subscription,
    changedAt: purchaseDate,
  };
  if (purchaseDate === at)
    return told(lineage, subscription === null ? "ONE_TIME_CHARGE" : "SUBSCRIBED INITIAL_BUY");
  for (let dueAt = nextEventOf(lineage); dueAt !== null && dueAt <= at; dueAt = nextEventOf(lineage)) {
    ({ lineage } = withNextEvent({ lineage, at: dueAt, newIdentifier }));
    if (lineage.transactions.length > LONGEST_HISTORY)
      throw new ImpossibleChange(`More than ${LONGEST_HISTORY} periods have passed since the purchase.`);
  }
  return { lineage, notices: [] };
};
