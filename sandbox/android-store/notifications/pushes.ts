import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { exportJWK, SignJWT, type JSONWebKeySet } from "jose";
import * as z from "zod";
import { DAY } from "../../../lib/duration.ts";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { instant } from "../../fields.ts";
import { createPushQueue, waitingPush } from "../../pushes.ts";

export interface PushOptions {
  /** The endpoint; null, or unset: there is none. */
  readonly pushUrl?: () => string | null;
  /** Audience of the tokens; unset: the endpoint's URL, as in Pub/Sub. */
  readonly audience?: string;
  /** E-mail of the service account that the subscription pushes as. */
  readonly serviceAccount?: string;
}

const message = z.object({ data: z.string(), messageId: z.string(), publishedAt: instant });
const pendingPush = waitingPush.unwrap().extend(message.shape);
type PendingPush = z.output<typeof pendingPush>;
/** Pushes that another version saved are dropped: a notification may be lost. */
export const savedPushes = z.array(pendingPush).catch([]);

/** The first key signs; a state that was saved long ago may have another. */
export const savedKeys = z.array(z.object({ identifier: z.string(), privateKey: z.string() }));

const SUBSCRIPTION = "projects/sandbox/subscriptions/play-notifications";
/** That the pushes are signed as, unless another is given. */
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
const createPushKeys = ([saved]: z.output<typeof savedKeys>) => {
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
    save: (): z.input<typeof savedKeys> => (key === undefined ? [] : [key]),
  };
};

/** A Pub/Sub topic with one push subscription. */
export const createPushes = (
  { audience, serviceAccount = SERVICE_ACCOUNT, pushUrl: url = () => null }: PushOptions,
  time: () => Instant,
  saved: { readonly pushes: readonly PendingPush[]; readonly keys: z.output<typeof savedKeys> },
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
    save: () => ({ pushes: queue.waiting(), keys: keys.save() }),
  };
};
