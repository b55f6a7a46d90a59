import { randomBytes } from "node:crypto";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { createDue, earliest } from "../../clock.ts";
import { instant, readonlyObject } from "../../fields.ts";
import { ImpossibleChange } from "../../routes.ts";
import { developerNotification, type DeveloperNotification } from "../notifications.ts";
import { changed, revoked } from "./changes.ts";
import {
  ACKNOWLEDGEMENT_PENDING,
  after,
  isObject,
  isPaid,
  soldPurchase,
  voidedPurchase,
  type Outcome,
  type SoldPurchase,
  type SoldSubscription,
  type StoredPurchase,
  type VoidedPurchase,
} from "./purchases.ts";
import type { RequestedAndroidChange, WantedPurchase } from "./requests.ts";
import { sold, successorOf } from "./sale.ts";
import { afterState, expired, linesOf, stateEndsAt, tell } from "./subscription-states.ts";

type Line = androidpublisher_v3.Schema$LineItem;

/** One payment. It outlives its purchase, whose token may be dropped. */
const order = readonlyObject({
  orderId: z.string(),
  packageName: z.string(),
  purchaseToken: z.string(),
  createdAt: instant,
  lines: z.array(z.custom<Line>(isObject)),
});
export type Order = z.output<typeof order>;

/** Lines of a purchase's answer, each with its order. */
const orderLinesOf = (sold: SoldPurchase, at: Instant): readonly { orderId: string; line: Line }[] => {
  if (sold.productKind === "subscription")
    return linesOf(sold).flatMap(
      ({ latestSuccessfulOrderId: orderId, productId = "", offerDetails, expiryTime }) => {
        const subscriptionDetails = {
          ...(offerDetails?.basePlanId != null && { basePlanId: offerDetails.basePlanId }),
          servicePeriodStartTime: isoTime(at),
          ...(expiryTime != null && { servicePeriodEndTime: expiryTime }),
        };
        return orderId == null ? [] : { orderId, line: { productId, subscriptionDetails } };
      },
    );
  const { orderId, productLineItem } = sold.answer;
  if (orderId == null) return [];
  return (productLineItem ?? []).map(({ productId = "", productOfferDetails: offer }) => {
    const oneTimePurchaseDetails = {
      quantity: offer?.quantity ?? 1,
      ...(offer?.purchaseOptionId != null && { purchaseOptionId: offer.purchaseOptionId }),
    };
    return { orderId, line: { productId, oneTimePurchaseDetails } };
  });
};

const ordersOf = (purchaseToken: string, sold: SoldPurchase, createdAt: Instant): readonly Order[] =>
  [...Map.groupBy(orderLinesOf(sold, createdAt), ({ orderId }) => orderId)].map(([orderId, ordered]) => ({
    orderId,
    packageName: sold.packageName,
    purchaseToken,
    createdAt,
    lines: ordered.map(({ line }) => line),
  }));

export const savedShop = z.object({
  time: instant,
  purchases: z.array(z.tuple([z.string(), soldPurchase])),
  dropped: z.array(z.string()),
  voided: z.array(voidedPurchase),
  orders: z.array(order).default([]),
});

const acknowledgementDue = (sold: SoldPurchase): Instant | null =>
  sold.terms !== null && isPaid(sold) && sold.answer.acknowledgementState === ACKNOWLEDGEMENT_PENDING
    ? sold.terms.acknowledgeBy
    : null;

/** Time of the purchase's next own event; null: none. */
const nextEventOf = (sold: SoldPurchase): Instant | null =>
  earliest(acknowledgementDue(sold), sold.productKind === "subscription" ? stateEndsAt(sold) : null);

/** The purchase after its next event, which happens at the given time; null: the store drops it. */
const afterEvent = (sold: SoldPurchase, at: Instant): Outcome | null =>
  sold.productKind === "one_time_product" || acknowledgementDue(sold) === nextEventOf(sold)
    ? revoked(sold, at, { by: "google", for: "unacknowledged" })
    : afterState(sold, at);

