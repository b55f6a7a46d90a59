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

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const payloadOf = (jws: unknown): Readonly<Record<string, unknown>> => {
  const part = String(jws).split(".")[1] ?? "";
  const binary = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return record(JSON.parse(new TextDecoder().decode(bytes)));
};

const iosPurchases = async ({ iosStorePath }: ConsoleSandbox): Promise<readonly SoldPurchase[]> => {
  const { purchases } = record(await get(`${iosStorePath}/purchases`));
  return list(purchases).flatMap((person) => {
    const payloads = list(record(person)["signedTransactions"]).map(payloadOf);
    const lineages = Map.groupBy(payloads, ({ originalTransactionId }) => String(originalTransactionId));
    return [...lineages].map(([lineage, transactions]) => ({
      store: "ios-store" as const,
      path: `${iosStorePath}/purchases/${encodeURIComponent(lineage)}`,
      name: lineage,
      products: [...new Set(transactions.map(({ productId }) => String(productId)))],
    }));
  });
};

const androidPurchases = async ({ androidStorePath }: ConsoleSandbox): Promise<readonly SoldPurchase[]> => {
  const { purchases } = record(await get(`${androidStorePath}/purchases`));
  return list(purchases).map((one) => {
    const { purchaseToken, purchase } = record(one);
    const { lineItems, productLineItem } = record(purchase);
    const items = [...list(lineItems), ...list(productLineItem)].map(record);
    return {
      store: "android-store" as const,
      path: `${androidStorePath}/purchases/${encodeURIComponent(String(purchaseToken))}`,
      name: String(purchaseToken),
      products: [...new Set(items.map(({ productId }) => String(productId)))],
    };
  });
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
  readonly store: "ios-store" | "android-store";
  readonly productIdentifier: string;
  readonly basePlanIdentifier: string;
  /** Duration of a subscription's period; empty: it is bought once. */
  readonly period: string;
  readonly environment: "production" | "sandbox";
  readonly account: string;
}

const link = async ({ apiKey }: ConsoleSandbox, store: Wanted["store"], body: object) =>
  post(`/v1/customers/${store}/link`, body, { Authorization: `Bearer ${apiKey}` });

export const buyAndLink = async (
  sandbox: ConsoleSandbox,
  apps: { readonly bundleIdentifier: string; readonly packageName: string },
  { store, productIdentifier, basePlanIdentifier, period, environment, account }: Wanted,
): Promise<unknown> => {
  if (store === "ios-store") {
    const bought = await post(`${sandbox.iosStorePath}/purchases`, {
      bundleIdentifier: apps.bundleIdentifier,
      environment,
      appTransactionIdentifier: await personOf(account),
      applicationAccountIdentifier: account,
      transactions: [{ productIdentifier, ...(period === "" ? { type: "Non-Consumable" } : { period }) }],
    });
    return link(sandbox, store, record(bought));
  }
  const productKind = period === "" ? "one_time_product" : "subscription";
  const sold = await post(`${sandbox.androidStorePath}/purchases`, {
    packageName: apps.packageName,
    productKind,
    productIdentifier,
    ...(period !== "" && { basePlanIdentifier, period }),
  });
  return link(sandbox, store, {
    packageName: apps.packageName,
    purchaseToken: record(sold)["purchaseToken"],
    productKind,
    ...(period === "" && { productIdentifier }),
    applicationAccountIdentifier: account,
  });
};

export const change = async (purchase: SoldPurchase, what: string, productIdentifier: string) =>
  post(purchase.path, { change: what, ...(needsProduct(what) && { productIdentifier }) });

export const readClock = async ({ clockPath }: ConsoleSandbox): Promise<string> =>
  String(record(await get(clockPath))["now"]);

/** Moves the clock ahead by an ISO 8601 duration, or resets the local run. */
export const moveClock = async (
  { clockPath }: ConsoleSandbox,
  move: { readonly advance: string } | { readonly reset: true },
) => post(clockPath, move);
