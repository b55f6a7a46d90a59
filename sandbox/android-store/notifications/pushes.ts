import { randomInt } from "node:crypto";
import type { JWTHeaderParameters, JWTPayload } from "jose";
import * as z from "zod";
import { DAY } from "../../../lib/duration.ts";
import { isInstant, isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import type { PushKeys } from "./push-keys.ts";

interface RequestChanges {
  readonly claims?: JWTPayload;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly message?: Readonly<Record<string, unknown>>;
}

interface PushRequest {
  readonly headers: Readonly<Record<"authorization" | "content-type", string>>;
  readonly body: string;
}

export interface PushOptions {
  /** The endpoint; null: there is none. */
  readonly pushUrl?: string | null | (() => string | null);
  /** Audience of the tokens; unset: the endpoint's URL, as in Pub/Sub. */
  readonly audience?: string;
  /** E-mail of the service account that the subscription pushes as. */
  readonly serviceAccount?: string;
  /** Milliseconds until a push counts as failed. */
  readonly pushTimeout?: number;
}

const message = z.object({
  data: z.string(),
  messageId: z.string(),
  message_id: z.string(),
  publishTime: z.string(),
  publish_time: z.string(),
});

const instant = z.number().refine(isInstant);

const waitingPush = z.object({ message, publishedAt: instant, tries: z.int().positive(), nextAt: instant });
export const savedPushes = z.array(waitingPush);

type Message = Readonly<z.output<typeof message>>;

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

const newMessage = (data: unknown, at: Instant): Message => {
  const messageId = String(randomInt(1e14, 2e14));
  return {
    data: Buffer.from(typeof data === "string" ? data : JSON.stringify(data)).toString("base64"),
    messageId,
    message_id: messageId,
    publishTime: isoTime(at),
    publish_time: isoTime(at),
  };
};

export type Pushes = ReturnType<typeof createPushes>;

/** A Pub/Sub topic with one push subscription. */
export const createPushes = (
  options: PushOptions,
  keys: PushKeys,
  time: () => Instant,
  saved: z.output<typeof savedPushes>,
) => {
  const { serviceAccount = SERVICE_ACCOUNT, pushTimeout = TIMEOUT } = options;
  let waiting = new Set(saved);
  let isEnabled = true;
  /** Ends with the last push in flight. */
  let last: Promise<void> = Promise.resolve();
  const inTurn = async (work: () => Promise<void>): Promise<void> => (last = last.then(work));

  const pushUrl = (): string | null =>
    typeof options.pushUrl === "function" ? options.pushUrl() : (options.pushUrl ?? null);

  const requestOf = async (
    message: object,
    at: Instant,
    { claims, header }: Omit<RequestChanges, "message">,
  ): Promise<PushRequest> => {
    const issuedAt = Math.floor(Math.max(at, time()) / 1000);
    const token = await keys.sign(
      {
        aud: options.audience ?? pushUrl() ?? "",
        azp: SUBJECT,
        email: serviceAccount,
        email_verified: true,
        exp: issuedAt + TOKEN_SECONDS,
        iat: issuedAt,
        iss: "https://accounts.google.com",
        sub: SUBJECT,
        ...claims,
      },
      header,
    );
    return {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ message, subscription: SUBSCRIPTION }),
    };
  };

  /** Whether the endpoint acknowledged the message. */
  const push = async (url: string, message: Message, at: Instant): Promise<boolean> => {
    try {
      const response = await fetch(url, {
        method: "POST",
        ...(await requestOf(message, at, {})),
        redirect: "manual",
        signal: AbortSignal.timeout(pushTimeout),
      });
      await response.arrayBuffer();
      return ACKNOWLEDGED.has(response.status);
    } catch {
      return false;
    }
  };

  /** Pushes that fail wait in the set of this call: `forget` replaces it, so that none of them is resent. */
  const pushAll = async (url: string, notifications: readonly unknown[], at: Instant): Promise<void> => {
    const failed = waiting;
    const waits = notifications.map((data) => ({
      message: newMessage(data, at),
      publishedAt: at,
      tries: 1,
      nextAt: at + BACKOFF.first,
    }));
    for (const wait of waits) if (!(await push(url, wait.message, at))) failed.add(wait);
  };

  const sendAgain = async (at: Instant): Promise<void> => {
    const failed = waiting;
    const url = pushUrl();
    for (const wait of [...failed].filter(({ nextAt }) => nextAt <= at)) {
      const acknowledged = url !== null && (await push(url, wait.message, at));
      failed.delete(wait);
      const nextAt = at + Math.min(BACKOFF.first * 2 ** wait.tries, BACKOFF.longest);
      if (!acknowledged && nextAt <= wait.publishedAt + RETENTION)
        failed.add({ ...wait, tries: wait.tries + 1, nextAt });
    }
  };

  const forget = (): void => {
    waiting = new Set();
  };

  return {
    /** Publishes notifications in order: each is answered or has failed before the next is pushed. */
    publish: (notifications: readonly unknown[], at: Instant): void => {
      const url = pushUrl();
      if (!isEnabled || url === null || notifications.length === 0) return;
      void inTurn(async () => pushAll(url, notifications, at));
    },
    /** Resolves when every push in flight was answered or has failed. */
    pushed: async (): Promise<void> => last,
    /** When a push that failed is sent again; null: none is. */
    nextAt: (): Instant | null =>
      waiting.size === 0 ? null : Math.min(...[...waiting].map(({ nextAt }) => nextAt)),
    /** Resends the pushes that are due by the given time. */
    sendAgain: async (at: Instant): Promise<void> => inTurn(async () => sendAgain(at)),
    /** A push request, valid or not; claims and header parameters that are undefined are left out. */
    request: async (data: unknown, { message, ...changes }: RequestChanges = {}): Promise<PushRequest> =>
      requestOf({ ...newMessage(data, time()), ...message }, time(), changes),
    isEnabled: (): boolean => isEnabled,
    /** While switched off, nothing is published, and pending retries are forgotten. */
    enable: (enabled: boolean): void => {
      isEnabled = enabled;
      if (!enabled) forget();
    },
    forget,
    save: (): z.input<typeof savedPushes> => [...waiting],
  };
};
