import * as z from "zod/mini";
import type { Nature } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { identifierOrNull, LONGEST_NAME, name, storeIdentifier, TIMES } from "./fields.ts";
import type { PayloadKind, Signed } from "./signatures/signed-payload.ts";

/**
 * One in-app purchase as the App Store signs it.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
 */
export interface TransactionFields {
  readonly transactionIdentifier: string;
  /** First transaction of the lineage, shared by its renewals and restores. */
  readonly originalTransactionIdentifier: string;
  readonly productIdentifier: string;
  readonly bundleIdentifier: string;
  /** Identifies the Apple Account in this app; null in older transactions, or where it is "0". */
  readonly appTransactionIdentifier: string | null;
  /** Lineage that this one replaced when the subscription was moved; null otherwise. */
  readonly previousOriginalTransactionIdentifier: string | null;
  readonly subscriptionGroupIdentifier: string | null;
  /** Identifies a subscription's purchase event on all devices; null where it is absent or "0". */
  readonly webOrderLineItemIdentifier: string | null;
  readonly nature: Nature;
  /** Purchase date; in a restored copy, the date of the restore. */
  readonly purchasedAt: Instant;
  readonly originalPurchasedAt: Instant | null;
  /** Set on auto-renewable subscriptions. */
  readonly expiresAt: Instant | null;
  /** Units bought, at least 1. */
  readonly quantity: number;
  readonly revokedAt: Instant | null;
  /** Refunded share in thousandths of a per cent; null where the store does not say. */
  readonly revokedMilliPercent: number | null;
  /** An upgrade within the subscription group ended this transaction. */
  readonly isUpgraded: boolean;
}

export interface Transaction extends TransactionFields, Signed {}

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
const schemaWith = (time: z.ZodMiniType<Instant>) =>
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
      purchaseDate: time,
      originalPurchaseDate: z.nullish(time),
      quantity: z.nullish(z.int().check(z.minimum(0))),
      revocationPercentage: z.nullish(z.number().check(z.minimum(0))),
      expiresDate: z.nullish(time),
      revocationDate: z.nullish(time),
      isUpgraded: z.nullish(z.boolean()),
    })
    .check(
      z.refine(({ type, expiresDate = null }) => NATURES[type] !== "auto_renewable" || expiresDate !== null),
    );

type Written = z.output<ReturnType<typeof schemaWith>>;

const read = (written: Written): TransactionFields => ({
  transactionIdentifier: written.transactionId,
  originalTransactionIdentifier: written.originalTransactionId,
  productIdentifier: written.productId,
  bundleIdentifier: written.bundleId,
  appTransactionIdentifier: identifierOrNull(written.appTransactionId),
  previousOriginalTransactionIdentifier: identifierOrNull(written.previousOriginalTransactionId),
  subscriptionGroupIdentifier: written.subscriptionGroupIdentifier || null,
  webOrderLineItemIdentifier: identifierOrNull(written.webOrderLineItemId),
  nature: NATURES[written.type],
  originalPurchasedAt: written.originalPurchaseDate ?? null,
  quantity: Math.max(1, written.quantity ?? 1),
  revokedMilliPercent: written.revocationPercentage ?? null,
  purchasedAt: written.purchaseDate,
  expiresAt: written.expiresDate ?? null,
  revokedAt: written.revocationDate ?? null,
  isUpgraded: written.isUpgraded === true,
});

export const transactionKind: PayloadKind<Written, TransactionFields> = {
  has: [
    "transactionId",
    "originalTransactionId",
    "productId",
    "bundleId",
    "purchaseDate",
    "environment",
    "type",
  ],
  // Fields of app transactions, renewal info and notifications.
  lacks: ["receiptType", "autoRenewStatus", "autoRenewProductId", "notificationType"],
  environment: ({ environment }) => environment,
  signedAt: "signedDate",
  schema: {
    "app-store": once(() => schemaWith(TIMES["app-store"]())),
    xcode: once(() => schemaWith(TIMES.xcode())),
  },
  read,
};
