import fc from "fast-check";
import type { AndroidChange, ChangeDetails } from "../../../sandbox/android-store/shop/changes.ts";
import type { SandboxPurchase } from "../../../sandbox/android-store/shop/purchases.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/shop/change.ts";
import type { RequestedPurchase } from "../../../sandbox/ios-store/shop/purchase.ts";
import { DAY } from "../../../testing/support/stores/purchases.ts";
import { PACKAGE_NAME } from "./stores.ts";

/** Acts of customers and stores. Renewals and the consequences of failed payments come by the clock. */

type Goods = NonNullable<RequestedPurchase["transactions"]>[number];

export type Act =
  | { readonly kind: "buy-ios"; readonly person: number; readonly goods: Goods }
  | {
      readonly kind: "change-ios";
      /** Which purchase, counted modulo. */
      readonly which: number;
      readonly change: RequestedChange;
      /** For refunds: which transaction of the purchase, the latest first, counted modulo. */
      readonly transaction: number;
    }
  | { readonly kind: "share"; readonly which: number; readonly person: number }
  | {
      readonly kind: "buy-android";
      readonly person: number;
      readonly goods: SandboxPurchase;
    }
  | {
      readonly kind: "change-android";
      readonly which: number;
      readonly change: AndroidChange;
      readonly details: ChangeDetails;
      /** Whether a plan change is followed by another at once, so that the app links only the last token. */
      readonly isRepeated: boolean;
    };

export interface Step {
  /** Time that passes before it, in milliseconds. */
  readonly after: number;
  readonly act: Act;
}
export type History = readonly Step[];

const person = fc.nat(1);
const which = fc.nat(7);
const MINUTE = 60_000;

const waits = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 180 }).map((minutes) => minutes * MINUTE) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 10 * 24 }).map((hours) => hours * 60 * MINUTE) },
  { weight: 2, arbitrary: fc.integer({ min: 10, max: 40 }).map((days) => days * DAY + 7 * MINUTE) },
);

const iosGoods: fc.Arbitrary<Goods> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      productIdentifier: fc.constantFrom("monthly", "yearly", "basic"),
      period: fc.constantFrom("P1W", "P1M", "P1M", "P3M", "P1Y"),
      gracePeriod: fc.constantFrom(null, "P6D", "P16D"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      productIdentifier: fc.constantFrom("map", "forever"),
      type: fc.constant("Non-Consumable" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      productIdentifier: fc.constantFrom("season", "day"),
      type: fc.constant("Non-Renewing Subscription" as const),
      quantity: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      productIdentifier: fc.constant("day"),
      type: fc.constant("Consumable" as const),
      quantity: fc.integer({ min: 1, max: 2 }),
    }),
  },
);

const upgraded = fc.constantFrom("yearly", "basic", "monthly");
const iosChange: fc.Arbitrary<RequestedChange> = fc.oneof(
  ...(["cancel", "resume", "fail-billing", "fail-billing", "recover", "renew", "renew-ahead"] as const).map(
    (change) => fc.constant({ change }),
  ),
  fc.constant({ change: "refund" as const }),
  fc.constant({ change: "refund" as const }),
  fc.integer({ min: 1, max: 99 }).map((percentage) => ({ change: "refund-partly" as const, percentage })),
  fc.constant({ change: "refund-partly" as const, refundedQuantity: 1 }),
  fc.constant({ change: "reverse-refund" as const }),
  fc.constant({ change: "reverse-refund" as const }),
  fc.constant({ change: "resubscribe" as const }),
  upgraded.map((productIdentifier) => ({ change: "resubscribe" as const, productIdentifier })),
  fc.record({
    change: fc.constant("upgrade" as const),
    productIdentifier: upgraded,
    period: fc.constantFrom("P1W", "P1M", "P1Y"),
  }),
  upgraded.map((productIdentifier) => ({ change: "downgrade" as const, productIdentifier })),
  fc.constant({ change: "extend" as const }),
  fc.constant({ change: "price-increase" as const }),
  fc.constant({ change: "restore" as const }),
  fc.constant({ change: "unshare" as const }),
);

