import { decodeJwt } from "jose";
import * as z from "zod/mini";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { needsProduct } from "./sandbox-words.ts";
import { get, post } from "../server.ts";

export interface SoldPurchase {
  readonly store: "ios-store" | "android-store";
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
  store: SoldPurchase["store"],
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

export interface Wanted {
  readonly store: SoldPurchase["store"];
  /** The application's bundle and package. */
  readonly bundleIdentifier: string;
  readonly packageName: string;
  readonly productIdentifier: string;
  readonly basePlanIdentifier: string;
  /** Duration of a subscription's period; empty: it is bought once. */
  readonly period: string;
  readonly environment: "production" | "sandbox";
  readonly account: string;
}

/** Buys in the store; resolves with the request that links it. */
const buy = async ({ iosStorePath, androidStorePath }: ConsoleSandbox, wanted: Wanted): Promise<unknown> => {
  const { bundleIdentifier, packageName, productIdentifier, basePlanIdentifier, period } = wanted;
  const { environment, account: applicationAccountIdentifier } = wanted;
  if (wanted.store === "ios-store")
    return post(`${iosStorePath}/purchases`, {
      bundleIdentifier,
      environment,
      appTransactionIdentifier: await personOf(wanted.account),
      applicationAccountIdentifier,
      transactions: [{ productIdentifier, ...(period === "" ? { type: "Non-Consumable" } : { period }) }],
    });
  const product =
    period === ""
      ? { packageName, productKind: "one_time_product", productIdentifier }
      : { packageName, productKind: "subscription" };
  const sold = await post(`${androidStorePath}/purchases`, {
    ...product,
    productIdentifier,
    ...(period !== "" && { basePlanIdentifier, period }),
  });
  const { purchaseToken } = z.object({ purchaseToken: z.string() }).parse(sold);
  return { ...product, purchaseToken, applicationAccountIdentifier };
};

export const buyAndLink = async (sandbox: ConsoleSandbox, wanted: Wanted): Promise<unknown> =>
  post(`/v1/customers/${wanted.store}/link`, await buy(sandbox, wanted), {
    Authorization: `Bearer ${sandbox.apiKey}`,
  });

export const change = async (purchase: SoldPurchase, what: string, productIdentifier: string) =>
  post(purchase.path, { change: what, ...(needsProduct(what) && { productIdentifier }) });

export const readClock = async ({ clockPath }: ConsoleSandbox): Promise<string> =>
  z.object({ now: z.string() }).parse(await get(clockPath)).now;
