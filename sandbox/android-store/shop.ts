import { randomBytes } from "node:crypto";
import type { Instant } from "../../lib/entitlements/time.ts";
import { changedOneTimePurchase, changedSubscription, ImpossibleChange, type Change } from "./changes.ts";
import {
  isPaid,
  newOneTimePurchase,
  newSubscription,
  periodOf,
  type SandboxPurchase,
  type StoredPurchase,
} from "./purchases.ts";

/** Purchases that the store has sold, by purchase token. */
export interface Shop {
  /** Creates a purchase and returns its token. */
  buy(purchase: SandboxPurchase): string;
  /** Stores an API response unchanged. */
  put(purchaseToken: string, stored: StoredPurchase): void;
  read(purchaseToken: string): StoredPurchase | undefined;
  change(purchaseToken: string, change: Change, period?: string): void;
  /** The store drops the purchase: 410 from then on. */
  drop(purchaseToken: string): void;
  isDropped(purchaseToken: string): boolean;
  tokens(): readonly string[];
}

export const createShop = (now: () => Instant): Shop => {
  const purchases = new Map<string, StoredPurchase>();
  const dropped = new Set<string>();

  /** Stores a purchase. A paid subscription expires the one that it replaces. */
  const store = (purchaseToken: string, stored: StoredPurchase): void => {
    purchases.set(purchaseToken, stored);
    if (stored.productKind !== "subscription" || !isPaid(stored)) return;
    const { linkedPurchaseToken } = stored.answer;
    const replaced = linkedPurchaseToken == null ? undefined : purchases.get(linkedPurchaseToken);
    if (linkedPurchaseToken != null && replaced !== undefined && isPaid(replaced))
      change(linkedPurchaseToken, "expire");
  };

  const buy = (purchase: SandboxPurchase): string => {
    const purchaseToken = `${randomBytes(12).toString("hex")}.AO-J1O${randomBytes(48).toString("base64url")}`;
    const { packageName, productKind } = purchase;
    store(
      purchaseToken,
      productKind === "subscription"
        ? { packageName, productKind, answer: newSubscription(purchase, now()) }
        : { packageName, productKind, answer: newOneTimePurchase(purchase, now()) },
    );
    return purchaseToken;
  };

  const change = (purchaseToken: string, change: Change, period = "P1M"): void => {
    const stored = purchases.get(purchaseToken);
    if (stored === undefined) throw new ImpossibleChange("There is no such purchase.");
    const length = periodOf(period);
    store(
      purchaseToken,
      stored.productKind === "subscription"
        ? { ...stored, answer: changedSubscription(stored.answer, change, length, now()) }
        : { ...stored, answer: changedOneTimePurchase(stored.answer, change, now()) },
    );
  };

  const drop = (purchaseToken: string): void => {
    purchases.delete(purchaseToken);
    dropped.add(purchaseToken);
  };

  return {
    buy,
    put: (purchaseToken, stored) => {
      dropped.delete(purchaseToken);
      purchases.set(purchaseToken, stored);
    },
    read: (purchaseToken) => purchases.get(purchaseToken),
    change,
    drop,
    isDropped: (purchaseToken) => dropped.has(purchaseToken),
    tokens: () => [...purchases.keys()],
  };
};
