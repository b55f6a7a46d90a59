import type { Application, ApplicationDirectory } from "../../../lib/applications/application.ts";
import type { FactStore } from "../../../lib/customers/storing/fact-store.ts";
import type { ReceivedNotification } from "../../../lib/customers/notifications.ts";
import { receiveAndroidStoreNotification } from "../../../lib/customers/receive-android-store-notification.ts";
import { receiveIosStoreNotification } from "../../../lib/customers/receive-ios-store-notification.ts";
import type { AndroidStore } from "../../../lib/stores/android-store/android-store.ts";
import type { PushTokenVerifier } from "../../../lib/stores/android-store/push-token.ts";
import type { AndroidFact, AndroidSubscriptionFact, IosFact, ModelRequest } from "./stated-facts.ts";
import { toReading } from "./as-verified.ts";
import { aVerifiedNotification } from "../../../testing/support/stores/ios-store.ts";

/** Outcome of a notification. */
interface Received {
  readonly received: readonly ReceivedNotification[];
  /** Tokens of the purchases that it made the service acknowledge. */
  readonly acknowledged: readonly string[];
}

/** Google's answers: it has dropped what it does not answer about. */
export const lookUpAmong =
  (answers: readonly AndroidFact[]): AndroidStore["lookUp"] =>
  (_, { purchaseToken }) => {
    const fact = answers.find(({ token }) => token === purchaseToken);
    return Promise.resolve(
      fact === undefined
        ? { outcome: "gone", status: 410, reason: "purchaseTokenNoLongerValid" }
        : { outcome: "verified", ...toReading(fact) },
    );
  };

/** Who pushes is proved elsewhere. */
const ANY_PUSH_TOKEN: PushTokenVerifier = {
  verify: () => Promise.resolve({ outcome: "verified", claims: { serviceAccount: "", audience: "" } }),
  disagreement: () => null,
};

const unexpected = (): Promise<never> => Promise.reject(new Error("A notification does not call this."));

/** Receives notifications of one application by the use cases, as if the stores had vouched for each. */
export const receptionOf = (store: FactStore, directory: ApplicationDirectory, application: Application) => {
  const bundleId = application.iosStore[0]?.bundleIdentifier ?? "";
  const packageName = application.androidStore[0]?.packageName ?? "";
  const received: ReceivedNotification[] = [];
  const acknowledged: string[] = [];
  const common = {
    ...store,
    directory,
    note: () => Promise.resolve(),
    requests: { add: unexpected },
    onReceived: (one: ReceivedNotification) => void received.push(one),
  };

  const receiveIos = (
    { environment, renewals: [renewal] }: ModelRequest,
    fact: IosFact | undefined,
  ): Promise<unknown> =>
    receiveIosStoreNotification(
      {
        ...common,
        trustedRoots: new Set(),
        notificationVerifier: {
          verifyNotification: () =>
            Promise.resolve({
              outcome: "verified",
              payload: aVerifiedNotification({
                bundleId,
                isInGrace: renewal?.isInGrace ?? false,
                environment,
                signedAt: store.now(),
              }),
            }),
          verifyNotificationParts: () =>
            Promise.resolve({
              outcome: "verified",
              payload: {
                transaction: fact === undefined ? null : { ...fact, bundleId },
                renewalInfo: renewal ?? null,
                appTransaction: null,
                isPartlyUnderstood: false,
              },
            }),
        },
      },
      { signedPayload: "signed by the App Store" },
    );

  const receiveAndroid = (
    fact: AndroidFact,
    answers: readonly AndroidSubscriptionFact[],
  ): Promise<unknown> => {
    const { token: purchaseToken } = fact;
    const member = fact.kind === "subscription" ? "subscriptionNotification" : "oneTimeProductNotification";
    const data = JSON.stringify({ packageName, [member]: { notificationType: 4, purchaseToken } });
    return receiveAndroidStoreNotification(
      {
        ...common,
        pushTokens: ANY_PUSH_TOKEN,
        androidStore: {
          // Google answers for all products of a purchase.
          lookUp: lookUpAmong([fact.kind === "one-time" ? { ...fact, asked: null } : fact, ...answers]),
          // It stays due, so that an answer from before is no news.
          acknowledge: (_, pending) => {
            acknowledged.push(pending.purchaseToken);
            return Promise.resolve({ outcome: "unavailable", retryAt: null, status: 503, reason: null });
          },
        },
        asks: { acknowledged: unexpected },
      },
      {
        request: { message: { data: Buffer.from(data).toString("base64") } },
        authorization: "Bearer signed by Google",
        address: "the service",
      },
    );
  };

  return async (request: ModelRequest): Promise<Received> => {
    received.length = 0;
    acknowledged.length = 0;
    const [fact] = request.facts;
    await (fact?.store === "android-store"
      ? receiveAndroid(fact, request.answers)
      : receiveIos(request, fact));
    return { received: [...received], acknowledged: [...acknowledged] };
  };
};
