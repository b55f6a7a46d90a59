import type { Purchase } from "../../../lib/entitlements/purchase.ts";

import { DAY, MINUTE, HOUR } from "../../../lib/duration.ts";
import {
  aCatalog,
  aProduct,
  period,
  NOW,
  aLine,
  aPurchase,
} from "../../../testing/support/stores/purchases.ts";
import type { Dice } from "../dice.ts";

/**
 * Probabilities for each transaction or period. Of a million transactions 10,000 are refunded, 100 of those given back; 5,000
 * are upgrades, and 30,000 payments fail.
 */
export const REALISTIC = {
  refund: 0.01,
  /** Of the refunds: that it is given back. */
  takenBack: 0.01,
  upgrade: 0.005,
  failure: 0.03,
  /** Of a renewal: that it is charged ahead. */
  ahead: 0.8,
  cancellation: 0.08,
  change: 0.01,
  copy: 0.05,
  replacement: 0.01,
  pause: 0.01,
  pending: 0.01,
  /** Of the refunds of passes: that it is of some units alone. */
  share: 0.1,
};

export type Rates = Readonly<typeof REALISTIC>;

/** What is rare happens all the time. */
export const HOSTILE: Rates = {
  refund: 0.2,
  takenBack: 0.5,
  upgrade: 0.4,
  failure: 0.3,
  ahead: 0.5,
  cancellation: 0.2,
  change: 0.3,
  copy: 0.3,
  replacement: 0.3,
  pause: 0.2,
  pending: 0.2,
  share: 0.5,
};

/** Products of one subscription group, the lowest level first, and their lengths. */
export const LENGTHS = { basic: 30 * DAY, plus: 30 * DAY, year: 365 * DAY } as const;
export const PRODUCTS = ["basic", "plus", "year"] as const;
export type Product = (typeof PRODUCTS)[number];

/** Google's subscriptions: of 30 days each. */
export type GoogleProduct = "silver" | "gold" | "prepaid";

/** Passes of both stores, and the length of one. */
export const PASS_LENGTHS = { "day pass": DAY, "week pass": 7 * DAY } as const;
export type PassProduct = keyof typeof PASS_LENGTHS;

const sold = (store: "ios-store" | "android-store", productIdentifier: string, duration?: string) =>
  aProduct({
    store,
    productIdentifier,
    grants: [productIdentifier],
    accessDuration: duration === undefined ? null : period(duration),
  });

/** Each product grants an entitlement of its own name. */
const CATALOG = aCatalog([
  ...[...PRODUCTS, "lifetime"].map((product) => sold("ios-store", product)),
  ...["silver", "gold", "prepaid"].map((product) => sold("android-store", product)),
  ...(["ios-store", "android-store"] as const).flatMap((store) => [
    sold(store, "day pass", "P1D"),
    sold(store, "week pass", "P1W"),
  ]),
]);

/** The application's renewal leeway. */
export const LEEWAY = 15 * MINUTE;
export const TERMS = { catalog: CATALOG, renewalLeeway: LEEWAY };

/**
 * What the person has in a time: paid access; access that the store or the contract gives without payment (`grace`, `silent`), or may
 * give (`allowed`); or a period that is paid and has not begun (`ahead`).
 */
type Kind = "paid" | "grace" | "silent" | "allowed" | "ahead";

/** A part of the truth: half-open, for one entitlement. */
export interface Span {
  readonly kind: Kind;
  readonly entitlement: string;
  /** Transaction id or token that gives it. */
  readonly id: string;
  readonly from: number;
  readonly to: number;
  /** End that is to be shown; null: lifetime; undefined: the store does not say. */
  readonly shownEnd: number | null | undefined;
}

/** What a store signs about one transaction, or answers about one token. */
export interface Fact {
  /** Transaction id or token; empty: a renewal info. */
  readonly id: string;
  readonly purchases: readonly Purchase[];
}

/** Something that happens, and what the store tells about it by itself. */
export interface Happening {
  readonly what: "purchase" | "renewal" | "refund" | "change" | "copy" | "silent";
  readonly at: number;
  /** When the store signs it. */
  readonly signedAt: number;
  /** Transaction id or token that it is about. */
  readonly id: string;
  /** The transaction, or the answer as it is when the store is asked. */
  readonly factAt: (moment: number) => Fact;
  /** The renewal info, which says when the current period ends. */
  readonly statement: { readonly fact: Fact; readonly endsAt: number } | null;
}

