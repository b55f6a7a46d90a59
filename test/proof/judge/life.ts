import type { Purchase } from "../../../lib/entitlements/purchase.ts";

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
