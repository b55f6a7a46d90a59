import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createDue } from "../../due.ts";
import { instant } from "../../fields.ts";
import { UnknownPurchase } from "../../impossible-change.ts";
import {
  developerNotification,
  type DeveloperNotification,
  type Notice,
} from "../notifications/notifications.ts";
import { voidedPurchase, type VoidedPurchase } from "../publisher-api/voided-purchases.ts";
import { nextEventOf } from "./events.ts";
import { ordersOf, savedOrders, type Order } from "./orders.ts";
import {
  isPaid,
  soldPurchase,
  type Outcome,
  type SoldPurchase,
  type SoldSubscription,
  type StoredPurchase,
} from "./purchases.ts";

export const savedShop = z.object({
  time: instant,
  purchases: z.array(z.tuple([z.string(), soldPurchase])),
  dropped: z.array(z.string()),
  voided: z.array(voidedPurchase),
  orders: savedOrders.default([]),
});

/** Purchases by purchase token, with their orders and voids. */
export const createLedger = (saved: z.output<typeof savedShop> | null) => {
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
    if (found === undefined) throw new UnknownPurchase();
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
      const voids: Notice[] = [];
      const isVoided = voided.some((one) => one.orderId === order?.orderId && one.quantity === null);
      if (order !== null && !isVoided) {
        voided.push({ packageName, purchaseToken, productKind, voidedAt, seenAt: at, ...order });
        const refund = order.quantity === null ? "full" : "quantityBasedPartial";
        voids.push({ voided: productKind, orderId: order.orderId, refund });
      }
      return [...notices, ...voids].map((notice) =>
        developerNotification(packageName, purchaseToken, notice, at),
      );
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
    /** @throws UnknownPurchase */
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
    nextEvent: () => due.first(),
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
