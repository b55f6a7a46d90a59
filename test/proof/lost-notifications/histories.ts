import fc from "fast-check";
import { MINUTE } from "../../../lib/duration.ts";
import type {
  SandboxPurchase,
  AndroidChange,
  ChangeDetails,
} from "../../../sandbox/android-store/shop/requests.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/shop/requests.ts";
import { DAY } from "../../../testing/support/stores/purchases.ts";
import type { IosGoods } from "../../../testing/application.ts";
import { choice } from "../model/histories/choices.ts";
import { PACKAGE_NAME } from "./stores.ts";

/** Acts of customers and stores. Renewals and the consequences of failed payments come by the clock. */

export type Act =
  | { readonly kind: "buy-ios"; readonly person: number; readonly goods: IosGoods }
  | {
      readonly kind: "change-ios";
      /** Which purchase, counted modulo. */
      readonly which: number;
      readonly change: RequestedChange;
      /** For refunds: which transaction of the purchase, the latest first, counted modulo. */
      readonly transaction: number;
    }
  | { readonly kind: "share"; readonly which: number; readonly person: number }
  | { readonly kind: "buy-android"; readonly person: number; readonly goods: SandboxPurchase }
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

const weighing = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });

const person = fc.nat(1);
const which = fc.nat(7);

const waits = fc.oneof(
  weighing(
    2,
    fc.integer({ min: 1, max: 180 }).map((minutes) => minutes * MINUTE),
  ),
  weighing(
    3,
    fc.integer({ min: 1, max: 10 * 24 }).map((hours) => hours * 60 * MINUTE),
  ),
  weighing(
    2,
    fc.integer({ min: 10, max: 40 }).map((days) => days * DAY + 7 * MINUTE),
  ),
);

const subscriptionGoods = fc.record({
  productIdentifier: choice("monthly", "yearly", "basic"),
  period: choice("P1W", "P1M", "P1M", "P3M", "P1Y"),
  gracePeriod: choice(null, "P6D", "P16D"),
});
const iosGoods: fc.Arbitrary<IosGoods> = fc.oneof(
  weighing(4, subscriptionGoods),
  weighing(2, fc.record({ productIdentifier: choice("map", "forever"), type: choice("Non-Consumable") })),
  fc.record({
    productIdentifier: choice("season", "day"),
    type: choice("Non-Renewing Subscription"),
    quantity: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    productIdentifier: choice("day"),
    type: choice("Consumable"),
    quantity: fc.integer({ min: 1, max: 2 }),
  }),
);

// One line for each kind: a subscription's renewal, refunds, and the rest.
// prettier-ignore
const PLAIN_IOS_CHANGES = [
  "cancel", "resume", "fail-billing", "fail-billing", "recover", "renew", "renew-ahead",
  "refund", "refund", "reverse-refund", "reverse-refund",
  "resubscribe", "extend", "price-increase", "restore", "unshare",
] as const;

const upgraded = choice("yearly", "basic", "monthly");
const iosChange: fc.Arbitrary<RequestedChange> = fc.oneof(
  ...PLAIN_IOS_CHANGES.map((change) => fc.record({ change: choice(change) })),
  fc.record({ change: choice("refund-partly"), percentage: fc.integer({ min: 1, max: 99 }) }),
  fc.record({ change: choice("refund-partly"), refundedQuantity: choice(1) }),
  fc.record({ change: choice("resubscribe"), productIdentifier: upgraded }),
  fc.record({
    change: choice("upgrade"),
    productIdentifier: upgraded,
    period: choice("P1W", "P1M", "P1Y"),
  }),
  fc.record({ change: choice("downgrade"), productIdentifier: upgraded }),
);

