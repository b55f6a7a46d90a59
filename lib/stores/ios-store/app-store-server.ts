import { createPrivateKey, type KeyObject } from "node:crypto";
import { SignJWT } from "jose/jwt/sign";
import { boundedText, parseJson } from "../../bounded-text.ts";
import type { Environment } from "../../contract/schemas.ts";
import { MINUTE, SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { within } from "../../pause.ts";
import { unansweredBecause } from "../../unanswered.ts";
import {
  createStoreClient,
  CredentialError,
  credentialRejected,
  malformedAnswer,
  readCredential,
  STORE_TIMING,
  unavailable,
  type ReadSecret,
  type StoreClientOptions,
} from "../store-client.ts";
import {
  failureOf,
  impossibleTransaction,
  readAppTransaction,
  readHistory,
  readNotifications,
  readStatuses,
  type Failure,
} from "./server-answers.ts";

/**
 * An in-app purchase key of App Store Connect. Nothing here is secret: the key itself is in Secrets Manager.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests
 */
export interface AppStoreServerKey {
  /** The issuer ID of the team, a UUID. */
  readonly issuerIdentifier: string;
  /** The key ID, such as `ABC123DEFG`. */
  readonly keyIdentifier: string;
  /** Name or ARN of the secret whose text is the private key, as Apple's `.p8` file has it. */
  readonly secret: string;
}

/** One app in one environment, and the key that may ask about it. */
export interface AppStoreApp {
  readonly bundleIdentifier: string;
  /** The App Store does not know purchases made in Xcode. */
  readonly environment: Exclude<Environment, "xcode">;
  readonly key: AppStoreServerKey;
}

type TokenSubject = Pick<AppStoreApp, "bundleIdentifier" | "key">;

/** Outcome of a question. In production the App Store also refuses every key for an app that was never released. */
export type AppStoreAnswer<Content> = { readonly outcome: "answered"; readonly content: Content } | Failure;

/** Notifications that the App Store first sent in a period. */
export interface AskedNotifications {
  /** Within the last 180 days, in the sandbox 30. */
  readonly from: Instant;
  /** After `from`; in the future, it means now. */
  readonly to: Instant;
  /** Only those that were not delivered, including those still being retried. */
  readonly onlyFailures: boolean;
}

const APPLE_ROOT_URLS: Readonly<Record<AppStoreApp["environment"], string>> = {
  production: "https://api.storekit.apple.com/",
  sandbox: "https://api.storekit-sandbox.apple.com/",
};

/** Apple's identifiers are digits, about 19 at most. */
const TRANSACTION_IDENTIFIER = /^\d{1,64}$/;

/** A page of twenty notifications is below half a megabyte. */
const LONGEST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Apple accepts tokens of up to an hour. */
const TOKEN_LIFETIME_MILLISECONDS = 20 * MINUTE;
/** Tokens are backdated, because a server whose clock is behind refuses one from the future. */
const SKEW_MILLISECONDS = MINUTE;
/** Age up to which a token is used, four minutes before it expires. */
const TOKEN_USE_MILLISECONDS = 15 * MINUTE;

const parseKey = (text: string): KeyObject => {
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;
  } catch {
    // The error could quote the key.
  }
  throw new CredentialError(credentialRejected("secretIsNoPrivateKey"));
};

/**
 * Reads the key and signs a token, which serves both environments. Throws {@link CredentialError}.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
 */
const signToken = async (
  { bundleIdentifier, key }: TokenSubject,
  readSecret: ReadSecret,
  now: () => Instant,
): Promise<string> => {
  const privateKey = parseKey(await readCredential(readSecret, key.secret));
  const issuedAt = now() - SKEW_MILLISECONDS;
  const inSeconds = (milliseconds: number): number => Math.floor(milliseconds / SECOND);
  return new SignJWT({ bid: bundleIdentifier })
    .setProtectedHeader({ alg: "ES256", kid: key.keyIdentifier, typ: "JWT" })
    .setIssuer(key.issuerIdentifier)
    .setIssuedAt(inSeconds(issuedAt))
    .setExpirationTime(inSeconds(issuedAt + TOKEN_LIFETIME_MILLISECONDS))
    .setAudience("appstoreconnect-v1")
    .sign(privateKey);
};

/** Null where the body is too large. */
const readText = ({ body }: Response): Promise<string | null> =>
  boundedText(body ?? [], LONGEST_ANSWER_BYTES);

interface Request<Content> {
  readonly url: URL;
  /** Sent as JSON, by POST; null: a GET. */
  readonly body: object | null;
  /** Content of the answer; null where the answer is malformed. */
  readonly read: (answer: unknown) => Content | null;
}

