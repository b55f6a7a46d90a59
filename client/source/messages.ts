import { createHmac, timingSafeEqual } from "node:crypto";
import type { AccountChange, StoreRequest } from "./contract.ts";

/** State of an account after a change. */
export type AccountChangeData = Omit<AccountChange, "timestamp" | "cursor">;

interface Sent<Type extends string, Data> {
  /** The same in each attempt to deliver the message, so that you recognize a duplicate. */
  readonly identifier: string;
  readonly type: Type;
  /** Time of the event, as ISO 8601. */
  readonly timestamp: string;
  readonly data: Data;
}

/** A message of the service. Later versions may send other types: ignore them and answer 2xx. */
export type Message =
  Sent<"account.entitlements_changed", AccountChangeData> | Sent<"store.request", StoreRequest>;

/** `Headers`, or the headers of node:http and Express. */
export type MessageHeaders =
  { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

export type MessageFault =
  /** A header is missing or malformed. */
  | "headers"
  /** Signed too long ago or in the future: a replay, or a wrong clock. */
  | "timestamp"
  /** No signature matches any of the secrets. */
  | "signature"
  /** The body is signed, but not a message. */
  | "body";

/** A message that must not be used. Answer it with 400. */
export class MessageError extends Error {
  readonly fault: MessageFault;

  constructor(fault: MessageFault, message: string) {
    super(message);
    this.name = "MessageError";
    this.fault = fault;
  }
}

/** Allowance for clock skew in seconds: the specification's five minutes. */
const TOLERANCE_SECONDS = 300;
/** Shortest secret, in bytes, as the specification says. */
const SHORTEST_SECRET = 24;
const SECRET = /^(?:whsec_)?([A-Za-z0-9+/]+={0,2})$/;

/** @throws TypeError if the text is not a secret: it would let everybody sign */
const keyOf = (secret: string): Buffer => {
  const [, base64 = ""] = SECRET.exec(secret) ?? [];
  const key = Buffer.from(base64, "base64");
  if (key.length < SHORTEST_SECRET)
    throw new TypeError("A secret is what `destination rotate` printed: whsec_ and base64.");
  return key;
};

const headerOf = (headers: MessageHeaders, name: string): string => {
  const found =
    typeof headers["get"] === "function"
      ? headers["get"](name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof found === "string" && found !== "") return found;
  throw new MessageError("headers", `The header ${name} is missing.`);
};

const signatureOf = (key: Buffer, identifier: string, timestamp: string, body: string | Uint8Array): Buffer =>
  createHmac("sha256", key).update(`${identifier}.${timestamp}.`).update(body).digest();

const isSame = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other);

/** The signatures of version 1 in a header: `v1,<base64> v1,<base64>`. */
const signaturesIn = (header: string): Buffer[] =>
  header.split(" ").flatMap((part) => (part.startsWith("v1,") ? Buffer.from(part.slice(3), "base64") : []));

const parsed = (identifier: string, body: string | Uint8Array): Message => {
  try {
    const { type, timestamp, data } = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof type === "string" && typeof timestamp === "string" && typeof data === "object")
      return { identifier, type, timestamp, data } as Message;
  } catch {
    // No JSON, or null.
  }
  throw new MessageError("body", "The message is signed, but not of the documented shape.");
};

export interface VerifyOptions {
  /** Milliseconds since 1970; unset: now. */
  readonly now?: number;
}

/**
 * Verifies a message by the Standard Webhooks specification.
 *
 * @param body as it was received, byte for byte: JSON that was parsed and written again has another signature
 * @param secrets the destination's secret; during a rotation, the old one and the new one
 * @throws MessageError if it must not be used; TypeError if a secret is malformed, or the body was parsed
 * @see https://www.standardwebhooks.com
 */
export const verifyMessage = (
  body: string | Uint8Array,
  headers: MessageHeaders,
  secrets: string | readonly string[],
  { now = Date.now() }: VerifyOptions = {},
): Message => {
  if (typeof body !== "string" && !(body instanceof Uint8Array))
    throw new TypeError("The body must be given as it was received, before anything parses it.");
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new TypeError("There is no secret.");
  const identifier = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const given = signaturesIn(headerOf(headers, "webhook-signature"));
  // Dots separate the signed parts: an identifier with one could take over another message's signature.
  if (identifier.includes("."))
    throw new MessageError("headers", "The header webhook-id must not have a dot.");
  if (!/^\d{1,12}$/.test(timestamp))
    throw new MessageError("headers", "The header webhook-timestamp is no number of seconds.");
  if (Math.abs(Math.floor(now / 1000) - Number(timestamp)) > TOLERANCE_SECONDS)
    throw new MessageError("timestamp", "The message was signed more than five minutes from now.");
  const expected = keys.map((key) => signatureOf(key, identifier, timestamp, body));
  if (!expected.some((signature) => given.some((one) => isSame(one, signature))))
    throw new MessageError("signature", "The message is not signed with the destination's secret.");
  return parsed(identifier, body);
};

/** A message as the service sends it, for tests of a receiver. */
export const signMessage = (
  { identifier, type, timestamp, data }: Message,
  secret: string,
  { now = Date.now() }: VerifyOptions = {},
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } => {
  const body = JSON.stringify({ type, timestamp, data });
  const seconds = String(Math.floor(now / 1000));
  const signature = signatureOf(keyOf(secret), identifier, seconds, body).toString("base64");
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": identifier,
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${signature}`,
    },
  };
};
