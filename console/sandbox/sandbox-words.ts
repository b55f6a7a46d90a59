export const CHANGES = {
  "ios-store": {
    renew: "the next period is paid",
    "renew-ahead": "the next period is charged a day before it begins",
    cancel: "the customer cancels the renewal",
    resume: "the customer takes the cancellation back",
    "fail-billing": "the next payment fails",
    recover: "the failed payment succeeds",
    expire: "it ends now",
    refund: "it is refunded, and access ends",
    "reverse-refund": "the refund is taken back",
    extend: "the period is made a week longer",
    "price-increase": "the customer is asked to agree to a higher price",
    resubscribe: "the customer buys it again after its end",
    restore: "another device restores the purchase",
    "share-with-family": "it is shared with a family member",
    unshare: "the sharing ends",
    upgrade: "another product begins now",
    downgrade: "another product begins with the next period",
  },
  "android-store": {
    renew: "the next period is paid",
    cancel: "the customer cancels the renewal",
    restart: "the customer takes the cancellation back",
    "fail-billing": "the next payment fails",
    recover: "the failed payment succeeds",
    grace: "a payment fails now: grace period of a month",
    hold: "a payment fails now: access ends until it is paid",
    pause: "the customer pauses it for a month",
    resume: "the pause ends",
    expire: "it ends now",
    defer: "the developer makes the period longer",
    refund: "it is refunded, and access ends",
    revoke: "it is revoked, and access ends",
    "refund-partly": "some of a quantity are refunded",
    "refund-without-revocation": "it is refunded, and access stays",
    "void-order": "the bank takes the payment back (chargeback)",
    complete: "a pending purchase is paid",
    decline: "a pending purchase is declined",
    consume: "the app uses it up",
    replace: "another product takes its place",
    upgrade: "another product takes its place, as an upgrade",
  },
} as const;

type Store = keyof typeof CHANGES;

/** Changes that need another product. */
const WITH_PRODUCT: ReadonlySet<string> = new Set(["upgrade", "downgrade", "replace"]);

export const needsProduct = (change: string): boolean => WITH_PRODUCT.has(change);

export const changesOf = (store: Store): readonly (readonly [change: string, words: string])[] =>
  Object.entries(CHANGES[store]);
