import * as z from "zod";
import { isInstant } from "../../../lib/entitlements/time.ts";
import { period, text, time } from "../../fields.ts";
import { PRODUCT_TYPES } from "./lineage.ts";

/** A purchase to make: the body of `POST /purchases`. */

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

export type RequestedPurchase = z.input<typeof bought>;
