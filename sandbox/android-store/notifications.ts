import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { exportJWK, SignJWT, type JSONWebKeySet } from "jose";
import * as z from "zod";
import { DAY } from "../../lib/duration.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { instant } from "../fields.ts";
import { createPushQueue, waitingPush } from "../pushes.ts";

/** @see https://developer.android.com/google/play/billing/rtdn-reference */
export const SUBSCRIPTION_NOTIFICATIONS = {
  RECOVERED: 1,
  RENEWED: 2,
  CANCELED: 3,
  PURCHASED: 4,
  ON_HOLD: 5,
  IN_GRACE_PERIOD: 6,
  RESTARTED: 7,
  DEFERRED: 9,
  PAUSED: 10,
  PAUSE_SCHEDULE_CHANGED: 11,
  REVOKED: 12,
  EXPIRED: 13,
  ITEMS_CHANGED: 17,
  PENDING_PURCHASE_CANCELED: 20,
} as const;
export type SubscriptionNotification = keyof typeof SUBSCRIPTION_NOTIFICATIONS;

/** CANCELED is about a pending purchase; a refund is notified as a voided purchase. */
export const ONE_TIME_PRODUCT_NOTIFICATIONS = { PURCHASED: 1, CANCELED: 2 } as const;

const PRODUCT_TYPES = { subscription: 1, one_time_product: 2 } as const;
const REFUND_TYPES = { full: 1, quantityBasedPartial: 2 } as const;

/** Reason of a pending review; a chargeback, as in the voided purchases' reasons. */
const CHARGEBACK = 7;

/** Content of a notification, besides the purchase and the time. */
export type Notice =
  | { readonly subscription: SubscriptionNotification }
  | { readonly oneTimeProduct: keyof typeof ONE_TIME_PRODUCT_NOTIFICATIONS; readonly sku: string }
  | {
      readonly voided: keyof typeof PRODUCT_TYPES;
      readonly orderId: string;
      readonly refund: keyof typeof REFUND_TYPES;
    }
  | { readonly refundReview: string; readonly orderId: string };

const contentOf = (notice: Notice, purchaseToken: string) => {
  const version = "1.0";
  if ("subscription" in notice) {
    const notificationType = SUBSCRIPTION_NOTIFICATIONS[notice.subscription];
    return { subscriptionNotification: { version, notificationType, purchaseToken } };
  }
  if ("oneTimeProduct" in notice) {
    const notificationType = ONE_TIME_PRODUCT_NOTIFICATIONS[notice.oneTimeProduct];
    return { oneTimeProductNotification: { version, notificationType, purchaseToken, sku: notice.sku } };
  }
  const { orderId } = notice;
  if ("voided" in notice) {
    const [productType, refundType] = [PRODUCT_TYPES[notice.voided], REFUND_TYPES[notice.refund]];
    return { voidedPurchaseNotification: { purchaseToken, orderId, productType, refundType } };
  }
  const { refundReview: pendingRefundToken } = notice;
  const review = { version, pendingRefundToken, orderId, refundReason: CHARGEBACK };
  return { pendingRefundReviewNotification: review };
};

export type DeveloperNotification = ReturnType<typeof developerNotification>;

export const developerNotification = (
  packageName: string,
  purchaseToken: string,
  notice: Notice,
  at: Instant,
) => ({
  version: "1.0",
  packageName,
  eventTimeMillis: String(at),
  ...contentOf(notice, purchaseToken),
});

export interface PushOptions {
  /** The endpoint; null, or unset: there is none. */
  readonly pushUrl?: () => string | null;
  /** Audience of the tokens; unset: the endpoint's URL, as in Pub/Sub. */
  readonly audience?: string;
  /** E-mail of the service account that the subscription pushes as. */
  readonly serviceAccount?: string;
}

const message = z.object({ data: z.string(), messageId: z.string(), publishedAt: instant });
const pendingPush = waitingPush.extend(message.shape);
type PendingPush = z.output<typeof pendingPush>;

