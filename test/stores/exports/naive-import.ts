import { createHash } from "node:crypto";
import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { AndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import type { Cause, Planted } from "../../../sandbox/exports/exports.ts";
import type { IosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import type { ReadRow } from "./read-export.ts";

/** The plainest import: reads rows, looks into the stores, and names why accounts differ. */

/** What a row says, in any format. */
export interface Said {
  readonly account: string;
  /** Transaction id, order id or token; empty: none. */
  readonly identifier: string;
  readonly product: string;
  /** Null: the format claims no state. */
  readonly isActive: boolean | null;
}

/** A purchase as its store knows it. */
interface Known {
  /** One lineage has one name, whichever identifier a row has. */
  readonly lineage: string;
  readonly isActive: boolean;
  /** Why it is inactive, or active against expectation. */
  readonly reason: Cause;
  readonly echo: string | null;
}

export type LookUp = (identifier: string) => Known | undefined;

const transaction = z.object({
  transactionId: z.string(),
  originalTransactionId: z.string(),
  expiresDate: z.number().optional(),
  revocationDate: z.number().optional(),
  appAccountToken: z.string().optional(),
});
const renewalInfo = z.object({
  isInBillingRetryPeriod: z.boolean().optional(),
  gracePeriodExpiresDate: z.number().optional(),
});

const payloadOf = (jws: string): unknown =>
  JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString("utf8"));

const iosKnown = (
  signedTransactions: readonly string[],
  [signedRenewalInfo]: readonly string[],
  at: Instant,
): readonly (readonly [string, Known])[] => {
  const transactions = signedTransactions.map((jws) => transaction.parse(payloadOf(jws)));
  const renewal = renewalInfo.parse(signedRenewalInfo === undefined ? {} : payloadOf(signedRenewalInfo));
  const latest = transactions.at(-1);
  if (latest === undefined) return [];
  const { originalTransactionId: lineage, expiresDate = Infinity, revocationDate, appAccountToken } = latest;
  const isGraced = (renewal.gracePeriodExpiresDate ?? 0) > at;
  const isRetried = renewal.isInBillingRetryPeriod === true;
  const reason = (): Cause => {
    if (revocationDate !== undefined) return "refunded";
    if (isGraced || isRetried) return "grace-or-retry";
    return expiresDate > at ? "renewed" : "ended";
  };
  const known = {
    lineage,
    isActive: revocationDate === undefined && (expiresDate > at || isGraced),
    reason: reason(),
    echo: appAccountToken ?? null,
  };
  return transactions.flatMap(({ transactionId, originalTransactionId }) => [
    [transactionId, known] as const,
    [originalTransactionId, known] as const,
  ]);
};

const ANDROID: Readonly<Record<string, Pick<Known, "isActive" | "reason">>> = {
  SUBSCRIPTION_STATE_ACTIVE: { isActive: true, reason: "renewed" },
  SUBSCRIPTION_STATE_CANCELED: { isActive: true, reason: "renewed" },
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: { isActive: true, reason: "grace-or-retry" },
  SUBSCRIPTION_STATE_ON_HOLD: { isActive: false, reason: "grace-or-retry" },
  SUBSCRIPTION_STATE_EXPIRED: { isActive: false, reason: "ended" },
  PURCHASED: { isActive: true, reason: "renewed" },
  CANCELLED: { isActive: false, reason: "refunded" },
};

const saved = z.object({
  shop: z.object({ orders: z.array(z.object({ orderId: z.string(), purchaseToken: z.string() })) }),
});

/** Looks purchases up by transaction id, original transaction id, order id or token. */
export const lookUpIn = async (
  ios: IosStoreSandbox,
  android: AndroidPublisherSandbox,
  at: Instant,
): Promise<LookUp> => {
  const transactions = new Map(
    (await ios.readAll()).flatMap(({ signedTransactions, signedRenewalInfos }) =>
      iosKnown(signedTransactions, signedRenewalInfos, at),
    ),
  );
  const { shop } = saved.parse(JSON.parse(android.save()));
  const tokens = new Map(shop.orders.map(({ orderId, purchaseToken }) => [orderId, purchaseToken]));
  return (identifier) => {
    const found = transactions.get(identifier);
    if (found !== undefined) return found;
    const token = tokens.get(identifier) ?? identifier;
    const stored = android.read(token);
    if (stored === undefined) return undefined;
    const { answer } = stored;
    const state =
      stored.productKind === "subscription"
        ? stored.answer.subscriptionState
        : stored.answer.purchaseStateContext?.purchaseState;
    const echo =
      "externalAccountIdentifiers" in answer
        ? answer.externalAccountIdentifiers?.obfuscatedExternalAccountId
        : "obfuscatedExternalAccountId" in answer
          ? answer.obfuscatedExternalAccountId
          : null;
    const standing = ANDROID[state ?? ""];
    return standing && { lineage: token, ...standing, echo: echo ?? null };
  };
};

const isOf = (echo: string, account: string): boolean =>
  echo === account || echo === createHash("sha256").update(account).digest("hex");

/** Why an account differs; null: it agrees. */
const causeOf = (
  { account, identifier, isActive, product }: Said,
  known: Known | undefined,
  mapped: ReadonlySet<string>,
): Cause | null => {
  if (identifier === "") return "no-token";
  if (known === undefined) return "dropped";
  if (!mapped.has(product)) return "product-not-mapped";
  if (known.echo !== null && !isOf(known.echo, account)) return "swapped-account";
  return isActive === null || isActive === known.isActive ? null : known.reason;
};

/** Every account that differs, once. */
export const differences = (
  said: readonly Said[],
  lookUp: LookUp,
  mapped: ReadonlySet<string>,
): readonly Planted[] => {
  const accounts = new Map<string, Set<string>>();
  for (const { account, identifier } of said) {
    const lineage = lookUp(identifier)?.lineage;
    if (lineage !== undefined) accounts.set(lineage, (accounts.get(lineage) ?? new Set()).add(account));
  }
  const found = new Map<string, Planted>();
  for (const each of said) {
    const known = lookUp(each.identifier);
    const isDisputed = known !== undefined && (accounts.get(known.lineage)?.size ?? 0) > 1;
    const cause = isDisputed ? "two-accounts" : causeOf(each, known, mapped);
    if (cause !== null) found.set(each.account, { account: each.account, cause });
  }
  return [...found.values()];
};

/** The newest row of each transaction of a RevenueCat export. */
export const newestRows = (rows: readonly ReadRow[]): ReadRow[] => {
  const newest = new Map<string, ReadRow>();
  for (const row of rows) {
    const key = row["store_transaction_id"] || row["rc_last_seen_app_user_id_alias"] || "";
    const other = newest.get(key);
    if (other === undefined || (row["updated_at"] ?? "") > (other["updated_at"] ?? "")) newest.set(key, row);
  }
  return [...newest.values()];
};
