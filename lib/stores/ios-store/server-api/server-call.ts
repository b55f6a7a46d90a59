import { boundedText, parseJson } from "../../../bounded-text.ts";
import { within } from "../../../within.ts";
import {
  failureOf,
  keyRejectedAs,
  malformedAnswer,
  noAnswer,
  unreadableKey,
  type Failure,
} from "./server-failure.ts";
import { CredentialUnavailableError, UnusableCredentialError } from "../../credentials.ts";
import { withOneRetry, type StoreClientOptions } from "../../store-client.ts";
import { createServerTokens, type ServerToken, type TokenSubject } from "./server-token.ts";

export interface ServerRequest<Content> {
  readonly url: URL;
  /** Sent as JSON, by POST; null: a GET. */
  readonly body: unknown;
  /** Content of the answer; null where the answer is malformed. */
  readonly read: (answer: unknown) => Content | null;
}

export type CallResult<Content> = { readonly outcome: "answered"; readonly content: Content } | Failure;

export interface ServerCalls {
  /**
   * Sends a request, and retries it once where the store is unavailable without naming a time, or refuses a token of
   * an earlier request.
   */
  call<Content>(subject: TokenSubject, request: ServerRequest<Content>): Promise<CallResult<Content>>;
}

/** A page of twenty notifications is below half a megabyte. */
const LONGEST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Null where the body is too large. */
const readText = ({ body }: Response): Promise<string | null> =>
  boundedText(body ?? [], LONGEST_ANSWER_BYTES);

/** The store over HTTP. Every request has a timeout and a bounded body, and no redirect takes the token elsewhere. */
export const createServerCalls = ({
  readSecret,
  now,
  timing,
  fetch,
}: Required<Omit<StoreClientOptions, "rootUrl">>): ServerCalls => {
  const tokens = createServerTokens({ readSecret, now });

  const exchange = async <Content>(
    { url, body, read }: ServerRequest<Content>,
    { authorization }: ServerToken,
    signal: AbortSignal,
  ): Promise<CallResult<Content>> => {
    const response = await fetch(url, {
      method: body === null ? "GET" : "POST",
      headers: {
        accept: "application/json",
        authorization,
        ...(body !== null && { "content-type": "application/json" }),
      },
      ...(body !== null && { body: JSON.stringify(body) }),
      redirect: "manual",
      signal,
    });
    const { status } = response;
    if (status !== 200) {
      const text = await readText(response).catch(() => null);
      return failureOf({ status, retryAfter: response.headers.get("retry-after"), body: text }, now());
    }
    const content = read(parseJson(await readText(response)));
    return content === null ? malformedAnswer : { outcome: "answered", content };
  };

  const send = async <Content>(
    request: ServerRequest<Content>,
    token: ServerToken,
    deadline: AbortSignal,
  ): Promise<CallResult<Content>> => {
    const signal = AbortSignal.any([deadline, AbortSignal.timeout(timing.request)]);
    try {
      return await within(signal, exchange(request, token, signal));
    } catch (error) {
      return noAnswer(error);
    }
  };

  const attempt = async <Content>(
    subject: TokenSubject,
    request: ServerRequest<Content>,
    deadline: AbortSignal,
  ): Promise<{ result: CallResult<Content>; again: boolean }> => {
    let made;
    try {
      made = await within(deadline, tokens.tokenOf(subject));
    } catch (error) {
      if (error instanceof UnusableCredentialError)
        return { result: keyRejectedAs(error.reason), again: false };
      if (error instanceof CredentialUnavailableError || deadline.aborted)
        return { result: unreadableKey, again: false };
      throw error;
    }
    const { token, fresh } = made;
    const result = await send(request, token, deadline);
    if (result.outcome === "credential-rejected" && result.status === 401) {
      tokens.forget(subject, token);
      return { result, again: !fresh };
    }
    const again = result.outcome === "unavailable" && result.retryAt === null && result !== malformedAnswer;
    return { result, again };
  };

  return {
    call: async (subject, request) => {
      const deadline = AbortSignal.timeout(timing.total);
      return withOneRetry(() => attempt(subject, request, deadline), timing.pause, deadline);
    },
  };
};
