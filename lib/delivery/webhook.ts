import { createHmac } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { DAY } from "../duration.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import { retryTime } from "../pause.ts";
import {
  checkDestinationUrl,
  createCheckedLookup,
  LookupError,
  lookupName,
  type AllowsDestination,
  type NameLookup,
} from "./addresses.ts";
import {
  ATTEMPT_MILLISECONDS,
  failedBecause,
  SENDER,
  type FailureReason,
  type Message,
  type SendOutcome,
} from "./message.ts";

/** Headers and body of a request. */
interface Content {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Visible ASCII without the dot, which separates the signed parts. */
const IDENTIFIER = /^[!-\-/-~]+$/;

/**
 * A message as a webhook, signed at the moment of an attempt, once with each secret.
 *
 * @throws TypeError if the message's identifier is not visible ASCII without a dot, or there is no secret
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export const signedWebhook = (
  { identifier, type, timestamp, data }: Message,
  secrets: readonly Uint8Array[],
  moment: Instant,
): Content => {
  if (!IDENTIFIER.test(identifier))
    throw new TypeError("A message's identifier must be visible ASCII without a dot.");
  if (secrets.length === 0) throw new TypeError("A webhook needs a secret that signs it.");
  const text = JSON.stringify({ type, timestamp: isoTime(timestamp), data });
  const signedAt = String(Math.floor(moment / 1000));
  const signed = `${identifier}.${signedAt}.${text}`;
  const signatures = secrets.map((secret) => createHmac("sha256", secret).update(signed).digest("base64"));
  return {
    text,
    headers: {
      "content-type": "application/json",
      "webhook-id": identifier,
      "webhook-timestamp": signedAt,
      "webhook-signature": signatures.map((signature) => `v1,${signature}`).join(" "),
    },
  };
};

const LONGEST_HEAD_BYTES = 16 * 1024;
const LONGEST_BODY_BYTES = 64 * 1024;
const MOST_INFORMATIONAL_ANSWERS = 10;

interface Post extends Content {
  readonly url: URL;
  readonly agent: http.Agent;
  /** Ends the request: with the status if it has arrived, otherwise as `timeout`. */
  readonly deadline: AbortSignal;
}

type PostResult =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | {
      readonly because: FailureReason;
      /** The connection was left open by an earlier request, so the other end may have closed it meanwhile. */
      readonly isKeptConnection: boolean;
    };

type Stage = "connect" | "tls" | "answer";

const reasonOf = (error: NodeJS.ErrnoException, stage: Stage): FailureReason => {
  if (error instanceof LookupError) return error.reason;
  if (stage !== "answer") return stage;
  return error.code?.startsWith("HPE_") === true ? "protocol" : "connect";
};

/** Reads and drops the body, so that the connection can be reused; a long body is cut off. */
const dropBody = (response: http.IncomingMessage, stop: () => void): void => {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > LONGEST_BODY_BYTES) stop();
  });
};

/**
 * Sends one POST: the status of its answer, redirects included. Never rejects. A status that has arrived counts, whatever
 * happens to the body, which has until the deadline: some receivers work while they write it.
 */
export const post = ({ url, headers, text, agent, deadline }: Post): Promise<PostResult> => {
  const { promise, resolve } = Promise.withResolvers<PostResult>();
  const { request: open } = url.protocol === "https:" ? https : http;
  const request = open(url, { method: "POST", headers, agent, maxHeaderSize: LONGEST_HEAD_BYTES });
  let stage: Stage = "connect";
  let isKeptConnection = false;
  let informational = 0;
  let answer: PostResult | undefined;

  const settle = (because: FailureReason): void => {
    deadline.removeEventListener("abort", timeOut);
    resolve(answer ?? { because, isKeptConnection });
  };
  const stop = (because: FailureReason): void => {
    settle(because);
    request.destroy();
  };
  const timeOut = (): void => stop("timeout");

  request.on("socket", (socket) => {
    isKeptConnection = !socket.connecting;
    if (isKeptConnection) {
      stage = "answer";
      return;
    }
    socket.once("connect", () => (stage = url.protocol === "https:" ? "tls" : "answer"));
    socket.once("secureConnect", () => (stage = "answer"));
  });
  request.on("information", () => {
    informational += 1;
    if (informational > MOST_INFORMATIONAL_ANSWERS) stop("protocol");
  });
  request.on("upgrade", () => stop("protocol"));
  request.on("response", (response) => {
    answer = { status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] };
    dropBody(response, () => stop("protocol"));
  });
  request.on("error", (error) => settle(reasonOf(error, stage)));
  request.on("close", () => settle("connect"));
  deadline.addEventListener("abort", timeOut);
  if (deadline.aborted) timeOut();
  request.end(text);
  return promise;
};