/** Asks over HTTP. Every request has a timeout and a bounded body, and no redirect takes the token elsewhere. */
const createAsk = ({
  readSecret,
  now,
  timing = STORE_TIMING,
  fetch = globalThis.fetch,
}: StoreClientOptions) => {
  const client = createStoreClient<TokenSubject, string>({
    load: async (subject) => signToken(subject, readSecret, now),
    keptForMilliseconds: TOKEN_USE_MILLISECONDS,
    // Any other refusal is about the app or the key's permissions.
    refuses: ({ status }) => status === 401,
    now,
    timing,
  });

  const exchange = async <Content>(
    { url, body, read }: Request<Content>,
    token: string,
    signal: AbortSignal,
  ): Promise<AppStoreAnswer<Content>> => {
    const accepting = { accept: "application/json", authorization: `Bearer ${token}` };
    const response = await fetch(url, {
      ...(body === null
        ? { headers: accepting }
        : {
            method: "POST",
            headers: { ...accepting, "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
      redirect: "manual",
      signal,
    });
    const { status, headers } = response;
    if (status !== 200)
      return failureOf(status, headers.get("retry-after"), await readText(response).catch(() => null), now());
    const content = read(parseJson(await readText(response)));
    return content === null ? malformedAnswer : { outcome: "answered", content };
  };

  return async <Content>(
    { bundleIdentifier, key }: AppStoreApp,
    request: Request<Content>,
  ): Promise<AppStoreAnswer<Content>> =>
    client.ask<AppStoreAnswer<Content>>({ bundleIdentifier, key }, async (token, deadline) => {
      const signal = AbortSignal.any([deadline, AbortSignal.timeout(timing.request)]);
      return within(signal, exchange(request, token, signal)).catch((error: unknown) =>
        unavailable(unansweredBecause(error)),
      );
    });
};

/**
 * Client of the App Store Server API. Its answers are signed, and must be verified like what an app sends. A given root
 * URL replaces that of both environments. No method rejects because of the store, the network or the key.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createAppStoreServer = (options: StoreClientOptions) => {
  const ask = createAsk(options);

  const urlOf = (
    { environment }: AppStoreApp,
    path: string,
    query: Readonly<Record<string, string>>,
  ): URL => {
    const root = options.rootUrl ?? APPLE_ROOT_URLS[environment];
    const url = new URL(`inApps/${path}`, root.endsWith("/") ? root : `${root}/`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  };

  const askAbout =
    <Content>(path: string, read: Request<Content>["read"], query = {}) =>
    async (app: AppStoreApp, transactionIdentifier: string): Promise<AppStoreAnswer<Content>> =>
      TRANSACTION_IDENTIFIER.test(transactionIdentifier)
        ? ask(app, { url: urlOf(app, `${path}/${transactionIdentifier}`, query), body: null, read })
        : impossibleTransaction;

  return {
    /**
     * Latest transaction and renewal info of each subscription of the person who made the transaction.
     *
     * @see https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses
     */
    subscriptionStatuses: askAbout("v1/subscriptions", readStatuses),
    /**
     * The signed app transaction of the person who made the transaction. `unknown` also where the app is older than app
     * transaction ids.
     *
     * @see https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info
     */
    appTransaction: askAbout("v1/transactions/appTransactions", readAppTransaction),
    /**
     * One page, of up to 20, of the person's transactions, in the order of their last changes, the latest first.
     *
     * @param revision `next` of the page before; null: the first page
     * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
     */
    transactionHistory: async (app: AppStoreApp, transactionIdentifier: string, revision: string | null) => {
      const query = { sort: "DESCENDING", ...(revision !== null && { revision }) };
      const read = (answer: unknown) => readHistory(answer, revision);
      return askAbout("v2/history", read, query)(app, transactionIdentifier);
    },
    /**
     * One page, of up to 20, of notifications. Apple does not document whether the period includes both its ends: let
     * periods overlap.
     *
     * @param page `next` of the page before, with the same period; null: the first page
     * @see https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
     */
    notificationHistory: async (
      app: AppStoreApp,
      { from, to, onlyFailures }: AskedNotifications,
      page: string | null,
    ) => {
      const query = page === null ? {} : { paginationToken: page };
      const url = urlOf(app, "v1/notifications/history", query);
      const body = { startDate: from, endDate: to, onlyFailures };
      return ask(app, { url, body, read: (answer) => readNotifications(answer, page) });
    },
  };
};
export type AppStoreClient = ReturnType<typeof createAppStoreServer>;
/** Questions of the service; only an import asks for app transactions. */
export type AppStoreServer = Omit<AppStoreClient, "appTransaction">;
