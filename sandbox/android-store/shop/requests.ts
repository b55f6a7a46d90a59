import * as z from "zod";
import { PRODUCT_KINDS } from "../../../lib/contract/schemas.ts";
import { text } from "../../fields.ts";
import { period } from "./purchases.ts";

/** The body of `POST /purchases`: a purchase to make. */
export const sandboxPurchase = z.object({
  packageName: text,
  productKind: z.enum(PRODUCT_KINDS),
  productIdentifier: text,
  /** Subscriptions only. */
  basePlanIdentifier: text.optional(),
  /** Time until a subscription ends or renews, now and at each renewal. */
  period: period.default("P1M"),
  /** Bought, but not paid yet. */
  pending: z.boolean().default(false),
  /** A subscription that does not renew automatically. */
  prepaid: z.boolean().default(false),
  /** Bought by a licence tester: the purchase's environment is sandbox. */
  test: z.boolean().default(false),
  obfuscatedAccountIdentifier: text.optional(),
  /** Unset: a new one. */
  orderIdentifier: text.optional(),
  /** Token of the subscription that this one replaces. */
  replaces: text.optional(),
  /** The replaced product stays until its end, and this one follows it. */
  deferred: z.boolean().default(false),
  /** Token of the expired subscription that was bought again outside the app. */
  resubscribes: text.optional(),
  /** One-time purchases only. */
  quantity: z.int().positive().default(1),
  /** One-time purchases only. */
  purchaseOptionIdentifier: text.optional(),
  /** A one-time purchase that is rented. */
  rental: z.boolean().default(false),
  /** Phases after a failed payment, in this order; null: left out. In the silent period the state stays ACTIVE. */
  silentPeriod: period.nullable().default(null),
  gracePeriod: period.nullable().default("P3D"),
  accountHold: period.nullable().default("P30D"),
});

export type SandboxPurchase = z.input<typeof sandboxPurchase>;
export type WantedPurchase = z.output<typeof sandboxPurchase>;

/**
 * Changes of a purchase, each with its meaning. A one-time purchase supports only `complete`, `decline`, `acknowledge`, `refund`, `revoke`,
 * `refund-partly`, `refund-without-revocation`, `void-order`, `refund-review` and `consume`.
 */
export const CHANGES = {
  complete: "a pending purchase is paid",
  decline: "a pending purchase is declined",
  acknowledge: "the app acknowledges it itself",
  renew:
    "the next period is paid: it begins at the end of the current one, or now; ends a cancellation, pause or hold",
  cancel: "the customer cancels the renewal; access lasts until the period ends",
  restart: "the customer takes the cancellation back",
  "fail-billing": "the next payment fails: silent period, grace period, hold, the end",
  recover: "the failed payment succeeds: with the original billing date, or from now on after a hold",
  grace: "a payment fails now: access goes on for the period (a month)",
  hold: "a payment fails now: access ends until it is paid",
  pause: "it is paused now, for the period (a month)",
  "schedule-pause": "it is paused at the end of the paid period, for the period (a month)",
  resume: "the pause, or its schedule, ends",
  expire: "it ends now",
  defer: "the developer defers the renewal by the period",
  replace: "another product takes its place under a new token: now, or deferred to the end of the period",
  upgrade: "another product takes its place, as an upgrade",
  "top-up": "the next part of a prepaid plan is bought, under a new token",
  "items-changed": "an add-on is added now (adds), or removed at the end of the period (removes)",
  refund: "it is refunded and revoked; access ends",
  revoke: "it is revoked; access ends",
  "refund-partly": "the quantity (one) is refunded and revoked",
  "refund-without-revocation": "the latest order is refunded, and access stays; nobody is notified",
  "void-order": "the bank takes the latest payment back (chargeback), and access stays",
  "refund-review": "the store asks for a review of a chargeback; nothing changes",
  consume: "the app uses it up",
} as const;
export type AndroidChange = keyof typeof CHANGES;

const changeDetails = z.object({
  /** Length of the paid period, pause, grace period or deferral; default: the subscription's own period, for grace and pause one month. */
  period: period.optional(),
  quantity: z.int().positive().optional(),
  /** How long ago the refunded order was voided, if the store's systems see it only now; default: it was voided now. */
  voidedAgo: period.optional(),
  productIdentifier: text.optional(),
  basePlanIdentifier: text.optional(),
  deferred: z.boolean().optional(),
  /** The replacement or top-up awaits its payment. */
  pending: z.boolean().optional(),
  adds: text.optional(),
  removes: text.optional(),
  /** Phases of `fail-billing`; default: as sold. */
  silentPeriod: period.nullable().optional(),
  gracePeriod: period.nullable().optional(),
  accountHold: period.nullable().optional(),
});

export type ChangeDetails = Readonly<z.output<typeof changeDetails>>;

/** The body of `POST /purchases/{purchaseToken}`. */
export const androidChange = changeDetails.extend({
  change: z.enum(Object.keys(CHANGES) as AndroidChange[]),
});
export type RequestedAndroidChange = z.input<typeof androidChange>;
