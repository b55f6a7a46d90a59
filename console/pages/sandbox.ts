import { decodeJwt } from "jose";
import * as z from "zod/mini";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { type Answer, get, post } from "../server.ts";

/** What can happen to a purchase in each store, in words. */
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

/** Whether a change needs another product. */
export const needsProduct = (change: string): boolean => ["upgrade", "downgrade", "replace"].includes(change);

export const changesOf = (store: Store): readonly (readonly [change: string, words: string])[] =>
  Object.entries(CHANGES[store]);

export interface SoldPurchase {
  readonly store: Store;
  /** Path to change it at. */
  readonly path: string;
  readonly name: string;
  readonly products: readonly string[];
}

const iosSold = z.object({ purchases: z.array(z.object({ signedTransactions: z.array(z.string()) })) });
const iosTransaction = z.object({ originalTransactionId: z.string(), productId: z.string() });

const items = z._default(z.array(z.object({ productId: z.string() })), []);
const androidSold = z.object({
  purchases: z.array(
    z.object({
      purchaseToken: z.string(),
      purchase: z.object({ lineItems: items, productLineItem: items }),
    }),
  ),
});

/** @param sold products bought under each name */
const purchasesOf = (
  store: Store,
  prefix: string,
  sold: ReadonlyMap<string, readonly { readonly productId: string }[]>,
): readonly SoldPurchase[] =>
  [...sold].map(([name, items]) => ({
    store,
    path: `${prefix}/purchases/${encodeURIComponent(name)}`,
    name,
    products: [...new Set(items.map(({ productId }) => productId))],
  }));

const iosPurchases = async ({ iosStorePath }: ConsoleSandbox) => {
  const { purchases } = iosSold.parse(await get(`${iosStorePath}/purchases`));
  const transactions = purchases
    .flatMap(({ signedTransactions }) => signedTransactions)
    .map((jws) => iosTransaction.parse(decodeJwt(jws)));
  const lineages = Map.groupBy(transactions, ({ originalTransactionId }) => originalTransactionId);
  return purchasesOf("ios-store", iosStorePath, lineages);
};

const androidPurchases = async ({ androidStorePath }: ConsoleSandbox) => {
  const { purchases } = androidSold.parse(await get(`${androidStorePath}/purchases`));
  const itemsOf = purchases.map(
    ({ purchaseToken, purchase: { lineItems, productLineItem } }) =>
      [purchaseToken, [...lineItems, ...productLineItem]] as const,
  );
  return purchasesOf("android-store", androidStorePath, new Map(itemsOf));
};

export const soldPurchases = async (sandbox: ConsoleSandbox): Promise<readonly SoldPurchase[]> => {
  const [ios, android] = await Promise.all([
    iosPurchases(sandbox),
    androidPurchases(sandbox).catch(() => []),
  ]);
  return [...android, ...ios].toReversed();
};

/** The app transaction id of the one person who uses an account, so that a second purchase is the same person's. */
const personOf = async (account: string): Promise<string> => {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(account));
  return `7${new DataView(hash).getBigUint64(0).toString().padStart(20, "0").slice(-17)}`;
};

type Application = Answer<"application">;
type Product = Application["products"][number];

/** `period` empty: it is bought once. */
type Terms = Readonly<Record<"account" | "period" | "environment", string>>;

/** Buys in the store; resolves with the request that links it. */
const buy = async (
  { iosStorePath, androidStorePath }: ConsoleSandbox,
  { iosStore, androidStore }: Application,
  { store, productIdentifier, basePlanIdentifier }: Product,
  { account: applicationAccountIdentifier, period, environment }: Terms,
): Promise<unknown> => {
  if (store === "ios-store")
    return post(`${iosStorePath}/purchases`, {
      bundleIdentifier: iosStore[0]?.bundleIdentifier,
      environment,
      appTransactionIdentifier: await personOf(applicationAccountIdentifier),
      applicationAccountIdentifier,
      transactions: [{ productIdentifier, ...(period === "" ? { type: "Non-Consumable" } : { period }) }],
    });
  const packageName = androidStore[0]?.packageName;
  const product =
    period === ""
      ? { packageName, productKind: "one_time_product", productIdentifier }
      : { packageName, productKind: "subscription" };
  const sold = await post(`${androidStorePath}/purchases`, {
    ...product,
    productIdentifier,
    ...(period !== "" && { basePlanIdentifier: basePlanIdentifier ?? "monthly", period }),
  });
  const { purchaseToken } = z.object({ purchaseToken: z.string() }).parse(sold);
  return { ...product, purchaseToken, applicationAccountIdentifier };
};

export const buyAndLink = async (
  sandbox: ConsoleSandbox,
  application: Application,
  product: Product,
  terms: Terms,
): Promise<unknown> =>
  post(`/v1/customers/${product.store}/link`, await buy(sandbox, application, product, terms), {
    Authorization: `Bearer ${sandbox.apiKey}`,
  });

export const change = async (purchase: SoldPurchase, what: string, productIdentifier: string) =>
  post(purchase.path, { change: what, ...(needsProduct(what) && { productIdentifier }) });

export const readClock = async ({ clockPath }: ConsoleSandbox): Promise<string> =>
  z.object({ now: z.string() }).parse(await get(clockPath)).now;