const phase = choice(null, "P1D", "P3D", "P10D");
const androidGoods: fc.Arbitrary<SandboxPurchase> = fc.oneof(
  weighing(
    4,
    fc.record({
      packageName: choice(PACKAGE_NAME),
      productKind: choice("subscription"),
      productIdentifier: choice("premium", "basic"),
      basePlanIdentifier: choice("yearly", "monthly"),
      period: choice("P1W", "P1M", "P1M", "P3M"),
      silentPeriod: choice(null, null, "P1D"),
      gracePeriod: phase,
      accountHold: phase,
      prepaid: choice(false, false, false, true),
      pending: choice(false, false, false, false, true),
    }),
  ),
  weighing(
    3,
    fc.record({
      packageName: choice(PACKAGE_NAME),
      productKind: choice("one_time_product"),
      productIdentifier: choice("maps", "hint", "day", "film"),
      quantity: fc.integer({ min: 1, max: 3 }),
      pending: choice(false, false, false, true),
    }),
  ),
);

// One line for each kind: a subscription's renewal, refunds, pending payments and the rest.
// prettier-ignore
const PLAIN_ANDROID_CHANGES: readonly AndroidChange[] = [
  "cancel", "restart", "fail-billing", "fail-billing", "recover", "recover", "resume", "renew", "defer",
  "refund-without-revocation", "void-order",
  "complete", "complete", "decline",
  "consume", "top-up",
];

type ChangedAndroid = Pick<Act & { kind: "change-android" }, "change" | "details">;
const changes = (
  change: fc.Arbitrary<AndroidChange>,
  details: fc.Arbitrary<ChangeDetails> = fc.constant({}),
): fc.Arbitrary<ChangedAndroid> => fc.record({ change, details });

/** Google may see an order as voided a while after it was: the list names it from then on, with the time of the void. */
const revokingRefund = changes(
  choice("refund", "revoke"),
  choice({}, { voidedAgo: "PT3H" }, { voidedAgo: "P1D" }, { voidedAgo: "P4D" }),
);
const planChange = fc.record({
  productIdentifier: choice("premium", "basic"),
  deferred: choice(false, false, true),
  pending: choice(false, false, true),
});

/**
 * Without the sandbox's shortcuts `hold`, `grace`, `pause` and `expire`: in Google's store these begin at the end of a paid
 * period, as they do here by `fail-billing`, `schedule-pause` and `cancel`.
 */
const androidChange: fc.Arbitrary<ChangedAndroid> = fc.oneof(
  ...PLAIN_ANDROID_CHANGES.map((change) => changes(choice(change))),
  weighing(3, revokingRefund),
  changes(choice("schedule-pause"), fc.record({ period: choice("P1W", "P1M") })),
  changes(choice("refund-partly"), choice({ quantity: 1 })),
  changes(choice("upgrade"), planChange),
  changes(choice("items-changed"), choice({ adds: "basic" })),
  changes(choice("items-changed"), choice({ removes: "basic" })),
);

const buyIos = fc.record({ kind: choice("buy-ios"), person, goods: iosGoods });
const buyAndroid = fc.record({ kind: choice("buy-android"), person, goods: androidGoods });
const changeAndroid = fc
  .record({ which, changed: androidChange, isRepeated: fc.boolean() })
  .map(({ which, changed, isRepeated }) => ({
    kind: "change-android" as const,
    which,
    ...changed,
    isRepeated: isRepeated && changed.details.pending !== true,
  }));

const act: fc.Arbitrary<Act> = fc.oneof(
  weighing(3, buyIos),
  weighing(2, buyAndroid),
  weighing(7, fc.record({ kind: choice("change-ios"), which, change: iosChange, transaction: fc.nat(3) })),
  weighing(6, changeAndroid),
  weighing(1, fc.record({ kind: choice("share"), which, person })),
);

/** Histories begin with purchases, so that what follows has something to change. */
export const histories: fc.Arbitrary<History> = fc
  .tuple(
    fc.array(fc.record({ after: waits, act: fc.oneof(buyIos, buyAndroid) }), { minLength: 1, maxLength: 3 }),
    fc.array(fc.record({ after: waits, act }), { minLength: 1, maxLength: 9 }),
  )
  .map(([first, then]) => [...first, ...then]);
