import * as z from "zod/mini";
import type { Environment } from "../../contract/schemas.ts";
import type { Nature } from "../../entitlements/purchase.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { parseJsonObject, splitJws, type JsonObject } from "./signatures/jws.ts";

/** A kind of signed payload, and what distinguishes it from the others. */
export interface PayloadKind<Payload> {
  /** Fields that only other kinds have. */
  readonly lacks: readonly string[];
  /** The store's name of its environment; anything else where it has none. */
  readonly environment: (payload: JsonObject) => unknown;
  /** Field with the time of signing. */
  readonly signedAt: string;
  /** Reads its other fields. Unknown fields are tolerated. */
  readonly schema: () => z.ZodMiniType<Payload>;
}

/** Facts that verification establishes for any payload. */
export interface Signed {
  readonly environment: Environment;
  readonly signedAt: Instant;
  /** SHA-256 (hex, lower case) of the StoreKit testing certificate that signed it; null: the App Store signed it. */
  readonly xcodeCertificate: string | null;
}

export type FieldsOf<Schema extends () => z.ZodMiniType> = Readonly<z.output<ReturnType<Schema>>>;

/** Milliseconds since 1970. Xcode signs fractions, which are rounded down. */
const time = once(() => z.number().check(z.overwrite(Math.floor), z.refine(isInstant)));

/** Apple's identifiers are digits. Bounded here, because facts are stored under them. */
export const storeIdentifier = once(() => z.string().check(z.regex(/^[\w.-]{1,128}$/)));

/** StoreKit testing writes "0" where it has no identifier: it identifies nothing. */
const identifierOrNull = (written: string | null | undefined): string | null =>
  written === "0" ? null : (written ?? null);

export const LONGEST_NAME = 256;
const name = once(() => z.string().check(z.minLength(1), z.maxLength(LONGEST_NAME)));

/** The app of an app transaction or notification. */
export const appFields = () => ({
  bundleId: name(),
  /** Absent or zero outside production. */
  appAppleId: z.nullish(z.int().check(z.nonnegative())),
});

const appTransaction = once(() =>
  z.pipe(
    z.object({ ...appFields(), appTransactionId: z.nullish(storeIdentifier()) }),
    z.transform(({ bundleId, appAppleId, appTransactionId }) => ({
      bundleIdentifier: bundleId,
      /** The app's Apple ID; null outside production, where it is absent or zero. */
      appAppleIdentifier: appAppleId || null,
      /** Identifies the Apple Account in this app; null in older app transactions. */
      appTransactionIdentifier: identifierOrNull(appTransactionId),
    })),
  ),
);

/**
 * App transaction: the App Store's signed record of a customer's copy of an app.
 *
 * @see https://developer.apple.com/documentation/storekit/apptransaction
 */
export interface AppTransaction extends FieldsOf<typeof appTransaction>, Signed {}

export const appTransactionKind = {
  // Fields of transactions, renewal info and notifications.
  lacks: ["transactionId", "originalTransactionId", "autoRenewStatus", "notificationType"],
  environment: ({ receiptType }) => receiptType,
  signedAt: "receiptCreationDate",
  schema: appTransaction,
} satisfies PayloadKind<unknown>;

/** By Apple's product types. A payload of another type is refused: whether it lasts, renews or is consumed is unknown. */
const NATURES = {
  "Auto-Renewable Subscription": "auto_renewable",
  "Non-Renewing Subscription": "non_renewing",
  "Non-Consumable": "non_consumable",
  Consumable: "consumable",
} as const satisfies Record<string, Nature>;

const productTypes = Object.keys(NATURES) as (keyof typeof NATURES)[];

/** An optional field may also be null, which means absent. */
const transaction = once(() =>
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

/**
 * One in-app purchase as the App Store signs it.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
 */
export interface Transaction extends FieldsOf<typeof transaction>, Signed {}

export const transactionKind = {
  // Fields of app transactions, renewal info and notifications.
  lacks: ["receiptType", "autoRenewStatus", "autoRenewProductId", "notificationType"],
  environment: ({ environment }) => environment,
  signedAt: "signedDate",
  schema: transaction,
} satisfies PayloadKind<unknown>;

const transactionNames = /* @__PURE__ */ once(() =>
  z.pipe(
    z.object({
      transactionId: z.string(),
      originalTransactionId: z.string(),
      environment: z.string(),
      appAccountToken: z.nullish(z.string()),
    }),
    z.transform((written) => ({
      transactionIdentifier: written.transactionId,
      originalTransactionIdentifier: written.originalTransactionId,
      environment: written.environment.toLowerCase(),
      /** The account that the app gave to the store; null: none. It proves nothing. */
      accountToken: written.appAccountToken ?? null,
    })),
  ),
);

/** Names in a transaction's JWS, without verifying it: for a report only. Null: it has none. */
export const transactionNamesIn = (compact: string): TransactionNames | null => {
  const jws = splitJws(compact);
  if (jws.outcome === "rejected") return null;
  return transactionNames().safeParse(parseJsonObject(jws.payload.payload)).data ?? null;
};
export type TransactionNames = FieldsOf<typeof transactionNames>;

/** @see https://developer.apple.com/documentation/appstoreserverapi/status */
const GRACE_PERIOD = 4;

/** Whether the status beside a renewal info is that of a billing grace period; any other value has no meaning here. */
export const isGraceStatus = (status: unknown): boolean => status === GRACE_PERIOD;

/** `autoRenewStatus` of a subscription that renews. */
const RENEWS = 1;

/** An optional field may also be null, which means absent. */
const renewalInfo = once(() =>
  z.pipe(
    z.object({
      originalTransactionId: storeIdentifier(),
      productId: name(),
      autoRenewProductId: z.nullish(name()),
      autoRenewStatus: z.int(),
      renewalDate: z.nullish(time()),
      gracePeriodExpiresDate: z.nullish(time()),
      isInBillingRetryPeriod: z.nullish(z.boolean()),
      expirationIntent: z.nullish(z.int()),
      appTransactionId: z.nullish(storeIdentifier()),
    }),
    z.transform((written) => ({
      originalTransactionIdentifier: written.originalTransactionId,
      productIdentifier: written.productId,
      /** Identifies the Apple Account in this app; null in older ones. */
      appTransactionIdentifier: identifierOrNull(written.appTransactionId),
      periodEndsAt: written.renewalDate ?? null,
      willRenew: written.autoRenewStatus === RENEWS,
      renewsInto: written.autoRenewProductId ?? null,
      graceEndsAt: written.gracePeriodExpiresDate ?? null,
      isInBillingRetry: written.isInBillingRetryPeriod === true,
      expirationIntent: written.expirationIntent ?? null,
    })),
  ),
);

/**
 * The App Store's signed statement on a subscription's next renewal. It carries no bundle, so it names nobody: it counts for
 * a lineage that is known or comes with it, and links and merges no customer.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
 */
export interface RenewalInfo extends FieldsOf<typeof renewalInfo>, Signed {}

/** A renewal info, with what the store said beside it. */
export interface StatedRenewalInfo extends RenewalInfo {
  /** Whether a billing grace period runs; absent: nothing was said. */
  readonly isInGrace?: boolean;
}

export const renewalInfoKind = {
  // Fields of transactions, app transactions and notifications.
  lacks: ["transactionId", "purchaseDate", "receiptType", "notificationType"],
  environment: ({ environment }) => environment,
  signedAt: "signedDate",
  schema: renewalInfo,
} satisfies PayloadKind<unknown>;
