import { signJws } from "../../../../sandbox/ios-store/signing.ts";
import {
  anApp,
  anEnvelope,
  aNotification,
  APPLE_ID,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import {
  chain,
  genuine,
  inXcode,
  of,
  ofApp,
  refused,
  sandbox,
  stranger,
  stricter,
  xcode,
  type Group,
} from "./row.ts";

const renewal = (fields: Payload = {}): string => signJws(aRenewalInfo(fields), chain);
const notification = (
  parts: Parameters<typeof aNotification>[1],
  fields: Payload = {},
  app: Payload = {},
): string => signJws(aNotification(chain, parts, fields, app), chain);
const envelope = (fields: Payload): string => signJws(anEnvelope(fields), chain);
const token = (externalPurchaseId: string): string =>
  envelope({
    notificationType: "EXTERNAL_PURCHASE_TOKEN",
    externalPurchaseToken: { externalPurchaseId, bundleId: BUNDLE, appAppleId: APPLE_ID },
  });
const fromTheFuture = stricter("Nothing can have been signed later than now.");

const RENEWAL_INFOS: Group = {
  title: "Renewal infos",
  rows: [
    ...genuine(
      {
        "One that renews": renewal(),
        "One in its grace period": renewal({
          isInBillingRetryPeriod: true,
          gracePeriodExpiresDate: NOW + DAY,
          expirationIntent: 2,
        }),
        "One with a field and a reason that are new": renewal({ aNewField: {}, expirationIntent: 99 }),
        "One without an app transaction id": renewal({ appTransactionId: undefined }),
      },
      "renewal info",
    ),
    ...refused(
      {
        "Another environment of it": renewal({ environment: "Sandbox" }),
        "By a stranger's chain": signJws(aRenewalInfo(), stranger),
        "A notification in place of renewal info": notification({}),
      },
      "renewal info",
    ),
    ...fromTheFuture({ "From the future": renewal({ signedDate: NOW + 2 * DAY }) }, "renewal info"),
    ...stricter("It would be a fact of nothing.")(
      {
        "Without a product": renewal({ productId: undefined }),
        "Without a lineage": renewal({ originalTransactionId: undefined }),
        "A transaction in place of renewal info": of(),
      },
      "renewal info",
    ),
  ],
};

const NOTIFICATIONS: Group = {
  title: "Notifications",
  rows: [
    ...genuine(
      {
        "A renewal": notification({}),
        "A TEST": envelope({ notificationType: "TEST", data: anApp() }),
        "A one-time charge": notification({ renewalInfo: null }, { notificationType: "ONE_TIME_CHARGE" }),
        "A summary": envelope({ notificationType: "RENEWAL_EXTENSION", summary: anApp() }),
        "A rescinded consent": envelope({
          notificationType: "RESCIND_CONSENT",
          appData: anApp({ signedAppTransactionInfo: ofApp() }),
        }),
        "An external purchase token": token("4f"),
        "A type and a subtype that are new": notification({}, { notificationType: "NEW", subtype: "NEWER" }),
      },
      "notification",
    ),
    ...genuine({ "An external purchase token of the sandbox": token("SANDBOX_4f") }, "notification", sandbox),
    ...refused(
      {
        "Another bundle, of a notification": notification({}, {}, { bundleId: "com.example.other" }),
        "Another app id, of a notification": notification({}, {}, { appAppleId: APPLE_ID + 1 }),
        "No app id, of a notification": notification({}, {}, { appAppleId: undefined }),
        "Another environment, of a notification": notification({}, {}, { environment: "Sandbox" }),
        "A token of the sandbox in production": token("SANDBOX_4f"),
        "Without a subject": envelope({}),
        "By a stranger's chain": signJws(aNotification(chain), stranger),
        "A transaction in place of a notification": of(),
      },
      "notification",
    ),
    ...stricter("The four subjects exclude each other; which one counts must not be left to a reader.")(
      { "With two subjects": notification({}, { summary: anApp() }) },
      "notification",
    ),
    ...stricter("Every notification has a type; anything else is another kind of payload.")(
      { "Without a type": notification({}, { notificationType: undefined }) },
      "notification",
    ),
    ...fromTheFuture({ "From the future": notification({}, { signedDate: NOW + 2 * DAY }) }, "notification"),
    ...stricter("StoreKit testing in Xcode sends no notifications, so nobody's certificate signs one.")(
      { "In Xcode": signJws(aNotification(chain, {}, {}, { environment: "Xcode" }), xcode) },
      "notification",
      inXcode,
    ),
    ...stricter("Apple's library verifies the envelope alone and leaves its parts to the caller.")(
      {
        "Parts by a stranger's chain": signJws(aNotification(stranger), chain),
        "A transaction of another bundle within": notification({
          transaction: aTransaction({ bundleId: "com.example.other" }),
        }),
        "A transaction of another environment within": notification({
          transaction: aTransaction({ environment: "Sandbox" }),
        }),
        "Renewal info of another lineage within": notification({
          renewalInfo: aRenewalInfo({ originalTransactionId: "9" }),
        }),
        "Renewal info in place of the transaction within": notification({ transaction: aRenewalInfo() }),
      },
      "notification",
    ),
  ],
};

export const OTHER_PAYLOADS: readonly Group[] = [RENEWAL_INFOS, NOTIFICATIONS];