const phase = fc.constantFrom(null, "P1D", "P3D", "P10D");
const androidGoods: fc.Arbitrary<SandboxPurchase> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      packageName: fc.constant(PACKAGE_NAME),
      productKind: fc.constant("subscription" as const),
      productIdentifier: fc.constantFrom("premium", "basic"),
      basePlanIdentifier: fc.constantFrom("yearly", "monthly"),
      period: fc.constantFrom("P1W", "P1M", "P1M", "P3M"),
      silentPeriod: fc.constantFrom(null, null, "P1D"),
      gracePeriod: phase,
      accountHold: phase,
      prepaid: fc.constantFrom(false, false, false, true),
      pending: fc.constantFrom(false, false, false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      packageName: fc.constant(PACKAGE_NAME),
      productKind: fc.constant("one_time_product" as const),
      productIdentifier: fc.constantFrom("maps", "hint", "day", "film"),
      quantity: fc.integer({ min: 1, max: 3 }),
      pending: fc.constantFrom(false, false, false, true),
    }),
  },
);

// One line for each kind: a subscription's renewal, refunds, pending payments and the rest.
// prettier-ignore
const PLAIN_ANDROID_CHANGES: readonly AndroidChange[] = [
  "cancel", "restart", "fail-billing", "fail-billing", "recover", "recover", "resume", "renew", "defer",
  "refund-without-revocation", "void-order",
  "complete", "complete", "decline",
  "consume",
];

/** Google may see an order as voided a while after it was: the list names it from then on, with the time of the void. */
const revokingRefund = fc.record({
  change: fc.constantFrom("refund" as const, "revoke" as const),
  details: fc.constantFrom({}, { voidedAgo: "PT3H" }, { voidedAgo: "P1D" }, { voidedAgo: "P4D" }),
});

/**
 * Without the sandbox's shortcuts `hold`, `grace`, `pause` and `expire`: in Google's store these begin at the end of a paid
 * period, as they do here by `fail-billing`, `schedule-pause` and `cancel`.
 */
const androidChange: fc.Arbitrary<Pick<Act & { kind: "change-android" }, "change" | "details">> = fc.oneof(
  ...PLAIN_ANDROID_CHANGES.map((change) => fc.constant({ change, details: {} })),
  { weight: 3, arbitrary: revokingRefund },
  fc.constantFrom("P1W", "P1M").map((period) => ({ change: "schedule-pause" as const, details: { period } })),
  fc.constant({ change: "refund-partly" as const, details: { quantity: 1 } }),
  fc
    .record({
      productIdentifier: fc.constantFrom("premium", "basic"),
      deferred: fc.constantFrom(false, false, true),
      pending: fc.constantFrom(false, false, true),
    })
    .map((details) => ({ change: "upgrade" as const, details })),
  fc.constant({ change: "top-up" as const, details: {} }),
  fc.constant({ change: "items-changed" as const, details: { adds: "basic" } }),
  fc.constant({ change: "items-changed" as const, details: { removes: "basic" } }),
);

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("buy-ios" as const), person, goods: iosGoods }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("buy-android" as const), person, goods: androidGoods }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant("change-ios" as const),
      which,
      change: iosChange,
      transaction: fc.nat(3),
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(which, androidChange, fc.constantFrom(false, true))
      .map(([which, changed, isRepeated]) => ({
        kind: "change-android" as const,
        which,
        ...changed,
        isRepeated: isRepeated && changed.details.pending !== true,
      })),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("share" as const), which, person }) },
);

/** Histories begin with purchases, so that what follows has something to change. */
export const histories: fc.Arbitrary<History> = fc
  .tuple(
    fc.array(
      fc.record({
        after: waits,
        act: fc.oneof(
          fc.record({ kind: fc.constant("buy-ios" as const), person, goods: iosGoods }),
          fc.record({ kind: fc.constant("buy-android" as const), person, goods: androidGoods }),
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    fc.array(fc.record({ after: waits, act }), { minLength: 1, maxLength: 9 }),
  )
  .map(([first, then]) => [...first, ...then]);
