import * as z from "zod/mini";
import type { Nature } from "../../entitlements/purchase.ts";
import { once } from "../../once.ts";
import { identifierOrNull, LONGEST_NAME, name, storeIdentifier, time } from "./fields.ts";
import { parseJsonObject } from "./signatures/encoding.ts";
import { splitJws } from "./signatures/jws.ts";
import type { PayloadKind, Signed } from "./signatures/signed-payload.ts";

/**
 * By Apple's product types. A payload of another type is refused: whether it lasts, renews or is consumed is unknown.
 */
const NATURES = {
  "Auto-Renewable Subscription": "auto_renewable",
  "Non-Renewing Subscription": "non_renewing",
  "Non-Consumable": "non_consumable",
  Consumable: "consumable",
} as const satisfies Record<string, Nature>;

const productTypes = Object.keys(NATURES) as (keyof typeof NATURES)[];

/** An optional field may also be null, which means absent. */
const schema = once(() =>
  z.pipe(
    z
      .object({
        transactionId: storeIdentifier(),
        originalTransactionId: storeIdentifier(),
        productId: name(),
        bundleId: name(),
        appTransactionId: z.nullish(storeIdentifier()),
        type: z.enum(productTypes),
        previousOriginalTransactionId: z.nullish(storeIdentifier()),
        subscriptionGroupIdentifier: z.nullish(z.string().check(z.maxLength(LONGEST_NAME))),
        webOrderLineItemId: z.nullish(storeIdentifier()),
        purchaseDate: time(),
        originalPurchaseDate: z.nullish(time()),
        quantity: z.nullish(z.int().check(z.minimum(0))),
        revocationPercentage: z.nullish(z.number().check(z.minimum(0))),
        expiresDate: z.nullish(time()),
        revocationDate: z.nullish(time()),
        isUpgraded: z.nullish(z.boolean()),
      })
      .check(
        z.refine(
          ({ type, expiresDate = null }) => NATURES[type] !== "auto_renewable" || expiresDate !== null,
        ),
      ),
    z.transform((written) => ({
      transactionIdentifier: written.transactionId,
      /** First transaction of the lineage, shared by its renewals and restores. */
      originalTransactionIdentifier: written.originalTransactionId,
      productIdentifier: written.productId,
      bundleIdentifier: written.bundleId,
      /** Identifies the Apple Account in this app; null in older transactions. */
      appTransactionIdentifier: identifierOrNull(written.appTransactionId),
      /** Lineage that this one replaced when the subscription was moved; null otherwise. */
      previousOriginalTransactionIdentifier: identifierOrNull(written.previousOriginalTransactionId),
      subscriptionGroupIdentifier: written.subscriptionGroupIdentifier || null,
      /** Identifies a subscription's purchase event on all devices. */
      webOrderLineItemIdentifier: identifierOrNull(written.webOrderLineItemId),
      nature: NATURES[written.type] as Nature,
      /** In a restored copy, the date of the restore. */
      purchasedAt: written.purchaseDate,
      originalPurchasedAt: written.originalPurchaseDate ?? null,
      /** Set on auto-renewable subscriptions. */
      expiresAt: written.expiresDate ?? null,
      /** Units bought, at least 1. */
      quantity: Math.max(1, written.quantity ?? 1),
      revokedAt: written.revocationDate ?? null,
      /** Refunded share in thousandths of a per cent; null where the store does not say. */
      revokedMilliPercent: written.revocationPercentage ?? null,
      /** An upgrade within the subscription group ended this transaction. */
      isUpgraded: written.isUpgraded === true,
    })),
  ),
);

type TransactionFields = Readonly<z.output<ReturnType<typeof schema>>>;

/**
 * One in-app purchase as the App Store signs it.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
 */
export interface Transaction extends TransactionFields, Signed {}

export const transactionKind: PayloadKind<TransactionFields> = {
  // Fields of app transactions, renewal info and notifications.
  lacks: ["receiptType", "autoRenewStatus", "autoRenewProductId", "notificationType"],
  environment: ({ environment }) => environment,
  signedAt: "signedDate",
  schema,
};

/** Identifiers of a signed transaction, and the account that the app gave to the store with it. */
export interface TransactionNames {
  readonly transactionIdentifier: string;
  readonly originalTransactionIdentifier: string;
  /** As the payload writes it, in lower case. */
  readonly environment: string;
  /** The account token that the app chose; null: none. It proves nothing. */
  readonly accountToken: string | null;
}

const names = once(() =>
  z.object({
    transactionId: z.string(),
    originalTransactionId: z.string(),
    environment: z.string(),
    appAccountToken: z.nullish(z.string()),
  }),
);

/** Names in a transaction's JWS, without verifying it: for a report only. Null: it has none. */
export const transactionNamesIn = (compact: string): TransactionNames | null => {
  const jws = splitJws(compact);
  if (jws.outcome === "rejected") return null;
  const { data } = names().safeParse(parseJsonObject(jws.payload.payload));
  return data === undefined
    ? null
    : {
        transactionIdentifier: data.transactionId,
        originalTransactionIdentifier: data.originalTransactionId,
        environment: data.environment.toLowerCase(),
        accountToken: data.appAccountToken ?? null,
      };
};
