import { createPrivateKey } from "node:crypto";
import { androidpublisher_v3, auth } from "googleapis/build/src/apis/androidpublisher/index.js";
import * as z from "zod/mini";
import { parseJson } from "../../bounded-text.ts";
import { MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { within } from "../../pause.ts";
import {
  createStoreClient,
  CredentialError,
  credentialRejected,
  readCredential,
  STORE_TIMING,
  type ReadSecret,
  type StoreClientOptions,
} from "../store-client.ts";
import { failureOfCall, failureOfTokenExchange, malformedTokenAnswer, type Failure } from "./failure.ts";
import { originOf, readWorkloadIdentity, type TrustsOrigin } from "./workload-identity.ts";

/**
 * Credential that reads a package's purchases: the name of a secret that holds service-account JSON, or an
 * `external_account` JSON, which is not secret.
 */
export type AndroidStoreCredential =
  { readonly secret: string } | { readonly workloadIdentity: Readonly<Record<string, unknown>> };

/** Google's client that exchanges the operator's credential for access tokens and keeps them until they expire. */
type AccessTokens = InstanceType<typeof auth.JWT> | InstanceType<typeof auth.AwsClient>;

/** Limits of every request that Google's client makes on its own, by the client's option names. */
interface TransportLimits {
  readonly timeout: number;
  readonly retryConfig: { readonly retry: 0 };
  readonly fetchImplementation: typeof fetch;
}

const SCOPES = ["https://www.googleapis.com/auth/androidpublisher"];

/** Fields read from service-account JSON; the others name addresses and projects. */
const serviceAccount = once(() =>
  z.object({
    type: z.literal("service_account"),
    client_email: z.string().check(z.minLength(1)),
    private_key: z.string().check(z.minLength(1)),
  }),
);

const serviceAccountTokens = (json: unknown, limits: TransportLimits): AccessTokens => {
  try {
    const { client_email: email, private_key: key } = serviceAccount().parse(json);
    createPrivateKey(key);
    return new auth.JWT({ email, key, scopes: SCOPES, transporterOptions: limits });
  } catch {
    throw new CredentialError(credentialRejected("secretIsNoServiceAccount"));
  }
};

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

/** Google's client exchanges tokens over a separate transport, without a timeout, with three retries and no option. */
const limitTokenExchange = (tokens: AccessTokens, limits: TransportLimits): void => {
  const transport = property(property(tokens, "stsCredential"), "transporter");
  if (!(transport instanceof Object && "defaults" in transport))
    throw new Error("google-auth-library no longer exchanges tokens over stsCredential.transporter");
  transport.defaults = limits;
};

interface Loading {
  readonly readSecret: ReadSecret;
  readonly limits: TransportLimits;
  readonly trustsOrigin: TrustsOrigin;
}

/** Rebuilds the identity, as `apply` did: the table might hold other fields, and is not trusted. */
const externalAccountTokens = (json: unknown, { limits, trustsOrigin }: Loading): AccessTokens => {
  const reading = readWorkloadIdentity(json, trustsOrigin);
  if (reading.outcome === "invalid")
    throw new CredentialError(credentialRejected("workloadIdentityIsNoExternalAccount"));
  const tokens = new auth.AwsClient({ ...reading.identity, scopes: SCOPES, transporterOptions: limits });
  limitTokenExchange(tokens, limits);
  return tokens;
};

/** A credential's client, and the text of the secret that it was made of; empty: of none. */
interface LoadedCredential {
  readonly text: string;
  readonly tokens: AccessTokens;
}

/** Loads a credential. What was loaded before is kept, with its access token, where the secret's text is the same. */
export const loadCredential = async (
  credential: AndroidStoreCredential,
  before: LoadedCredential | null | undefined,
  loading: Loading,
): Promise<LoadedCredential> => {
  if ("workloadIdentity" in credential)
    return before ?? { text: "", tokens: externalAccountTokens(credential.workloadIdentity, loading) };
  const text = await readCredential(loading.readSecret, credential.secret);
  if (before?.text === text) return before;
  const json = parseJson(text);
  // A workload identity may be in a secret, to keep it out of the manifest.
  const tokens =
    property(json, "type") === "external_account"
      ? externalAccountTokens(json, loading)
      : serviceAccountTokens(json, loading.limits);
  return { text, tokens };
};

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

type CallResult =
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