export const savedPushes = z.object({
  /** Pushes that another version saved are dropped: a notification may be lost. */
  pushes: z.array(pendingPush).catch([]),
  /** The first key signs; a state that was saved long ago may have another. */
  keys: z.array(z.object({ identifier: z.string(), privateKey: z.string() })),
});
type SavedPushes = z.output<typeof savedPushes>;

const SUBSCRIPTION = "projects/sandbox/subscriptions/play-notifications";
/** The pushes are signed as this account, unless another is given. */
export const SERVICE_ACCOUNT = "play-push@sandbox.iam.gserviceaccount.com";
/** The service account's numeric identifier. */
const SUBJECT = "100000000000000000001";
const TOKEN_SECONDS = 3600;

/** @see https://cloud.google.com/pubsub/docs/push#receive_push */
const ACKNOWLEDGED = new Set([102, 200, 201, 202, 204]);
/** @see https://cloud.google.com/pubsub/docs/handling-failures#exponential_backoff */
const BACKOFF = { first: 10_000, longest: 600_000 };
const RETENTION = 7 * DAY;

const newMessage = (data: unknown, publishedAt: Instant): z.output<typeof message> => ({
  data: Buffer.from(JSON.stringify(data)).toString("base64"),
  messageId: String(randomInt(1e14, 2e14)),
  publishedAt,
});

const newKey = () => ({
  identifier: randomBytes(20).toString("hex"),
  privateKey: generateKeyPairSync("rsa", { modulusLength: 2048 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString(),
});

/** Google's key for the tokens of pushes; it is made when it is needed. */
const createPushKeys = ([saved]: SavedPushes["keys"]) => {
  let key = saved;
  const current = () => (key ??= newKey());
  return {
    sign: async (claims: Record<string, unknown>): Promise<string> => {
      const { identifier, privateKey } = current();
      return new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid: identifier, typ: "JWT" })
        .sign(createPrivateKey(privateKey));
    },
    list: async (): Promise<JSONWebKeySet> => {
      const { identifier, privateKey } = current();
      const jwk = await exportJWK(createPublicKey(privateKey));
      return { keys: [{ ...jwk, kid: identifier, alg: "RS256", use: "sig" }] };
    },
    save: () => (key === undefined ? [] : [key]),
  };
};

/** A Pub/Sub topic with one push subscription. */
export const createPushes = (
  { audience, serviceAccount = SERVICE_ACCOUNT, pushUrl: url = () => null }: PushOptions,
  time: () => Instant,
  saved: SavedPushes,
) => {
  const keys = createPushKeys(saved.keys);

  const requestOf = async ({ data, messageId, publishedAt }: z.output<typeof message>, at: Instant) => {
    const issuedAt = Math.floor(Math.max(at, time()) / 1000);
    const token = await keys.sign({
      aud: audience ?? url() ?? "",
      azp: SUBJECT,
      email: serviceAccount,
      email_verified: true,
      exp: issuedAt + TOKEN_SECONDS,
      iat: issuedAt,
      iss: "https://accounts.google.com",
      sub: SUBJECT,
    });
    const publishTime = isoTime(publishedAt);
    const ids = { messageId, message_id: messageId };
    const message = { data, ...ids, publishTime, publish_time: publishTime };
    return {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ message, subscription: SUBSCRIPTION }),
    };
  };
  const queue = createPushQueue<PendingPush>({
    url,
    request: async (push) => requestOf(push, push.dueAt),
    isTaken: (status) => ACKNOWLEDGED.has(status),
    retryAfter: ({ failures, dueAt, publishedAt }) => {
      const delay = Math.min(BACKOFF.first * 2 ** failures, BACKOFF.longest);
      return dueAt + delay <= publishedAt + RETENTION ? delay : null;
    },
  });
  queue.restore(saved.pushes);

  return {
    ...queue,
    publish: (notifications: readonly unknown[], at: Instant): void =>
      queue.publish(...notifications.map((data) => ({ ...newMessage(data, at), failures: 0, dueAt: at }))),
    request: async (data: unknown) => requestOf(newMessage(data, time()), time()),
    keys: keys.list,
    save: (): SavedPushes => ({ pushes: queue.waiting(), keys: keys.save() }),
  };
};
