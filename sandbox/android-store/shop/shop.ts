import { randomBytes } from "node:crypto";
import * as z from "zod";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { createDue } from "../../due.ts";
import type { AndroidChange, ChangeDetails } from "./changes.ts";
import { afterEvent, nextEventOf } from "./events.ts";
import { developerNotification, type DeveloperNotification } from "../notifications/notifications.ts";
import { ONE_TIME_STEPS } from "./one-time-changes.ts";
import { createOrders, savedOrders } from "./orders.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import {
  ACKNOWLEDGED,
  acknowledged,
  after,
  isPaid,
  soldPurchase,
  type SandboxPurchase,
  type SoldPurchase,
  type SoldSubscription,
  type StoredPurchase,
  type Outcome,
} from "./purchases.ts";
import { REFUNDS } from "./refunds.ts";
import { sold, successorOf } from "./sale.ts";
import { SUBSCRIPTION_STEPS } from "./subscription-changes.ts";
import { expired, stateOf, tell } from "./subscription-states.ts";
import { voidedPurchase, type VoidedPurchase } from "../publisher-api/voided-purchases.ts";

export const savedShop = z.object({
  time: z.number().refine(isInstant),
  purchases: z.array(z.tuple([z.string(), soldPurchase])),
  dropped: z.array(z.string()),
  voided: z.array(voidedPurchase),
  orders: savedOrders.default([]),
});

const newPurchaseToken = (): string =>
  `${randomBytes(12).toString("hex")}.AO-J1O${randomBytes(48).toString("base64url")}`;

const isRefund = (change: AndroidChange): change is keyof typeof REFUNDS => Object.hasOwn(REFUNDS, change);

/** @throws ImpossibleChange */
const changed = (
  before: SoldPurchase,
  change: AndroidChange,
  details: ChangeDetails,
  at: Instant,
): Outcome => {
  const isSubscription = before.productKind === "subscription";
  const state = stateOf(before);
  const wasPaid = isSubscription ? !state.startsWith("PENDING") : state === "PURCHASED";
  const isAllowed = change === "complete" || change === "decline" ? state === "PENDING" : wasPaid;
  if (!isAllowed)
    throw new ImpossibleChange(`The change is not possible for a purchase in ${state || "no state"}.`);
  if (isRefund(change)) return REFUNDS[change](before, at);
  const made = isSubscription
    ? SUBSCRIPTION_STEPS[change]?.(before, details, at)
    : ONE_TIME_STEPS[change]?.(before, details, at);
  if (made === undefined)
    throw new ImpossibleChange(`The change is not possible for a ${before.productKind}.`);
  return made;
};

export type ShopKeeping = ReturnType<typeof createShop>;

/**
 * Purchases that the store has sold, by purchase token.
 *
 * @param publish receives the notifications of one change or event, in order
 */
