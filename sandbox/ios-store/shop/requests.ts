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
  of("renew", {}),
  of("renew-ahead", {}),
  of("cancel", {}),
  of("resume", {}),
  of("fail-billing", {}),
  of("recover", {}),
  of("expire", {
    /** Unset: `voluntary`, or `billing-retry` where a charge failed. */
    reason: z.literal(Object.keys(INTENTS) as (keyof typeof INTENTS)[]).optional(),
  }),
  of("resubscribe", { ...product, productIdentifier: text.optional() }),
  of("refund", refund),
  of("refund-partly", {
    ...refund,
    refundedQuantity: z.int().positive().optional(),
    percentage: z.number().positive().lt(100).optional(),
  }),
  of("reverse-refund", about),
  of("consumption-request", { ...about, reason: z.enum(CONSUMPTION_REQUEST_REASONS).default("OTHER") }),
  of("upgrade", product),
  of("downgrade", product),
  of("price-increase", { consent: z.enum(["pending", "agreed"]).default("pending") }),
  of("extend", { /** Unset: a week. */ period: period.optional() }),
  of("share-with-family", {
    /** The member; unset: a new person. */ appTransactionIdentifier: text.optional(),
  }),
  of("unshare", {}),
  of("restore", {}),
  of("rescind-consent", {}),
]);

export type RequestedChange = z.input<typeof changeSchema>;
export type IosChange = z.output<typeof changeSchema>;
export type ChangeName = IosChange["change"];
export type ChangesByName = { readonly [Change in IosChange as Change["change"]]: Change };

/** Meaning of each change. */
export const CHANGES: Readonly<Record<ChangeName, string>> = {
  renew: "the next period is charged now, and begins when the current one ends; in a billing retry: recover",
  "renew-ahead": "the next period is charged a day before it begins, or now if that is nearer",
  cancel: "the customer cancels the renewal; access lasts until the period ends",
  resume: "the customer takes the cancellation back",
  "fail-billing": "the next payment fails: a grace period where the product has one, and retries for 60 days",
  recover: "the failed payment succeeds: in a grace period the cadence stays, later a new period begins now",
  expire: "it ends now, as if the time until its end had passed: Apple never shortens a period",
  resubscribe: "the customer buys it again after its end: the same lineage",
  refund: "it is refunded, and access ends",
  "refund-partly": "some of a quantity, or a percentage, is refunded; give the total so far",
  "reverse-refund": "the refund is taken back",
  "consumption-request": "the customer asks for a refund",
  upgrade: "another product begins now, and a period with it",
  downgrade: "another product begins with the next period; the current one cancels a planned change",
  "price-increase":
    "the customer is asked to agree to a higher price, or agrees; still pending at its end, it is over",
  extend: "the current period is made longer (a week)",
  "share-with-family": "it is shared with a family member, who gets a lineage of their own",
  unshare: "the sharing ends: on a member's lineage with that member, on the purchaser's with all",
  restore: "another device restores it, under another transaction id",
  "rescind-consent": "a parent withdraws the consent to the app",
};
