import { setTimeout as sleep } from "node:timers/promises";
import type { Instant } from "../entitlements/time.ts";
import { createLoadingCache } from "../loading-cache.ts";
import { within } from "../pause.ts";

/**
 * Time limits of a store's API, in milliseconds: a lookup and an acknowledgement in sequence stay within API Gateway's
 * timeout of 29 seconds.
 */
export const STORE_TIMING = {
  /** One HTTP request, up to the end of its body. */
  request: 4_000,
  /** Pause before the one retry. */
  pause: 250,
  /** One question or acknowledgement as a whole: secret, token, requests, pause and retry. */
  total: 10_000,
};
type StoreTiming = Readonly<typeof STORE_TIMING>;

/** Text of a secret; null where it does not exist or may not be read. Rejects where the lookup itself fails. */
export type ReadSecret = (name: string) => Promise<string | null>;

export interface StoreClientOptions {
  /** Root URL of the API, with or without a path; unset: the store's. */
  readonly rootUrl?: string | undefined;
  readonly readSecret: ReadSecret;
  readonly now: () => Instant;
  readonly timing?: StoreTiming;
  readonly fetch?: typeof fetch;
}

/**
 * A store's failure, for the log too: HTTP status and a one-word reason, never a message, URL, token, key or JWS.
 * - `unavailable`: no answer, one that cannot be parsed, or a temporary error.
 * - `credential-rejected`: the operator's credential is refused, or cannot be used: a configuration error.
 */
export type StoreFailure<Refusal extends string = never> = {
  /** HTTP status of the answer; null where there was none. */
  readonly status: number | null;
  /** The store's word for the error, or ours; null where there is none. */
  readonly reason: string | null;
} & (
  | { readonly outcome: Refusal }
  | { readonly outcome: "credential-rejected" }
  /** `retryAt`: time before which the store wants no further request; null: it names none. */
  | { readonly outcome: "unavailable"; readonly retryAt: Instant | null }
);

export const unavailable = (
  reason: string | null,
  status: number | null = null,
  retryAt: Instant | null = null,
): StoreFailure => ({ outcome: "unavailable", retryAt, status, reason });

/** A 200 that does not have the documented shape, or is too large. */
export const malformedAnswer = unavailable("malformedAnswer", 200);

const unreadableCredential = unavailable("credentialUnavailable");

export const credentialRejected = (reason: string): StoreFailure => ({
  outcome: "credential-rejected",
  status: null,
  reason,
});

/** The operator's credential cannot be used, or not be read. No `cause`: it could quote the secret or its name. */
export class CredentialError extends Error {
  override readonly name = "CredentialError";
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure) {
    super(`The credential of the store cannot be had: ${failure.reason}.`);
    this.failure = failure;
  }
}

/** @throws CredentialError */
export const readCredential = async (readSecret: ReadSecret, name: string): Promise<string> => {
  const text = await readSecret(name).catch(() => {
    throw new CredentialError(unreadableCredential);
  });
  if (text === null) throw new CredentialError(credentialRejected("secretIsUnreadable"));
  return text;
};

const CREDENTIALS_KEPT = 200;

interface Result {
  readonly outcome: string;
  readonly status?: number | null;
  readonly retryAt?: Instant | null;
}

/** Whether a retry may succeed. A malformed answer would be the same again. */
const mayPass = (result: Result): boolean =>
  result.outcome === "unavailable" && result.retryAt === null && result !== malformedAnswer;

/**
 * Asks a store with a credential, which is kept for a while: concurrent questions share one load, and a failed load is
 * forgotten. Asks once more, after a pause, where the store is unavailable without naming a time, or refuses a
 * credential of an earlier question.
 */
export const createStoreClient = <Credential, Made>(options: {
  /** `before`: what has expired. Rejects with {@link CredentialError}. */
  readonly load: (credential: Credential, before: Made | null | undefined) => Promise<Made>;
  readonly keptForMilliseconds: number;
  /** Whether a result shows that the credential must be loaded again. */
  readonly refuses: (result: Result) => boolean;
  readonly now: () => Instant;
  readonly timing: StoreTiming;
}) => {
  const { load, keptForMilliseconds, refuses, now, timing } = options;
  const credentials = createLoadingCache<Credential, Made>({
    load: async (credential, before) => load(credential, await before),
    now,
    maximumAgeMilliseconds: keptForMilliseconds,
    maximumEntries: CREDENTIALS_KEPT,
    textOf: JSON.stringify,
  });

  const attempt = async <Answer extends Result>(
    credential: Credential,
    send: (made: Made, deadline: AbortSignal) => Promise<Answer>,
    deadline: AbortSignal,
  ): Promise<{ readonly result: Answer | StoreFailure; readonly again: boolean }> => {
    const isKept = credentials.has(credential);
    const made = await within(deadline, credentials.get(credential)).catch((error: unknown) => {
      if (error instanceof CredentialError) return error;
      if (deadline.aborted) return null;
      throw error;
    });
    if (made === null) return { result: unreadableCredential, again: false };
    if (made instanceof CredentialError) return { result: made.failure, again: false };
    const result = await send(made, deadline);
    if (refuses(result)) credentials.forget(credential, (current) => current === made);
    if (result.outcome === "credential-rejected") return { result, again: isKept && refuses(result) };
    return { result, again: mayPass(result) };
  };

  /** Abort signal for one question or acknowledgement, however many calls it takes. */
  const newDeadline = () => AbortSignal.timeout(timing.total);
  return {
    newDeadline,
    ask: async <Answer extends Result>(
      credential: Credential,
      send: (made: Made, deadline: AbortSignal) => Promise<Answer>,
      deadline = newDeadline(),
    ): Promise<Answer | StoreFailure> => {
      const first = await attempt(credential, send, deadline);
      if (!first.again) return first.result;
      try {
        await sleep(timing.pause, undefined, { signal: deadline });
      } catch {
        return first.result;
      }
      return (await attempt(credential, send, deadline)).result;
    },
  };
};
