import { randomUUID } from "node:crypto";
import type { Notice } from "../shop/current.ts";
import type { Account } from "../shop/lineage.ts";
import { signedPayloadsOf, statusOf } from "../shop/payloads.ts";
import { signJws, type JwsSigner } from "../signing.ts";

/** A notification's fields, in Apple's own names; a field that is undefined is left out. */
type NotificationFields = Readonly<Record<string, unknown>>;

/**
 * Signs a notification of version 2. Its fields may be invalid, and replace the envelope's own.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
 */
export const signNotification = (fields: NotificationFields, signer: JwsSigner): string =>
  signJws({ notificationUUID: randomUUID(), version: "2.0", ...fields }, signer);

/** An app as the Server API and the notifications name it. */
export const appFields = ({
  environment,
  bundleIdentifier,
  appAppleIdentifier,
}: Pick<Account, "environment" | "bundleIdentifier" | "appAppleIdentifier">) => ({
  environment,
  bundleId: bundleIdentifier,
  ...(environment === "Production" && { appAppleId: appAppleIdentifier }),
});

/** The fields of a notice's notification. Its parts are signed at the moment of the event. */
export const notificationOf = (account: Account, notice: Notice, signer: JwsSigner): NotificationFields => {
  const { name, lineage, transactionIdentifier, consumptionRequestReason } = notice;
  const { subscription, changedAt, transactions } = lineage;
  const [notificationType, subtype] = name.split(" ");
  const envelope = { notificationType, subtype, signedDate: changedAt };
  const app = appFields(account);
  const signed = signedPayloadsOf(account, changedAt, signer, "store");
  if (notificationType === "RESCIND_CONSENT")
    return { ...envelope, appData: { ...app, signedAppTransactionInfo: signed.appTransaction() } };
  const transaction = transactions.find((each) => each.transactionIdentifier === transactionIdentifier);
  if (transaction === undefined) throw new Error(`There is no transaction ${transactionIdentifier}.`);
  return {
    ...envelope,
    data: {
      ...app,
      bundleVersion: "1",
      signedTransactionInfo: signed.transaction(lineage, transaction),
      signedRenewalInfo: signed.renewalInfo(lineage),
      status: subscription === null ? undefined : statusOf(subscription),
      consumptionRequestReason,
    },
  };
};
