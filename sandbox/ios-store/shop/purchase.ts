import * as z from "zod";
import { isInstant, plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { PRODUCT_TYPES, type SandboxTransaction } from "./app-store.ts";
import { period, text, time } from "./fields.ts";

/** A purchase to make: the body of `POST /purchases`. */

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
    /** Subscriptions only: the end, or else the duration in `period`. */
    expiresDate: time.optional(),
    period: period.prefault("P1M"),
    /** Grace period while a failed charge is retried, at most a period; null: the product has none. */
    gracePeriod: period.nullable().prefault("P16D"),
    renews: z.boolean().default(true),
    /** Whether the charge for the next period fails. */
    billingFails: z.boolean().default(false),
    /** More than one of consumables and non-renewing subscriptions only. */
    quantity: z.int().positive().default(1),
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
    const { live, quantity, type } = context.value;
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

export const isLive = (transaction: BoughtTransaction): boolean =>
  transaction.live ?? AS_TOLD.every((field) => transaction[field] === undefined);

/**
 * A purchase that is signed as requested.
 *
 * @param newIdentifier for one that names none
 */
export const transactionOf = (
  bought: BoughtTransaction,
  newIdentifier: string,
  now: Instant,
): SandboxTransaction => {
  const { purchaseDate = now, expiresDate = plusPeriod(purchaseDate, bought.period) } = bought;
  return {
    ...bought,
    purchaseDate,
    signedDate: now,
    transactionIdentifier: bought.transactionIdentifier ?? newIdentifier,
    expiresDate: bought.type === "Auto-Renewable Subscription" ? expiresDate : undefined,
  };
};
