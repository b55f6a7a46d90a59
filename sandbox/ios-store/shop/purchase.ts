import * as z from "zod";
import { DAY } from "../../../lib/duration.ts";
import { isInstant, plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { PRODUCT_TYPES, type SandboxTransaction } from "./app-store.ts";
import { period, text, time } from "./fields.ts";
import type { Goods } from "./sell.ts";

/** A purchase to make: the body of `POST /purchases`. */

const MONTH = { months: 1, milliseconds: 0 };
const GRACE_PERIOD = { months: 0, milliseconds: 16 * DAY };

/**
 * Fields of transactions that were signed elsewhere or long ago. The store signs such a transaction as requested, and
 * does not remember it.
 */
const AS_TOLD = [
  "purchaseDate",
  "expiresDate",
  "transactionIdentifier",
  "originalTransactionIdentifier",
  "revocationDate",
  "isUpgraded",
  "inAppOwnershipType",
] as const;

/** Fields that changes set on what the store remembers. */
const SET_BY_CHANGES = ["revocationDate", "isUpgraded", "inAppOwnershipType"] as const;

const QUANTITIES: ReadonlySet<SandboxTransaction["type"]> = new Set([
  "Consumable",
  "Non-Renewing Subscription",
]);

const boughtTransaction = z
  .strictObject({
    productIdentifier: text,
    type: z.enum(PRODUCT_TYPES).default("Auto-Renewable Subscription"),
    /** Unset: now. */
    purchaseDate: time.optional(),
    /** Subscriptions only: the end, or else the duration in `period`; default: one month. */
    expiresDate: time.optional(),
    period: period.optional(),
    /** Grace period while a failed charge is retried, at most a period; default: 16 days; null: the product has none. */
    gracePeriod: period.nullable().optional(),
    /**
     * Whether renewal infos leave out the grace period's end, so that only the status shows it; default: they contain
     * it.
     */
    hidesGraceEnd: z.boolean().optional(),
    /** Whether the subscription renews; default: it does. */
    renews: z.boolean().optional(),
    /** Whether the charge for the next period fails; default: it succeeds. */
    billingFails: z.boolean().optional(),
    /** Consumables and non-renewing subscriptions only; default: 1. */
    quantity: z.int().positive().optional(),
    appAccountToken: z.uuid().optional(),
    transactionIdentifier: text.optional(),
    originalTransactionIdentifier: text.optional(),
    revocationDate: time.optional(),
    isUpgraded: z.boolean().optional(),
    inAppOwnershipType: z.enum(["PURCHASED", "FAMILY_SHARED"]).optional(),
    /** Whether the store remembers it; default: unless it has one of the dates, ids and states above. */
    live: z.boolean().optional(),
  })
  .check((context) => {
    const { live, quantity = 1, type } = context.value;
    const refuse = (field: string, message: string): void => {
      context.issues.push({ code: "custom", input: context.value, path: [field], message });
    };
    const { purchaseDate } = context.value;
    if (live === true && purchaseDate !== undefined && !isInstant(purchaseDate))
      refuse("purchaseDate", "must not be before 1970");
    if (quantity > 1 && !QUANTITIES.has(type)) refuse("quantity", `must be 1 for type ${type}`);
    for (const field of SET_BY_CHANGES)
      if (live === true && context.value[field] !== undefined)
        refuse(field, "must be set by a change of a live purchase");
  });
type BoughtTransaction = z.output<typeof boughtTransaction>;

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

export const isLive = (transaction: BoughtTransaction): boolean =>
  transaction.live ?? AS_TOLD.every((field) => transaction[field] === undefined);

/** A purchase that the store remembers. */
export const goodsOf = (transaction: BoughtTransaction, now: Instant): Goods => ({
  productIdentifier: transaction.productIdentifier,
  type: transaction.type,
  quantity: transaction.quantity ?? 1,
  appAccountToken: transaction.appAccountToken ?? null,
  purchaseDate: transaction.purchaseDate ?? now,
  expiresDate: transaction.expiresDate,
  period: transaction.period ?? MONTH,
  gracePeriod: transaction.gracePeriod === undefined ? GRACE_PERIOD : transaction.gracePeriod,
  hidesGraceEnd: transaction.hidesGraceEnd ?? false,
  renews: transaction.renews ?? true,
  billingFails: transaction.billingFails ?? false,
  transactionIdentifier: transaction.transactionIdentifier,
  originalTransactionIdentifier: transaction.originalTransactionIdentifier,
});

/** A purchase that is signed as requested. */
export const transactionOf = (
  { period = MONTH, purchaseDate, expiresDate, ...transaction }: BoughtTransaction,
  transactionIdentifier: string,
  now: Instant,
): SandboxTransaction => {
  const from = purchaseDate ?? now;
  const until = expiresDate ?? plusPeriod(from, period);
  const { originalTransactionIdentifier, quantity, appAccountToken } = transaction;
  const { revocationDate, isUpgraded, inAppOwnershipType } = transaction;
  return {
    productIdentifier: transaction.productIdentifier,
    type: transaction.type,
    purchaseDate: from,
    signedDate: now,
    transactionIdentifier,
    ...(transaction.type === "Auto-Renewable Subscription" && { expiresDate: until }),
    ...(originalTransactionIdentifier !== undefined && { originalTransactionIdentifier }),
    ...(quantity !== undefined && { quantity }),
    ...(appAccountToken !== undefined && { appAccountToken }),
    ...(revocationDate !== undefined && { revocationDate }),
    ...(isUpgraded !== undefined && { isUpgraded }),
    ...(inAppOwnershipType !== undefined && { inAppOwnershipType }),
  };
};