/** Purchases by purchase token, with their orders and voids. */
const createLedger = (saved: z.output<typeof savedShop> | null) => {
  const purchases = new Map<string, SoldPurchase>();
  const due = createDue();
  const orders = new Map<string, Order>(saved?.orders.map((order) => [order.orderId, order]));
  const dropped = new Set<string>(saved?.dropped);
  const voided: VoidedPurchase[] = [...(saved?.voided ?? [])];

  const store = (purchaseToken: string, sold: SoldPurchase, at: Instant): void => {
    purchases.set(purchaseToken, sold);
    due.set(purchaseToken, nextEventOf(sold));
    for (const order of ordersOf(purchaseToken, sold, at))
      if (!orders.has(order.orderId)) orders.set(order.orderId, order);
  };
  for (const [purchaseToken, sold] of saved?.purchases ?? []) store(purchaseToken, sold, saved?.time ?? 0);

  const soldUnder = (purchaseToken: string): SoldPurchase => {
    const found = purchases.get(purchaseToken);
    if (found === undefined) throw new ImpossibleChange("There is no such purchase.", 404);
    return found;
  };

  return {
    /** Keeps an outcome, and returns its notifications. */
    keep: (
      purchaseToken: string,
      { sold, notices, voided: order }: Outcome,
      at: Instant,
      voidedAt = at,
    ): DeveloperNotification[] => {
      const { packageName, productKind } = sold;
      store(purchaseToken, sold, at);
      const published = [...notices];
      const isVoided = voided.some((one) => one.orderId === order?.orderId && one.quantity === null);
      if (order !== null && !isVoided) {
        voided.push({ packageName, purchaseToken, productKind, voidedAt, seenAt: at, ...order });
        const refund = order.quantity === null ? "full" : "quantityBasedPartial";
        published.push({ voided: productKind, orderId: order.orderId, refund });
      }
      return published.map((notice) => developerNotification(packageName, purchaseToken, notice, at));
    },
    /** Stores an API response unchanged, whatever it is. It never changes by itself, and has no orders. */
    put: (purchaseToken: string, stored: StoredPurchase): void => {
      dropped.delete(purchaseToken);
      purchases.set(purchaseToken, { ...stored, terms: null });
      due.set(purchaseToken, null);
    },
    /** Drops the purchase: 410 from then on. */
    drop: (purchaseToken: string): void => {
      purchases.delete(purchaseToken);
      due.delete(purchaseToken);
      dropped.add(purchaseToken);
    },
    isDropped: (purchaseToken: string): boolean => dropped.has(purchaseToken),
    read: (purchaseToken: string): StoredPurchase | undefined => purchases.get(purchaseToken),
    /** @throws ImpossibleChange if there is none */
    sold: soldUnder,
    /** A subscription that is paid, and has not ended; null: there is none. */
    running: (purchaseToken: string | null | undefined): SoldSubscription | null => {
      const found = purchaseToken == null ? undefined : purchases.get(purchaseToken);
      return found?.productKind === "subscription" && isPaid(found) ? found : null;
    },
    tokens: (): readonly string[] => [...purchases.keys()],
    order: (orderId: string): Order | undefined => orders.get(orderId),
    /** Voided purchases of a package, oldest first. */
    voidedOf: (packageName: string): readonly VoidedPurchase[] =>
      voided.filter((one) => one.packageName === packageName),
    nextEvent: due.first,
    clear: (): void => {
      for (const each of [purchases, due, orders, dropped]) each.clear();
      voided.length = 0;
    },
    save: (time: Instant): z.input<typeof savedShop> => ({
      time,
      purchases: [...purchases],
      dropped: [...dropped],
      voided,
      orders: [...orders.values()],
    }),
  };
};

const newPurchaseToken = (): string =>
  `${randomBytes(12).toString("hex")}.AO-J1O${randomBytes(48).toString("base64url")}`;

export type ShopKeeping = ReturnType<typeof createShop>;

/** @param publish receives the notifications of one change or event, in order */
export const createShop = (
  now: () => Instant,
  publish: (notifications: readonly DeveloperNotification[], at: Instant) => void,
  saved: z.output<typeof savedShop> | null,
) => {
  const { keep, running, ...ledger } = createLedger(saved);
  let latest: Instant = saved?.time ?? 0;

  const time = (): Instant => (latest = Math.max(latest, now()));

  /** A paid subscription expires the one that it replaces. */
  const expireReplaced = (sold: SoldPurchase, at: Instant): DeveloperNotification[] => {
    const token = sold.productKind === "subscription" && isPaid(sold) && sold.answer.linkedPurchaseToken;
    const replaced = running(token || null);
    if (!token || replaced === null) return [];
    return keep(token, tell(expired(replaced, at, { replacementCancellation: {} }), "EXPIRED"), at);
  };

  const buy = (purchase: WantedPurchase, purchaseToken = newPurchaseToken()): string => {
    const at = time();
    const sale = sold(purchase, at, running(purchase.replaces));
    publish([...keep(purchaseToken, sale, at), ...expireReplaced(sale.sold, at)], at);
    return purchaseToken;
  };

  return {
    ...ledger,
    buy,
    /** @throws ImpossibleChange */
    change: (purchaseToken: string, { change, ...details }: RequestedAndroidChange): string => {
      const before = ledger.sold(purchaseToken);
      if (change === "replace" || change === "upgrade" || change === "top-up")
        return buy(successorOf(running(purchaseToken), purchaseToken, change, details));
      const at = time();
      const made = changed(before, change, details, at);
      const voidedAt = details.voidedAgo === undefined ? at : 2 * at - after(at, details.voidedAgo);
      publish([...keep(purchaseToken, made, at, voidedAt), ...expireReplaced(made.sold, at)], at);
      return purchaseToken;
    },
    /** The store's time, never earlier than its last event. */
    time,
    passNextEvent: (): void => {
      const next = ledger.nextEvent();
      if (next === null) return;
      latest = Math.max(latest, next.at);
      const made = afterEvent(ledger.sold(next.key), latest);
      if (made === null) ledger.drop(next.key);
      else publish(keep(next.key, made, latest), latest);
    },
    reset: (): void => {
      ledger.clear();
      latest = 0;
    },
    save: () => ledger.save(latest),
  };
};
