import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { exportJWK, SignJWT, type JSONWebKeySet } from "jose";
import * as z from "zod";
import { DAY } from "../../../lib/duration.ts";
import { isInstant, isoTime, type Instant } from "../../../lib/entitlements/time.ts";

export interface PushOptions {
  /** The endpoint; null: there is none. */
  readonly pushUrl?: string | null | (() => string | null);
  /** Audience of the tokens; unset: the endpoint's URL, as in Pub/Sub. */
  readonly audience?: string;
  /** E-mail of the service account that the subscription pushes as. */
  readonly serviceAccount?: string;
}

const instant = z.number().refine(isInstant);
const message = z.object({
  data: z.string(),
  messageId: z.string(),
  message_id: z.string(),
  publishTime: z.string(),
  publish_time: z.string(),
});
const waitingPush = z.object({
  message,
  publishedAt: instant,
  /** Failed tries. */ tries: z.int().min(0),
  nextAt: instant,
});
export const savedPushes = z.array(waitingPush);

/** The first key signs; a state that was saved long ago may have another. */
export const savedKeys = z.array(z.object({ identifier: z.string(), privateKey: z.string() }));

const SUBSCRIPTION = "projects/sandbox/subscriptions/play-notifications";
const SERVICE_ACCOUNT = "play-push@sandbox.iam.gserviceaccount.com";
/** The service account's numeric identifier. */
const SUBJECT = "100000000000000000001";
const TOKEN_SECONDS = 3600;
const TIMEOUT = 10_000;

/** @see https://cloud.google.com/pubsub/docs/push#receive_push */
const ACKNOWLEDGED = new Set([102, 200, 201, 202, 204]);
/** @see https://cloud.google.com/pubsub/docs/handling-failures#exponential_backoff */
const BACKOFF = { first: 10_000, longest: 600_000 };
const RETENTION = 7 * DAY;

const newMessage = (data: unknown, at: Instant): z.output<typeof message> => {
  const messageId = String(randomInt(1e14, 2e14));
  return {
    data: Buffer.from(JSON.stringify(data)).toString("base64"),
    messageId,
    message_id: messageId,
    publishTime: isoTime(at),
    publish_time: isoTime(at),
  };
};

/** Google's key for the tokens of pushes; it is made when it is needed. */
const createPushKeys = (saved: z.output<typeof savedKeys>) => {
  let keys = saved;
  const newest = () => {
    const [key] = keys;
    if (key !== undefined) return key;
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const made = {
      identifier: randomBytes(20).toString("hex"),
      privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
    keys = [made];
    return made;
  };
  return {
    sign: async (claims: Record<string, unknown>): Promise<string> => {
      const { identifier, privateKey } = newest();
      return new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid: identifier, typ: "JWT" })
        .sign(createPrivateKey(privateKey));
    },
    list: async (): Promise<JSONWebKeySet> => {
      const { identifier, privateKey } = newest();
      const key = await exportJWK(createPublicKey(privateKey));
      return { keys: [{ ...key, kid: identifier, alg: "RS256", use: "sig" }] };
    },
    save: (): z.input<typeof savedKeys> => keys,
  };
};

export type Pushes = ReturnType<typeof createPushes>;

/** A Pub/Sub topic with one push subscription. */
export const createPushes = (
  { audience, serviceAccount = SERVICE_ACCOUNT, ...options }: PushOptions,
  time: () => Instant,
  saved: { readonly pushes: z.output<typeof savedPushes>; readonly keys: z.output<typeof savedKeys> },
) => {
  const keys = createPushKeys(saved.keys);
  let waiting = new Set(saved.pushes);
  /** First tries, which are sent at once and so are no events to come. */
  const sentAtOnce = new WeakSet<object>();
  let isEnabled = true;
  /** Ends with the last push in flight. */
  let last: Promise<void> = Promise.resolve();

  const pushUrl = (): string | null =>
    typeof options.pushUrl === "function" ? options.pushUrl() : (options.pushUrl ?? null);

  const requestOf = async (message: object, at: Instant) => {
    const issuedAt = Math.floor(Math.max(at, time()) / 1000);
    const token = await keys.sign({
      aud: audience ?? pushUrl() ?? "",
      azp: SUBJECT,
      email: serviceAccount,
      email_verified: true,
      exp: issuedAt + TOKEN_SECONDS,
      iat: issuedAt,
      iss: "https://accounts.google.com",
      sub: SUBJECT,
    });
    return {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ message, subscription: SUBSCRIPTION }),
    };
  };

  const push = async (url: string, message: object, at: Instant): Promise<boolean> => {
    try {
      const response = await fetch(url, {
        method: "POST",
        ...(await requestOf(message, at)),
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT),
      });
      await response.arrayBuffer();
      return ACKNOWLEDGED.has(response.status);
    } catch {
      return false;
    }
  };

  /** Failed pushes wait in the set of this call. `forget` replaces that set, so that none of them is resent. */
  const pushDue = async (at: Instant): Promise<void> => {
    const queue = waiting;
    const url = pushUrl();
    for (const wait of [...queue].filter(({ nextAt }) => nextAt <= at)) {
      const acknowledged = url !== null && (await push(url, wait.message, at));
      queue.delete(wait);
      const nextAt = at + Math.min(BACKOFF.first * 2 ** wait.tries, BACKOFF.longest);
      if (!acknowledged && nextAt <= wait.publishedAt + RETENTION)
        queue.add({ ...wait, tries: wait.tries + 1, nextAt });
    }
  };
  const sendDue = async (at: Instant): Promise<void> => (last = last.then(async () => pushDue(at)));

  const forget = (): void => {
    waiting = new Set();
  };

  return {
    /** Publishes notifications in order: each is answered or has failed before the next is pushed. */
    publish: (notifications: readonly unknown[], at: Instant): void => {
      if (!isEnabled || pushUrl() === null || notifications.length === 0) return;
      for (const data of notifications) {
        const first = { message: newMessage(data, at), publishedAt: at, tries: 0, nextAt: at };
        sentAtOnce.add(first);
        waiting.add(first);
      }
      void sendDue(at);
    },
    /** Resolves when every push in flight was answered or has failed. */
    pushed: async (): Promise<void> => last,
    /** When a push is sent; null: none is. */
    nextAt: (): Instant | null => {
      const moments = [...waiting].filter((wait) => !sentAtOnce.has(wait)).map(({ nextAt }) => nextAt);
      return moments.length === 0 ? null : Math.min(...moments);
    },
    /** Sends the pushes that are due by the given time. */
    sendDue,
    request: async (data: unknown) => requestOf(newMessage(data, time()), time()),
    /** While switched off, nothing is published, and pushes that wait are forgotten. */
    enable: (enabled: boolean): void => {
      isEnabled = enabled;
      if (!enabled) forget();
    },
    forget,
    keys: keys.list,
    save: () => ({ pushes: [...waiting], keys: keys.save() }),
  };
};
