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
 * Changes of a purchase. A one-time purchase supports only `complete`, `decline`, `acknowledge`, `refund`, `revoke`,
 * `refund-partly`, `refund-without-revocation`, `void-order`, `refund-review` and `consume`.
 */
export const CHANGES = [
  /** A pending purchase is paid. */
  "complete",
  /** A pending purchase is canceled. */
  "decline",
  /** The app acknowledges the purchase itself. */
  "acknowledge",
  /** The next period begins at the end of the current one, or now if that has passed. Ends a cancellation, pause or hold. */
  "renew",
  /** The user cancels the renewal; access lasts until the period ends. */
  "cancel",
  /** The user takes the cancellation back before the period ends. */
  "restart",
  /** Payments fail from the next renewal on: silent period, grace period, hold, the end. */
  "fail-billing",
  /** The failed payment succeeds, with the original billing date, or from now on after a hold. */
  "recover",
  /** A payment fails now; access continues for the given period. */
  "grace",
  /** A payment fails now; access ends until it succeeds. */
  "hold",
  /** Paused now, for the given period. */
  "pause",
  /** Paused at the end of the paid period, for the given period. */
  "schedule-pause",
  /** Ends a pause, or its schedule. */
  "resume",
  "expire",
  /** The developer defers the renewal by the given period. */
  "defer",
  /** Another product or base plan replaces it, under a new token: now, or `deferred` to the end of the period. */
  "replace",
  "upgrade",
  /** The next part of a prepaid plan, under a new token. */
  "top-up",
  /** An add-on is added now (`adds`), or removed at the end of the period (`removes`). */
  "items-changed",
  /** The purchase is refunded and revoked; access ends. */
  "refund",
  "revoke",
  /** The given quantity is refunded and revoked; default: one. */
  "refund-partly",
  /** The latest order is refunded, and the purchase stays. Nobody is notified. */
  "refund-without-revocation",
  /** The latest order is charged back, and the purchase stays. */
  "void-order",
  /** The store asks the developer to review a chargeback. Nothing changes. */
  "refund-review",
  "consume",
] as const;
export type AndroidChange = (typeof CHANGES)[number];

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
export const androidChange = changeDetails.extend({ change: z.enum(CHANGES) });
export type RequestedAndroidChange = z.input<typeof androidChange>;
