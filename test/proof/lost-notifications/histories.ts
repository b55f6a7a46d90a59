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
  | { readonly kind: "buy-android"; readonly person: number; readonly goods: SandboxPurchase }
  /** Of which purchase, counted modulo. */
  | { readonly kind: "change-ios"; readonly which: number; readonly change: RequestedChange }
  | {
      readonly kind: "change-android";
      readonly which: number;
      readonly change: AndroidChange;
      readonly details: ChangeDetails;
    };

export type History = readonly {
  /** Time that passes before it, in milliseconds. */
  readonly after: number;
  readonly act: Act;
}[];

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
    weight: 3,
    arbitrary: fc.record({
      productIdentifier: fc.constantFrom("monthly", "yearly", "basic"),
      period: fc.constantFrom("P1W", "P1M", "P1M", "P3M", "P1Y"),
      gracePeriod: fc.constantFrom(null, "P6D", "P16D"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      productIdentifier: fc.constantFrom("map", "forever"),
      type: fc.constant("Non-Consumable" as const),
    }),
  },
);

// prettier-ignore
const IOS_CHANGES = [
  "cancel", "resume", "fail-billing", "fail-billing", "recover", "renew", "extend", "restore",
  "refund", "refund", "reverse-refund", "reverse-refund", "resubscribe",
] as const;
const otherProduct = fc.constantFrom("yearly", "basic", "monthly");
const iosChange: fc.Arbitrary<RequestedChange> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ change: fc.constantFrom(...IOS_CHANGES) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      change: fc.constantFrom("resubscribe" as const, "downgrade" as const),
      productIdentifier: otherProduct,
    }),
  },
);

const phase = fc.constantFrom(null, "P1D", "P3D", "P10D");
const androidGoods: fc.Arbitrary<SandboxPurchase> = fc.oneof(
  fc.record({
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
  fc.record({
    packageName: fc.constant(PACKAGE_NAME),
    productKind: fc.constant("one_time_product" as const),
    productIdentifier: fc.constantFrom("maps", "hint", "day", "film"),
    pending: fc.constantFrom(false, false, false, true),
  }),
);

// prettier-ignore
const ANDROID_CHANGES = [
  "cancel", "restart", "fail-billing", "fail-billing", "recover", "recover", "resume", "renew", "defer",
  "complete", "complete", "decline", "consume",
] as const;

/**
 * Without the sandbox's shortcuts `hold`, `grace`, `pause` and `expire`: in Google's store these begin at the end of a paid
 * period, as they do here by `fail-billing`, `schedule-pause` and `cancel`.
 */
const androidChange: fc.Arbitrary<{ readonly change: AndroidChange; readonly details: ChangeDetails }> =
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ change: fc.constantFrom(...ANDROID_CHANGES), details: fc.constant({}) }),
    },
    {
      weight: 3,
      // Google may see an order as voided a while after it was: the list names it from then on, with the time of the void.
      arbitrary: fc.record({
        change: fc.constantFrom("refund" as const, "revoke" as const),
        details: fc.constantFrom({}, { voidedAgo: "PT3H" }, { voidedAgo: "P1D" }, { voidedAgo: "P4D" }),
      }),
    },
    fc.record({
      change: fc.constant("schedule-pause" as const),
      details: fc.record({ period: fc.constantFrom("P1W", "P1M") }),
    }),
    fc.record({
      change: fc.constant("upgrade" as const),
      details: fc.record({
        productIdentifier: fc.constantFrom("premium", "basic"),
        deferred: fc.constantFrom(false, false, true),
      }),
    }),
  );

const buying: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("buy-ios" as const), person, goods: iosGoods }),
  fc.record({ kind: fc.constant("buy-android" as const), person, goods: androidGoods }),
);
const changing: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("change-ios" as const), which, change: iosChange }),
  fc
    .tuple(which, androidChange)
    .map(([which, changed]) => ({ kind: "change-android" as const, which, ...changed })),
);

/** Histories begin with purchases, so that what follows has something to change. */
export const histories: fc.Arbitrary<History> = fc
  .tuple(
    fc.array(fc.record({ after: waits, act: buying }), { minLength: 1, maxLength: 3 }),
    fc.array(
      fc.record({
        after: waits,
        act: fc.oneof({ weight: 5, arbitrary: buying }, { weight: 13, arbitrary: changing }),
      }),
      { minLength: 1, maxLength: 9 },
    ),
  )
  .map((parts) => parts.flat());
