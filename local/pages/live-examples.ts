import type { RequestExamples } from "../../lib/contract/examples.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { newIdentifier } from "../../sandbox/ios-store/shop/app-store.ts";
import type { IosStoreSandbox } from "../../sandbox/ios-store/ios-store.ts";
import { signNotification } from "../../sandbox/ios-store/notifications/notifications.ts";
import type { JwsSigner } from "../../sandbox/ios-store/signing.ts";
import { DEMO } from "../demo.ts";

export type LiveExamples = Awaited<ReturnType<ReturnType<typeof createLiveExamples>>>;

export const EXAMPLE_ACCOUNT = "user-1";

const PURCHASE = { productIdentifier: DEMO.iosSubscription, period: "P1M" };

/**
 * Requests of the demo application that the running service answers with 200, and their credentials. New ones are made
 * each time: StoreKit's signatures soon expire, and a reset forgets what was sold.
 */
export const createLiveExamples = ({
  ios,
  android,
  signer,
  androidPurchaseToken,
  now,
}: {
  readonly ios: Pick<IosStoreSandbox, "buy">;
  readonly android: Pick<AndroidPublisherSandbox, "pushRequest">;
  readonly signer: JwsSigner;
  /** Token that the sandbox sold; null if another store replaces it. */
  readonly androidPurchaseToken: string | null;
  readonly now: () => Instant;
}) => {
  const appTransactionIdentifier = newIdentifier("Sandbox");

  const signed = async () => {
    const known = await ios.buy({ appTransactionIdentifier });
    const { signedAppTransaction, signedTransactions, signedRenewalInfos } =
      known.signedTransactions.length > 0
        ? known
        : await ios.buy({ appTransactionIdentifier, transactions: [PURCHASE] });
    return { signedAppTransaction, signedTransactions, signedRenewalInfos };
  };

  return async () => {
    const account = { applicationAccountIdentifier: EXAMPLE_ACCOUNT };
    const purchases = await signed();
    const { bundleIdentifier, packageName } = DEMO;
    const data = { environment: "Sandbox", bundleId: bundleIdentifier };
    const push =
      androidPurchaseToken === null
        ? null
        : await android.pushRequest({ version: "1.0", packageName, testNotification: { version: "1.0" } });
    const requests: RequestExamples = {
      linkIosStoreCustomer: { request: { ...purchases, ...account } },
      synchronizeIosStorePurchases: { request: purchases },
      readAccountEntitlements: { request: account },
      receiveIosStoreNotification: {
        request: {
          signedPayload: signNotification({ notificationType: "TEST", signedDate: now(), data }, signer),
        },
      },
      ...(androidPurchaseToken !== null && {
        linkAndroidStoreCustomer: {
          request: {
            packageName,
            purchaseToken: androidPurchaseToken,
            productKind: "subscription",
            ...account,
          },
        },
      }),
      ...(push !== null && { receiveAndroidStoreNotification: { request: JSON.parse(push.body) } }),
    };
    return {
      /** `Authorization` of a Pub/Sub push, without `Bearer`; null: another store replaces the sandbox's. */
      googlePushToken: push?.headers.authorization.replace(/^Bearer /, "") ?? null,
      requests,
    };
  };
};