export const createShop = (
  now: () => Instant,
  publish: (notifications: readonly unknown[], at: Instant) => void,
  saved: z.output<typeof savedShop> | null,
) => {
  const purchases = new Map<string, SoldPurchase>();
  const due = createDue();
  const orders = createOrders(saved?.orders ?? []);
  const dropped = new Set<string>(saved?.dropped);
  const voided: VoidedPurchase[] = [...(saved?.voided ?? [])];
  let latest: Instant = saved?.time ?? 0;

  const time = (): Instant => (latest = Math.max(latest, now()));

  const store = (purchaseToken: string, sold: SoldPurchase, at: Instant): void => {
    purchases.set(purchaseToken, sold);
    due.set(purchaseToken, nextEventOf(sold));
    orders.keep(purchaseToken, sold, at);
  };
  for (const [purchaseToken, sold] of saved?.purchases ?? []) store(purchaseToken, sold, latest);

  /** Stores an outcome, and returns its notifications. */
  const keep = (
    purchaseToken: string,
    { sold, notices, voided: order }: Outcome,
    at: Instant,
    voidedAt = at,
  ): DeveloperNotification[] => {
    const { packageName, productKind } = sold;
    store(purchaseToken, sold, at);
    const told = [...notices];
    const known = voided.some((one) => one.orderId === order?.orderId && one.quantity === null);
    if (order !== null && !known) {
      voided.push({ packageName, purchaseToken, productKind, voidedAt, seenAt: at, ...order });
      told.push({
        voided: productKind,
        orderId: order.orderId,
        refund: order.quantity === null ? "full" : "quantityBasedPartial",
      });
    }
    return told.map((notice) => developerNotification(packageName, purchaseToken, notice, at));
  };

  /** A paid subscription expires the one that it replaces. */
  const expireReplaced = (sold: SoldPurchase, at: Instant): DeveloperNotification[] => {
    if (sold.productKind !== "subscription" || !isPaid(sold)) return [];
    const token = sold.answer.linkedPurchaseToken;
    const replaced = token == null ? undefined : purchases.get(token);
    if (token == null || replaced?.productKind !== "subscription" || !isPaid(replaced)) return [];
    return keep(token, tell(expired(replaced, at, { replacementCancellation: {} }), "EXPIRED"), at);
  };

  const running = (purchaseToken: string | undefined): SoldSubscription | null => {
    const sold = purchaseToken === undefined ? undefined : purchases.get(purchaseToken);
    return sold?.productKind === "subscription" && isPaid(sold) ? sold : null;
  };

  /** Creates a purchase, under a new token unless one is given, and returns its token. */
  const buy = (purchase: SandboxPurchase, purchaseToken = newPurchaseToken()): string => {
    const at = time();
    const sale = sold(purchase, at, running(purchase.replaces));
    publish([...keep(purchaseToken, sale, at), ...expireReplaced(sale.sold, at)], at);
    return purchaseToken;
  };

  /**
   * @returns the token of the changed purchase, or of the one that took its place
   * @throws ImpossibleChange
   */
  const change = (purchaseToken: string, change: AndroidChange, details: ChangeDetails = {}): string => {
    if (change === "replace" || change === "upgrade" || change === "top-up")
      return buy(successorOf(running(purchaseToken), purchaseToken, change, details));
    const before = purchases.get(purchaseToken);
    if (before === undefined) throw new ImpossibleChange("There is no such purchase.");
    const at = time();
    if (change === "acknowledge") {
      if (!isPaid(before) || before.answer.acknowledgementState === ACKNOWLEDGED)
        throw new ImpossibleChange("The purchase does not wait to be acknowledged.");
      store(purchaseToken, acknowledged(before), at);
      return purchaseToken;
    }
    const made = changed(before, change, details, at);
    const voidedAt = details.voidedAgo === undefined ? at : 2 * at - after(at, details.voidedAgo);
    publish([...keep(purchaseToken, made, at, voidedAt), ...expireReplaced(made.sold, at)], at);
    return purchaseToken;
  };

  /** Drops the purchase: 410 from then on. */
  const drop = (purchaseToken: string): void => {
    purchases.delete(purchaseToken);
    due.delete(purchaseToken);
    dropped.add(purchaseToken);
  };

  return {
    buy,
    /** Stores an API response unchanged, whatever it is. It never changes by itself, and has no orders. */
    put: (purchaseToken: string, stored: StoredPurchase): void => {
      dropped.delete(purchaseToken);
      purchases.set(purchaseToken, { ...stored, terms: null });
      due.set(purchaseToken, null);
    },
    read: (purchaseToken: string): StoredPurchase | undefined => {
      const sold = purchases.get(purchaseToken);
      if (sold === undefined) return undefined;
      const { terms: _, ...stored } = sold;
      return stored;
    },
    change,
    drop,
    isDropped: (purchaseToken: string): boolean => dropped.has(purchaseToken),
    tokens: (): readonly string[] => [...purchases.keys()],
    order: orders.find,
    /** Voided purchases of a package, oldest first. */
    voidedOf: (packageName: string): readonly VoidedPurchase[] =>
      voided.filter((one) => one.packageName === packageName),
    /** The store's time, never earlier than its last event. */
    time,
    passTime: (moment: Instant): void => {
      latest = Math.max(latest, moment);
    },
    nextEventAt: (): Instant | null => due.first()?.at ?? null,
    /** Runs the earliest event due by the given time. */
    makeNextHappen: (moment: Instant): void => {
      const next = due.first();
      const sold = next === null ? undefined : purchases.get(next.key);
      if (next === null || sold === undefined || next.at > moment) return;
      latest = Math.max(latest, next.at);
      const made = afterEvent(sold, latest);
      if (made === null) drop(next.key);
      else publish(keep(next.key, made, latest), latest);
    },
    reset: (): void => {
      for (const kept of [purchases, due, orders, dropped]) kept.clear();
      voided.length = 0;
      latest = 0;
    },
    save: (): z.input<typeof savedShop> => ({
      time: latest,
      purchases: [...purchases],
      dropped: [...dropped],
      voided,
      orders: orders.save(),
    }),
  };
};
