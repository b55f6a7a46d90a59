/** Errors that an export holds about a person, and the cause that an import reports for each. */

export type Store = "ios-store" | "android-store";

/** Why an account differs, as an import finds by asking the stores. */
export const CAUSES = [
  /** The store refunded the purchase. */
  "refunded",
  /** The export says that it runs; the store, that it has ended. */
  "ended",
  /** The store retries a failed charge, with or without access. */
  "grace-or-retry",
  /** Google no longer answers about the token. */
  "dropped",
  /** The export says that it has ended; the store, that it was renewed. */
  "renewed",
  /** The row names nothing that a store could be asked about. */
  "no-token",
  "product-not-mapped",
  /** The store's own echo names another account. */
  "swapped-account",
  /** The files name two accounts for one lineage. */
  "two-accounts",
] as const;
export type Cause = (typeof CAUSES)[number];

interface Plant {
  /** Undefined: either store. */
  readonly store?: Store;
  /** Null: the import reads through it, and reports nothing. */
  readonly cause: Cause | null;
  /** Only exports that claim a state or an end show it. */
  readonly isOfState?: true;
  /** Share of the persons; default of `sellPersons`. */
  readonly share: number;
}

export const LIES = {
  /** The export's end is later than the store's, which has passed. */
  "wrong-end": { cause: "ended", isOfState: true, share: 0.01 },
  "renewal-unseen": { cause: "renewed", isOfState: true, share: 0.01 },
  "refund-unseen": { cause: "refunded", isOfState: true, share: 0.01 },
  "grace-unseen": { cause: "grace-or-retry", isOfState: true, share: 0.01 },
  "retry-unseen": { cause: "grace-or-retry", isOfState: true, share: 0.01 },
  /** Two persons have each other's account. */
  "swapped-account": { cause: "swapped-account", share: 0.01 },
  "two-accounts": { store: "ios-store", cause: "two-accounts", share: 0.005 },
  /** 410. */
  "dropped-token": { store: "android-store", cause: "dropped", share: 0.01 },
  /** 404. */
  "forgotten-token": { store: "android-store", cause: "dropped", share: 0.005 },
  "no-token": { cause: "no-token", share: 0.005 },
  "product-not-mapped": { cause: "product-not-mapped", share: 0.005 },
  /** The first of several aliases is not the account; older rows have an anonymous one. */
  "alias-chain": { cause: null, share: 0.02 },
  /** Every alias is `$RCAnonymousID:…`: an account of nobody's. */
  anonymous: { cause: null, share: 0.03 },
  "order-id-only": { store: "android-store", cause: null, share: 0.02 },
  sandbox: { cause: null, share: 0.02 },
  /** Older rows name another account and another end; without a time of update, the row is there twice. */
  "repeated-rows": { cause: null, share: 0.02 },
} as const satisfies Record<string, Plant>;
export type Lie = keyof typeof LIES;

export const plantOf = (lie: Lie): Plant => LIES[lie];

const isLie = (name: string): name is Lie => Object.hasOwn(LIES, name);
export const LIE_NAMES: readonly Lie[] = Object.keys(LIES).filter(isLie);
