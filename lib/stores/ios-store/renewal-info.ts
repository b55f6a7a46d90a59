import * as z from "zod/mini";
import type { Renewal } from "../../entitlements/renewal.ts";
import { renewedPurchase, type Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { identifierOrNull, name, storeIdentifier, TIMES } from "./fields.ts";
import { lineageKeyOf } from "./purchases.ts";
import type { PayloadKind, Signed } from "./signatures/signed-payload.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Renewal info: the App Store's signed statement on a subscription's next renewal. It carries no bundle, so it names nobody: it
 * counts for a lineage that is known or comes with it, and links and merges no customer.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
 */
export interface RenewalInfoFields extends Omit<Renewal, "signedAt" | "status" | "further"> {
  readonly originalTransactionIdentifier: string;
  readonly productIdentifier: string;
  /** Identifies the Apple Account in this app; null in older ones, or where it is "0". */
  readonly appTransactionIdentifier: string | null;
}

export interface RenewalInfo extends RenewalInfoFields, Signed {}

/**
 * Status of a subscription in its billing grace period. The store sends it beside the renewal info, in signed
 * notifications and in its own answers.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/status
 */
const GRACE_STATUS = 4;

/** Whether a status beside a renewal info is that of a billing grace period; any other value has no meaning here. */
export const isGraceStatus = (status: unknown): boolean => status === GRACE_STATUS;

/** A renewal info, with what the store said beside it. */
export interface StatedRenewalInfo extends RenewalInfo {
  /** Whether a billing grace period runs; absent: nothing was said. */
  readonly isInGrace?: boolean;
}

/** `autoRenewStatus` of a subscription that renews. */
const RENEWS = 1;

/** An optional field may also be null, which means absent. */
const schemaWith = (time: z.ZodMiniType<Instant>) =>
  z.object({
    originalTransactionId: storeIdentifier(),
    productId: name(),
    autoRenewProductId: z.nullish(name()),
    autoRenewStatus: z.int(),
    renewalDate: z.nullish(time),
    gracePeriodExpiresDate: z.nullish(time),
    isInBillingRetryPeriod: z.nullish(z.boolean()),
    expirationIntent: z.nullish(z.int()),
    appTransactionId: z.nullish(storeIdentifier()),
  });

type Written = z.output<ReturnType<typeof schemaWith>>;

export const renewalInfoKind: PayloadKind<Written, RenewalInfoFields> = {
  has: ["originalTransactionId", "productId", "autoRenewStatus", "environment"],
  // Fields of transactions, app transactions and notifications.
  lacks: ["transactionId", "purchaseDate", "receiptType", "notificationType"],
  environment: ({ environment }) => environment,
  signedAt: "signedDate",
  schema: {
    "app-store": once(() => schemaWith(TIMES["app-store"]())),
    xcode: once(() => schemaWith(TIMES.xcode())),
  },
  read: (written) => ({
    originalTransactionIdentifier: written.originalTransactionId,
    productIdentifier: written.productId,
    appTransactionIdentifier: identifierOrNull(written.appTransactionId),
    periodEndsAt: written.renewalDate ?? null,
    willRenew: written.autoRenewStatus === RENEWS,
    renewsInto: written.autoRenewProductId ?? null,
    graceEndsAt: written.gracePeriodExpiresDate ?? null,
    isInBillingRetry: written.isInBillingRetryPeriod === true,
    expirationIntent: written.expirationIntent ?? null,
  }),
};

/**
 * Key of the lineage. In Xcode, where original ids identify nothing, it comes from a transaction of the same request;
 * null where there is none.
 */
const lineageOf = (info: RenewalInfo, transactions: readonly Transaction[]): PurchaseKey | null => {
  if (info.environment !== "xcode") return purchaseKey(info.originalTransactionIdentifier);
  const of = transactions.find(
    (transaction) =>
      transaction.nature === "auto_renewable" &&
      transaction.productIdentifier === info.productIdentifier &&
      transaction.originalTransactionIdentifier === info.originalTransactionIdentifier &&
      transaction.xcodeCertificate === info.xcodeCertificate,
  );
  return of === undefined ? null : lineageKeyOf(of);
};

/** Renewal infos as facts of their lineages. */
export const renewalsOf = (
  infos: readonly StatedRenewalInfo[],
  transactions: readonly Transaction[],
): readonly Purchase[] =>
  infos.flatMap((info) => {
    const key = lineageOf(info, transactions);
    if (key === null) return [];
    return renewedPurchase(
      { store: "ios-store", environment: info.environment, key },
      {
        periodEndsAt: info.periodEndsAt,
        willRenew: info.willRenew,
        renewsInto: info.renewsInto,
        graceEndsAt: info.graceEndsAt,
        isInBillingRetry: info.isInBillingRetry,
        expirationIntent: info.expirationIntent,
        signedAt: info.signedAt,
        status:
          info.isInGrace === undefined
            ? null
            : { isInGrace: info.isInGrace, periodEndsAt: info.periodEndsAt, signedAt: info.signedAt },
      },
    );
  });
