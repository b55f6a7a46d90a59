import { randomBytes } from "node:crypto";
import type * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { DeveloperNotification } from "../notifications/notifications.ts";
import type { AndroidChange, ChangeDetails, RequestedAndroidChange } from "./changes.ts";
import { afterEvent } from "./events.ts";
import { createLedger, type savedShop } from "./ledger.ts";
import { ONE_TIME_STEPS } from "./one-time-changes.ts";
import {
  ACKNOWLEDGED,
  after,
  isPaid,
  outcome,
  type Outcome,
  type SoldPurchase,
  type WantedPurchase,
} from "./purchases.ts";
import { sold, successorOf } from "./sale.ts";
import { SUBSCRIPTION_STEPS } from "./subscription-changes.ts";
import { expired, stateOf, tell } from "./subscription-states.ts";

const newPurchaseToken = (): string =>
  `${randomBytes(12).toString("hex")}.AO-J1O${randomBytes(48).toString("base64url")}`;

/** @throws ImpossibleChange */
const acknowledged = (sold: SoldPurchase): Outcome => {
  if (!isPaid(sold) || sold.answer.acknowledgementState === ACKNOWLEDGED)
    throw new ImpossibleChange("The purchase does not wait to be acknowledged.");
  const answer = { ...sold.answer, acknowledgementState: ACKNOWLEDGED };
  // Google leaves out of an acknowledged purchase that it was bought outside the app.
  if ("outOfAppPurchaseContext" in answer) delete answer.outOfAppPurchaseContext;
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
    nextEventAt: (): Instant | null => ledger.nextEvent()?.at ?? null,
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
