import * as z from "zod/mini";
import { renewedPurchase, type Purchase } from "../../entitlements/purchase.ts";
import { once } from "../../once.ts";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";
import { identifierOrNull, name, storeIdentifier, time } from "./fields.ts";
import { lineageKeyOf } from "./purchases.ts";
import type { PayloadKind, Signed } from "./signatures/signed-payload.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Status of a subscription in its billing grace period: beside the renewal info, in notifications and answers.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/status
 */
const GRACE_STATUS = 4;

/** Whether a status beside a renewal info is that of a billing grace period; any other value has no meaning here. */
export const isGraceStatus = (status: unknown): boolean => status === GRACE_STATUS;

/** `autoRenewStatus` of a subscription that renews. */
const RENEWS = 1;

/** An optional field may also be null, which means absent. */
const schema = once(() =>
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

type RenewalInfoFields = Readonly<z.output<ReturnType<typeof schema>>>;

/**
 * The App Store's signed statement on a subscription's next renewal. It carries no bundle, so it names nobody: it counts for
 * a lineage that is known or comes with it, and links and merges no customer.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
 */
export interface RenewalInfo extends RenewalInfoFields, Signed {}

/** A renewal info, with what the store said beside it. */
export interface StatedRenewalInfo extends RenewalInfo {
  /** Whether a billing grace period runs; absent: nothing was said. */
  readonly isInGrace?: boolean;
}

export const renewalInfoKind: PayloadKind<RenewalInfoFields> = {
  // Fields of transactions, app transactions and notifications.
  lacks: ["transactionId", "purchaseDate", "receiptType", "notificationType"],
  environment: ({ environment }) => environment,
  signedAt: "signedDate",
  schema,
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

export const renewalsOf = (
  infos: readonly StatedRenewalInfo[],
  transactions: readonly Transaction[],
): readonly Purchase[] =>
  infos.flatMap((info) => {
    const key = lineageOf(info, transactions);
    if (key === null) return [];
    const { environment, isInGrace, periodEndsAt, signedAt } = info;
    return renewedPurchase(
      { store: "ios-store", environment, key },
      {
        periodEndsAt,
        willRenew: info.willRenew,
        renewsInto: info.renewsInto,
        graceEndsAt: info.graceEndsAt,
        isInBillingRetry: info.isInBillingRetry,
        expirationIntent: info.expirationIntent,
        signedAt,
        status: isInGrace === undefined ? null : { isInGrace, periodEndsAt, signedAt },
      },
    );
  });
