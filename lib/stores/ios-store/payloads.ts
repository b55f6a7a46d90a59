import * as z from "zod/mini";
import type { Environment } from "../../contract/schemas.ts";
import type { Nature } from "../../entitlements/purchase.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { parseJsonObject, splitJws, type JsonObject } from "./signatures/jws.ts";

// Signed payloads keep Apple's names until `purchases.ts` makes lines and renewals of them, which have ours.

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

/** An optional field; null where it is absent, null or `nothing`, the value by which Apple means none. */
const optional = <Field extends z.ZodMiniType>(field: Field, nothing?: z.output<Field>) =>
  z.pipe(
    z.nullish(field),
    z.transform((written) => (written === nothing ? null : (written ?? null))),
  );

/** Milliseconds since 1970. Xcode signs fractions, which are rounded down. */
const time = once(() => z.number().check(z.overwrite(Math.floor), z.refine(isInstant)));

/** Apple's identifiers are digits. Bounded here, because facts are stored under them. */
export const storeIdentifier = once(() => z.string().check(z.regex(/^[\w.-]{1,128}$/)));

/** StoreKit testing writes "0" where it has no identifier: it identifies nothing. */
const optionalIdentifier = once(() => optional(storeIdentifier(), "0"));

export const LONGEST_NAME = 256;
const name = once(() => z.string().check(z.minLength(1), z.maxLength(LONGEST_NAME)));

/** The app of an app transaction or notification. */
export const appFields = () => ({
  bundleId: name(),
  /** The app's Apple ID; null outside production, where it is absent or zero. */
  appAppleId: optional(z.int().check(z.nonnegative()), 0),
});

const appTransaction = once(() =>
  z.object({
    ...appFields(),
    /** Identifies the Apple Account in this app; null in older app transactions. */
    appTransactionId: optionalIdentifier(),
  }),
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
export const NATURES = {
  "Auto-Renewable Subscription": "auto_renewable",
  "Non-Renewing Subscription": "non_renewing",
  "Non-Consumable": "non_consumable",
  Consumable: "consumable",
} as const satisfies Record<string, Nature>;

const productTypes = Object.keys(NATURES) as (keyof typeof NATURES)[];

const transaction = once(() =>
  z
    .object({
      transactionId: storeIdentifier(),
      /** First transaction of the lineage, shared by its renewals and restores. */
      originalTransactionId: storeIdentifier(),
      productId: name(),
      bundleId: name(),
      /** Identifies the Apple Account in this app; null in older transactions. */
      appTransactionId: optionalIdentifier(),
      type: z.enum(productTypes),
      /** Lineage that this one replaced when the subscription was moved; null otherwise. */
      previousOriginalTransactionId: optionalIdentifier(),
      subscriptionGroupIdentifier: optional(z.string().check(z.maxLength(LONGEST_NAME)), ""),
      /** Identifies a subscription's purchase event on all devices. */
      webOrderLineItemId: optionalIdentifier(),
      /** In a restored copy, the date of the restore. */
      purchaseDate: time(),
      originalPurchaseDate: optional(time()),
      quantity: optional(z.int().check(z.minimum(0)), 0),
      /** Refunded share in thousandths of a per cent; null where the store does not say. */
      revocationPercentage: optional(z.number().check(z.minimum(0))),
      /** Set on auto-renewable subscriptions. */
      expiresDate: optional(time()),
      revocationDate: optional(time()),
      /** An upgrade within the subscription group ended this transaction. */
      isUpgraded: optional(z.boolean()),
    })
    .check(z.refine(({ type, expiresDate }) => NATURES[type] !== "auto_renewable" || expiresDate !== null)),
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
  z.object({
    transactionId: z.string(),
    originalTransactionId: z.string(),
    environment: z.string(),
    /** The account that the app gave to the store; null: none. It proves nothing. */
    appAccountToken: optional(z.string()),
  }),
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

const renewalInfo = once(() =>
  z.object({
    originalTransactionId: storeIdentifier(),
    productId: name(),
    autoRenewProductId: optional(name()),
    autoRenewStatus: z.int(),
    renewalDate: optional(time()),
    gracePeriodExpiresDate: optional(time()),
    isInBillingRetryPeriod: optional(z.boolean()),
    expirationIntent: optional(z.int()),
    appTransactionId: optionalIdentifier(),
  }),
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