/** One made-up person, whose first purchase is at `NOW`, with what was paid, and what the store says at any moment. */
export interface Life {
  readonly happenings: readonly Happening[];
  /** Whether a fact is the whole state of its id, so that a later one tells what an earlier one would have. */
  readonly isSnapshot: boolean;
  readonly truth: readonly Span[];
  /** Last moment of which the life says anything; Infinity: nothing more comes. */
  readonly horizon: number;
  /** When the last thing happens. */
  readonly last: number;
  /** The time in which a renewal may be charged, and not be told for another day: the customer stays. */
  readonly mayRenew: { readonly from: number; readonly to: number } | null;
  /** Whether something in it lasts for ever. */
  readonly lasts: boolean;
  /** The store's complete answer at a moment. */
  readonly answerAt: (moment: number) => readonly Fact[];
  /** What an app holds at a moment; with `revoked`, also what no longer entitles. */
  readonly heldAt: (moment: number, revoked: boolean) => readonly Fact[];
}

/** A life of facts that are snapshots, whose app holds what the store answers; unless stated, it ends with its last happening. */
export const lifeOf = (
  stated: Pick<Life, "happenings" | "truth" | "last" | "answerAt"> & Partial<Life>,
): Life => ({
  isSnapshot: true,
  horizon: Infinity,
  mayRenew: null,
  lasts: false,
  heldAt: stated.answerAt,
  ...stated,
  happenings: stated.happenings.toSorted((a, b) => a.at - b.at),
});

export const covers = (
  { from, to }: { readonly from: number; readonly to: number },
  moment: number,
): boolean => from <= moment && moment < to;

/** One transaction id of a non-consumable. */
interface Copy {
  readonly id: string;
  readonly purchasedAt: number;
  readonly refunds: { readonly at: number; backAt: number | null }[];
}

const factOf = ({ id, purchasedAt, refunds }: Copy, moment: number): Fact => {
  const refund = refunds.find(({ at, backAt }) => at <= moment && moment < (backAt ?? Infinity));
  const line = aLine({
    transactionIdentifier: id,
    event: "",
    productIdentifier: "lifetime",
    nature: "non_consumable",
    startsAt: NOW,
    purchasedAt,
    endsAt: null,
    revokedAt: refund?.at ?? null,
    verifiedAt: moment,
  });
  return { id, purchases: [aPurchase({ lines: [line] })] };
};

/** A person who buys a lifetime product, restores it, has it refunded, and buys it again: of one lineage. */
export const lifetimeLife = (dice: Dice): Life => {
  const copies: Copy[] = [];
  const happenings: Happening[] = [];
  const truth: Span[] = [];
  let now = NOW;
  const tell = (what: Happening["what"], copy: Copy): void => {
    const fact = factOf(copy, now);
    happenings.push({ what, at: now, signedAt: now, id: copy.id, factAt: () => fact, statement: null });
  };
  const add = (what: "purchase" | "copy"): Copy => {
    const copy: Copy = { id: String(copies.length + 1), purchasedAt: now, refunds: [] };
    copies.push(copy);
    tell(what, copy);
    return copy;
  };
  const owns = (from: number, to: number, id: string): void => {
    truth.push({ kind: "paid", entitlement: "lifetime", id, from, to, shownEnd: null });
  };
  let isOwned = false;
  for (let purchases = 1 + dice.number(3); purchases > 0 && !isOwned; purchases -= 1) {
    const bought = add("purchase");
    let since = now;
    isOwned = true;
    for (let steps = dice.number(5); steps > 0 && isOwned; steps -= 1) {
      now += dice.within(HOUR, 60 * DAY);
      if (dice.chance(0.5)) {
        add("copy");
        continue;
      }
      const refund = { at: now, backAt: null as number | null };
      bought.refunds.push(refund);
      owns(since, now, bought.id);
      tell("refund", bought);
      isOwned = dice.chance(0.4);
      if (!isOwned) continue;
      now += dice.within(HOUR, 10 * DAY);
      [since, refund.backAt] = [now, now];
      tell("refund", bought);
    }
    if (isOwned) owns(since, Infinity, bought.id);
    else now += dice.within(HOUR, 60 * DAY);
  }
  const answerAt = (moment: number): readonly Fact[] =>
    copies.filter(({ purchasedAt }) => purchasedAt <= moment).map((copy) => factOf(copy, moment));
  return lifeOf({ happenings, truth, last: now + MINUTE, lasts: isOwned, answerAt });
};
