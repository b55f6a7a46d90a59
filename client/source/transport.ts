import { setTimeout as sleep } from "node:timers/promises";
import type { ErrorBody, ErrorCode, ErrorIssue } from "./contract.ts";

/**
 * The service's own code, or one of this client's: `UNREACHABLE` (no connection, or no answer in time) or
 * `UNEXPECTED_ANSWER` (something between here and the service answered).
 */
export type FailureCode = ErrorCode | "UNREACHABLE" | "UNEXPECTED_ANSWER";

/** A request that was refused, or not answered. It never holds the API key or the request's content. */
export class EntitlementsError extends Error {
  readonly code: FailureCode;
  /** HTTP status; null: there was no answer. */
  readonly status: number | null;
  /** With `INVALID_REQUEST`: the fields that are wrong. */
  readonly issues: readonly ErrorIssue[];
  /** Milliseconds after which the same request may succeed; null: the service did not say. */
  readonly retryAfter: number | null;

  constructor(
    code: FailureCode,
    message: string,
    details: {
      readonly status?: number | null;
      readonly issues?: readonly ErrorIssue[];
      readonly retryAfter?: number | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = "EntitlementsError";
    this.code = code;
    this.status = details.status ?? null;
    this.issues = details.issues ?? [];
    this.retryAfter = details.retryAfter ?? null;
  }

  /** Whether the same request may succeed later. Every request is safe to repeat. */
  get isTemporary(): boolean {
    if (this.code === "STORE_REJECTED_CREDENTIAL") return false;
    return this.status === null ? this.code === "UNREACHABLE" : this.status === 429 || this.status >= 500;
  }
}

/** The time, and how to wait; for tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits; rejects with the signal's reason when it is aborted. */
  wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface TransportOptions {
  /** The service's address, the deployment's output: `https://api.example.com`. */
  readonly baseUrl: string;
  /** An API key, or a function that returns it: a rotated key is used from the next request on. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Milliseconds for each attempt; unset: 10,000. */
  readonly timeout?: number;
  /** Milliseconds for all attempts and the waits between them; unset: 30,000. */
  readonly patience?: number;
  /** Unset: the process's. */
  readonly clock?: Clock;
}

interface SentRequest {
  readonly method: "GET" | "POST";
  /** Begins with a slash; percent-encoded. */
  readonly path: string;
  readonly body?: object;
  /** Member that is a list in every success. */
  readonly list: string;
}

/** Ends a call early: its promise then rejects with the signal's reason. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Sends a request, and retries while it may succeed: at most {@link ATTEMPTS} times, within the patience. */
type Send = (request: SentRequest, options?: CallOptions) => Promise<unknown>;

const ATTEMPTS = 4;
const TIMEOUT = 10_000;
const PATIENCE = 30_000;
/** Wait after the first failure without a `Retry-After`; doubled after each further one. */
const FIRST_WAIT = 200;

export const realClock: Clock = {
  now: () => Date.now(),
  wait: async (milliseconds, signal) =>
    sleep(milliseconds, undefined, signal && { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    }),
};

/** This machine, or one beside it: a key may be sent there without TLS. */
const isAtHand = (hostname: string): boolean =>
  hostname === "127.0.0.1" || hostname === "[::1]" || !/[.:]/.test(hostname);

/** @throws TypeError for an address that a key must not be sent to */
const addressOf = (baseUrl: string): string => {
  if (!URL.canParse(baseUrl))
    throw new TypeError("baseUrl must be the service's address, such as https://api.example.com.");
  const { protocol, hostname, username, search, hash, href } = new URL(baseUrl);
  if (protocol !== "https:" && !(protocol === "http:" && isAtHand(hostname)))
    throw new TypeError("baseUrl must begin with https://, or the API key could be read on the way.");
  if (username !== "" || search !== "" || hash !== "")
    throw new TypeError("baseUrl must be an address without credentials, query and fragment.");
  return href.replace(/\/+$/, "");
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isErrorBody = (value: unknown): value is ErrorBody =>
  isObject(value) && typeof value["error"] === "string" && typeof value["message"] === "string";

/**
 * Milliseconds in a `Retry-After` header: seconds, or an HTTP date; null: absent or malformed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
const retryAfterOf = (header: string | null, now: number): number | null => {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const moment = Date.parse(header);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
};

/** Undefined: not JSON. */
const jsonOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * The body of a success.
 *
 * @param list member that is a list in every success
 * @throws EntitlementsError with the service's code; rejects as `fetch` does if the body is cut off
 */
const readAnswer = async (response: Response, list: string, now: number): Promise<unknown> => {
  const { status } = response;
  const body = await jsonOf(response);
  if (status === 200 && isObject(body) && Array.isArray(body[list])) return body;
  const retryAfter = retryAfterOf(response.headers.get("retry-after"), now);
  if (status !== 200 && isErrorBody(body))
    throw new EntitlementsError(body.error, body.message, {
      status,
      retryAfter,
      ...(body.issues !== undefined && { issues: body.issues }),
    });
  throw new EntitlementsError(
    "UNEXPECTED_ANSWER",
    `The answer (HTTP status ${status}) is not one of the service's; see that the address is right.`,
    { status, retryAfter },
  );
};

const unreachable = (cause: unknown): EntitlementsError =>
  new EntitlementsError("UNREACHABLE", "The service could not be reached, or did not answer in time.", {
    cause,
  });

/** With jitter, so that a thousand callers do not return at the same moment. */
const waitAfter = (attempt: number): number => FIRST_WAIT * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);

/** @throws TypeError if the options are not usable */
export const createTransport = ({
  baseUrl,
  apiKey,
  timeout = TIMEOUT,
  patience = PATIENCE,
  clock = realClock,
}: TransportOptions): Send => {
  const address = addressOf(baseUrl);
  const currentKey = async (): Promise<string> => (typeof apiKey === "string" ? apiKey : apiKey());

  const attempt = async (
    { method, path, body, list }: SentRequest,
    within: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> => {
    const headers = {
      Authorization: `Bearer ${await currentKey()}`,
      Accept: "application/json",
      ...(body !== undefined && { "Content-Type": "application/json" }),
    };
    const limit = AbortSignal.timeout(within);
    try {
      const response = await fetch(address + path, {
        method,
        headers,
        // Frameworks must not cache this answer: an entitlement is valid only at its moment.
        cache: "no-store",
        redirect: "error",
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return await readAnswer(response, list, clock.now());
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof EntitlementsError ? error : unreachable(error);
    }
  };

  return async (request, { signal } = {}) => {
    const endsAt = clock.now() + patience;
    for (let count = 1; ; count += 1)
      try {
        signal?.throwIfAborted();
        return await attempt(request, Math.max(1, Math.min(timeout, endsAt - clock.now())), signal);
      } catch (error) {
        if (!(error instanceof EntitlementsError) || !error.isTemporary || count === ATTEMPTS) throw error;
        const pause = error.retryAfter ?? waitAfter(count);
        if (clock.now() + pause >= endsAt) throw error;
        await clock.wait(pause, signal);
      }
  };
};
