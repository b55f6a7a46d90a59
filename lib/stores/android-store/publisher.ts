import { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/index.js";
import type { Instant } from "../../entitlements/time.ts";
import { within } from "../../pause.ts";
import { CredentialUnavailableError, UnusableCredentialError } from "../credentials.ts";
import { STORE_TIMING, withOneRetry, type StoreClientOptions } from "../store-client.ts";
import {
  createAndroidStoreCredentials,
  type AccessTokens,
  type AndroidStoreCredential,
  type TransportLimits,
} from "./credentials.ts";
import {
  credentialRejectedAs,
  failureOfCall,
  failureOfTokenExchange,
  malformedTokenAnswer,
  unreadableCredential,
  type Failure,
} from "./failure.ts";
import { originOf } from "./workload-identity.ts";

/** A call of Google's client: `auth` goes into its parameters, `options` beside them. */
export type Call = (
  api: Pick<androidpublisher_v3.Androidpublisher, "purchases" | "orders">,
  auth: AccessTokens,
  options: TransportLimits & {
    readonly rootUrl: string;
    readonly signal: AbortSignal;
    readonly responseType: "json";
  },
) => Promise<{ data: unknown }>;

export type CallResult =
  /** `askedAt`: time of the request. The answer is at least as new; of two answers, the one requested later wins. */
  { readonly outcome: "answered"; readonly body: unknown; readonly askedAt: Instant } | Failure;

const GOOGLE_ROOT_URL = "https://androidpublisher.googleapis.com/";

/**
 * Google's client for the Android Publisher API, with limits. By default it has no timeout, three retries of a read,
 * and three more of the token exchange. Here every request has a timeout, and token exchange and call share one retry.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export const createAndroidPublisher = (options: StoreClientOptions) => {
  const {
    rootUrl = GOOGLE_ROOT_URL,
    readSecret,
    now,
    timing = STORE_TIMING,
    fetch = globalThis.fetch,
  } = options;
  const limits: TransportLimits = {
    timeout: timing.request,
    retryConfig: { retry: 0 },
    fetchImplementation: fetch,
  };
  const credentials = createAndroidStoreCredentials({
    readSecret,
    now,
    limits,
    trustsOrigin: originOf(options.rootUrl),
  });
  const api = new androidpublisher_v3.Androidpublisher({});

  const exchange = async (tokens: AccessTokens, deadline: AbortSignal): Promise<Failure | null> => {
    try {
      const { token } = await within(deadline, tokens.getAccessToken());
      return typeof token === "string" && token !== "" ? null : malformedTokenAnswer;
    } catch (error) {
      return failureOfTokenExchange(error, now());
    }
  };

  const send = async (call: Call, auth: AccessTokens, signal: AbortSignal): Promise<CallResult> => {
    const askedAt = now();
    try {
      // The client keeps the path of a root URL only where the URL comes with the call.
      const limited = { ...limits, rootUrl, signal, responseType: "json" } as const;
      const { data } = await within(signal, call(api, auth, limited));
      return { outcome: "answered", body: data, askedAt };
    } catch (error) {
      return failureOfCall(error, now());
    }
  };

  const attempt = async (
    credential: AndroidStoreCredential,
    call: Call,
    deadline: AbortSignal,
  ): Promise<{ result: CallResult; again: boolean }> => {
    const loaded = await within(deadline, credentials.accessTokensOf(credential)).catch(
      (error: unknown): Failure => {
        if (error instanceof UnusableCredentialError) return credentialRejectedAs(error.reason);
        return error instanceof CredentialUnavailableError
          ? unreadableCredential
          : failureOfCall(error, now());
      },
    );
    if ("outcome" in loaded) return { result: loaded, again: false };
    const { tokens, fresh } = loaded;
    const result = (await exchange(tokens, deadline)) ?? (await send(call, tokens, deadline));
    const refused = result.outcome === "credential-rejected";
    // The client caches whatever it received as a token, even none, for a token's lifetime.
    if (refused || result === malformedTokenAnswer) credentials.forget(credential, tokens);
    if (refused) return { result, again: !fresh };
    return { result, again: result.outcome === "unavailable" && result.retryAfterSeconds === null };
  };

  /** Abort signal for one lookup or acknowledgement, however many calls it takes. */
  const newDeadline = () => AbortSignal.timeout(timing.total);
  return {
    newDeadline,
    /**
     * Makes a call, and retries it once where the store is unavailable without saying when to retry, or refuses a
     * credential loaded earlier.
     */
    call: (credential: AndroidStoreCredential, call: Call, deadline = newDeadline()): Promise<CallResult> =>
      withOneRetry(() => attempt(credential, call, deadline), timing.pause, deadline),
  };
};
