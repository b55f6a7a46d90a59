import * as z from "zod";
import { isInstant } from "../../../lib/entitlements/time.ts";
import { period, text, time } from "../../fields.ts";
import { CONSUMPTION_REQUEST_REASONS, INTENTS, PRODUCT_TYPES } from "./lineage.ts";

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

const about = { /** Unset: the latest that it can be. */ transactionIdentifier: text.optional() };
const refund = {
  ...about,
  /** 1: because of an issue with the app; 0: for any other reason. */
  reason: z.union([z.literal(0), z.literal(1)]).default(0),
};
const product = {
  productIdentifier: text,
  /** Unset: as long as the current one. */
  period: period.optional(),
};

const of = <Name extends string, Fields extends z.ZodRawShape>(name: Name, fields: Fields) =>
  z.strictObject({ change: z.literal(name), ...fields });

export const changeSchema = z.discriminatedUnion("change", [
  /** The next period is charged now, and begins when the current one ends. In a billing retry: `recover`. */
  of("renew", {}),
  /** The store charges the next period a day before it begins, or now if that is nearer. */
  of("renew-ahead", {}),
  /** The customer turns off the renewal; access lasts until the period ends. */
  of("cancel", {}),
  /** The customer turns the renewal on again. */
  of("resume", {}),
  /** The next charge fails: a grace period where the product has one, and retries for 60 days after the period's end. */
  of("fail-billing", {}),
  /** The charge succeeds after it failed: in a grace period the cadence stays, later a new period begins now. */
  of("recover", {}),
  /** The subscription ends now. Apple never shortens a period: this simulates the time until its end. */
  of("expire", {
    /** Unset: `voluntary`, or `billing-retry` where a charge failed. */
    reason: z.literal(Object.keys(INTENTS) as (keyof typeof INTENTS)[]).optional(),
  }),
  /** The customer buys an ended subscription again: the same lineage. */
  of("resubscribe", { ...product, productIdentifier: text.optional() }),
  of("refund", refund),
  /** Partial refund: of some units of a quantity, or of a percentage. Each gives the total refunded so far. */
  of("refund-partly", {
    ...refund,
    refundedQuantity: z.int().positive().optional(),
    percentage: z.number().positive().lt(100).optional(),
  }),
  of("reverse-refund", about),
  of("consumption-request", { ...about, reason: z.enum(CONSUMPTION_REQUEST_REASONS).default("OTHER") }),
  /** Another product begins now, and a period with it. */
  of("upgrade", product),
  /** Another product begins with the next period; choosing the current product cancels a planned change. */
  of("downgrade", product),
  /** The customer is asked to agree to a higher price, or agrees. Pending at the period's end, the subscription ends. */
  of("price-increase", { consent: z.enum(["pending", "agreed"]).default("pending") }),
  /** The current period ends later. */
  of("extend", { /** Unset: a week. */ period: period.optional() }),
  /** A family member gets a lineage of its own. */
  of("share-with-family", {
    /** The member; unset: a new person. */ appTransactionIdentifier: text.optional(),
  }),
  /** Ends the sharing: on a member's lineage with that member, on the purchaser's with all. */
  of("unshare", {}),
  /** A device makes another transaction id of the latest purchase. */
  of("restore", {}),
  /** A parent withdraws the consent to the app. */
  of("rescind-consent", {}),
]);

export type RequestedChange = z.input<typeof changeSchema>;
export type IosChange = z.output<typeof changeSchema>;
export type ChangeName = IosChange["change"];
export type ChangesByName = { readonly [Change in IosChange as Change["change"]]: Change };