/** Maximum connections to one host. Further messages wait for one, within their own time limit. */
export const CONNECTIONS_PER_HOST = 64;

/** Below the five seconds after which Node.js servers close an idle connection; most others wait longer. */
const IDLE_MILLISECONDS = 4_000;

export interface SenderOptions {
  readonly allowsDestination: AllowsDestination;
  /** Unset: the system's resolver. */
  readonly lookup?: NameLookup;
  readonly now: () => Instant;
  /** Time limit of an attempt; unset: 15 seconds. */
  readonly attemptMilliseconds?: number;
}

/** Every connection is checked when it is made, and verifies the certificate: no TLS session is resumed. */
const agentsOf = ({ Agent }: typeof http | typeof https, options: Pick<https.AgentOptions, "lookup">) => {
  const common = {
    ...options,
    maxSockets: CONNECTIONS_PER_HOST,
    maxCachedSessions: 0,
    rejectUnauthorized: true,
  };
  return {
    kept: new Agent({ ...common, keepAlive: true, timeout: IDLE_MILLISECONDS }),
    fresh: new Agent({ ...common, keepAlive: false }),
  };
};

const outcomeOf = (result: PostResult, now: Instant): SendOutcome => {
  if ("because" in result) return failedBecause(result.because);
  const { status, retryAfter } = result;
  if (status >= 200 && status < 300) return { outcome: "delivered" };
  if (status === 410) return { outcome: "gone" };
  const asksToWait = status === 429 || status === 503;
  return failedBecause("status", status, asksToWait ? retryTime(retryAfter, now, DAY) : null);
};

/**
 * Sends to public https addresses, save where a URL is allowed as it is. One sender serves all receivers and keeps their
 * connections. Each call makes one attempt to POST. Only a 2xx is a delivery; redirects are not followed.
 */
export const createSender = ({
  allowsDestination,
  lookup = lookupName,
  now,
  attemptMilliseconds = ATTEMPT_MILLISECONDS,
}: SenderOptions) => {
  const agentsFor = (isAnyAddressAllowed: boolean) => {
    const options = { lookup: createCheckedLookup(lookup, isAnyAddressAllowed) };
    return { secure: agentsOf(https, options), plain: agentsOf(http, options) };
  };
  const [checked, unchecked] = [agentsFor(false), agentsFor(true)];

  return async (target: string, { text, headers }: Content): Promise<SendOutcome> => {
    const url = URL.parse(target);
    if (url === null || checkDestinationUrl(target, allowsDestination) !== null)
      return failedBecause("address");
    const { secure, plain } = allowsDestination(target) ? unchecked : checked;
    const { kept, fresh } = url.protocol === "https:" ? secure : plain;
    const length = String(Buffer.byteLength(text));
    const attempt = {
      url,
      text,
      headers: { ...headers, "content-length": length, "user-agent": SENDER },
      deadline: AbortSignal.timeout(attemptMilliseconds),
    };
    const result = await post({ ...attempt, agent: kept });
    // A kept connection that the other end has closed meanwhile says nothing about the destination.
    const isStale = "because" in result && result.because === "connect" && result.isKeptConnection;
    return outcomeOf(isStale ? await post({ ...attempt, agent: fresh }) : result, now());
  };
};
