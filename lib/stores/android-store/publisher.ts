import { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/index.js";
import { MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { within } from "../../pause.ts";
import { createStoreClient, STORE_TIMING, type StoreClientOptions } from "../store-client.ts";
import {
  loadCredential,
  type AccessTokens,
  type AndroidStoreCredential,
  type LoadedCredential,
  type TransportLimits,
} from "./credentials.ts";
import { failureOfCall, failureOfTokenExchange, malformedTokenAnswer, type Failure } from "./failure.ts";
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

/** Age at which a secret is read again, so that a rotated key is picked up within this time. */
const CREDENTIAL_KEPT_MILLISECONDS = 5 * MINUTE;

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
  const loading = { readSecret, limits, trustsOrigin: originOf(options.rootUrl) };
  const client = createStoreClient<AndroidStoreCredential, LoadedCredential>({
    load: async (credential, before) => loadCredential(credential, before, loading),
    keptForMilliseconds: CREDENTIAL_KEPT_MILLISECONDS,
    // Google's client caches whatever it received as a token, even none, for a token's lifetime.
    refuses: (result) => result.outcome === "credential-rejected" || result === malformedTokenAnswer,
    now,
    timing,
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

  return {
    newDeadline: client.newDeadline,
    /** Makes a call, and retries it once as {@link createStoreClient} says. */
    call: (credential: AndroidStoreCredential, call: Call, deadline?: AbortSignal): Promise<CallResult> =>
      client.ask<CallResult>(
        credential,
        async ({ tokens }, signal) => (await exchange(tokens, signal)) ?? send(call, tokens, signal),
        deadline,
      ),
  };
};
