import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createDue } from "../../due.ts";
import { instant } from "../../fields.ts";
import { ImpossibleChange, UnknownPurchase } from "../../impossible-change.ts";
import {
  developerNotification,
  type DeveloperNotification,
  type Notice,
} from "../notifications/notifications.ts";
import { voidedPurchase, type VoidedPurchase } from "../publisher-api/voided-purchases.ts";
import type { AndroidChange, ChangeDetails } from "./changes.ts";
import { afterEvent, nextEventOf } from "./events.ts";
import { ONE_TIME_STEPS } from "./one-time-changes.ts";
import { createOrders, savedOrders } from "./orders.ts";
import {
  ACKNOWLEDGED,
  after,
  isPaid,
  outcome,
  soldPurchase,
  type SandboxPurchase,
  type SoldPurchase,
  type SoldSubscription,
  type StoredPurchase,
  type Outcome,
} from "./purchases.ts";
import { sold, successorOf } from "./sale.ts";
import { SUBSCRIPTION_STEPS } from "./subscription-changes.ts";
import { expired, stateOf, tell } from "./subscription-states.ts";

export const savedShop = z.object({
  time: instant,
  purchases: z.array(z.tuple([z.string(), soldPurchase])),
  dropped: z.array(z.string()),
  voided: z.array(voidedPurchase),
  orders: savedOrders.default([]),
});

const newPurchaseToken = (): string =>
  `${randomBytes(12).toString("hex")}.AO-J1O${randomBytes(48).toString("base64url")}`;

/** @throws ImpossibleChange */
const acknowledged = (sold: SoldPurchase): Outcome => {
  const answer = { ...sold.answer, acknowledgementState: ACKNOWLEDGED };
  if (!isPaid(sold) || sold.answer.acknowledgementState === ACKNOWLEDGED)
    throw new ImpossibleChange("The purchase does not wait to be acknowledged.");
  return outcome({ ...sold, answer } as SoldPurchase);
};

/** @throws ImpossibleChange */
const changed = (
  before: SoldPurchase,
  change: AndroidChange,
  details: ChangeDetails,
  at: Instant,
): Outcome => {
  if (change === "acknowledge") return acknowledged(before);
  const isSubscription = before.productKind === "subscription";
  const state = stateOf(before);
  const wasPaid = isSubscription ? !state.startsWith("PENDING") : state === "PURCHASED";
  const isAllowed = change === "complete" || change === "decline" ? state === "PENDING" : wasPaid;
  if (!isAllowed)
    throw new ImpossibleChange(`The change is not possible for a purchase in ${state || "no state"}.`);
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

  const soldUnder = (purchaseToken: string): SoldPurchase => {
    const found = purchases.get(purchaseToken);
    if (found === undefined) throw new UnknownPurchase();
    return found;
  };
  const running = (purchaseToken: string | null | undefined): SoldSubscription | null => {
    const found = purchaseToken == null ? undefined : purchases.get(purchaseToken);
    return found?.productKind === "subscription" && isPaid(found) ? found : null;
  };

  /** Stores an outcome, and returns its notifications. */
  const keep = (
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
  };

  /** A paid subscription expires the one that it replaces. */
  const expireReplaced = (sold: SoldPurchase, at: Instant): DeveloperNotification[] => {
    const token = sold.productKind === "subscription" && isPaid(sold) && sold.answer.linkedPurchaseToken;
    const replaced = running(token || null);
    if (!token || replaced === null) return [];
    return keep(token, tell(expired(replaced, at, { replacementCancellation: {} }), "EXPIRED"), at);
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
    const before = soldUnder(purchaseToken);
    const at = time();
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
    read: (purchaseToken: string): StoredPurchase | undefined => purchases.get(purchaseToken),
    /** @throws UnknownPurchase */
    sold: soldUnder,
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
    nextEventAt: (): Instant | null => due.first()?.at ?? null,
    passNextEvent: (): void => {
      const next = due.first();
      if (next === null) return;
      latest = Math.max(latest, next.at);
      const made = afterEvent(soldUnder(next.key), latest);
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
