import { decodeJwt } from "jose";
import * as z from "zod/mini";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { type Answer, get, post } from "../server.ts";

type Store = keyof ConsoleSandbox["changes"];

/** Whether a change needs another product. */
export const needsProduct = (change: string): boolean => ["upgrade", "downgrade", "replace"].includes(change);

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
