import type { Environment } from "../../../contract/schemas.ts";
import type { Instant } from "../../../entitlements/time.ts";
import {
  readAppTransaction,
  readHistory,
  readNotifications,
  readStatuses,
  readTransaction,
  type NotificationPage,
  type SignedFacts,
  type TransactionPage,
} from "./server-answers.ts";
import { STORE_TIMING, type StoreClientOptions } from "../../store-client.ts";
import { createServerCalls, type ServerRequest } from "./server-call.ts";
import { impossibleTransaction, type Failure } from "./server-failure.ts";
import type { AppStoreServerKey } from "./server-token.ts";

export type { NotificationPage, SignedFacts, TransactionPage } from "./server-answers.ts";

/** One app in one environment, and the key that may ask about it. */
export interface AppStoreApp {
  readonly bundleIdentifier: string;
  /** The App Store does not know purchases made in Xcode. */
  readonly environment: Exclude<Environment, "xcode">;
  readonly key: AppStoreServerKey;
}

/**
 * Outcome of a question.
 * - `unknown`: the App Store knows no such transaction of this app in this environment.
 * - `unavailable`: no answer, an answer that cannot be parsed, or a temporary error. `retryAt`: time before which the
 *   store wants no further request; null: it names none.
 * - `credential-rejected`: the key is refused, or cannot be used: a configuration error. In production the App Store
 *   also refuses every key for an app that was never released.
 */
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

/** The App Store Server API. No method rejects because of the store, the network or the key. */
export interface AppStoreServer {
  /**
   * Latest transaction and renewal info of each subscription of the person who made the transaction.
   *
   * @see https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses
   */
  subscriptionStatuses(app: AppStoreApp, transactionIdentifier: string): Promise<AppStoreAnswer<SignedFacts>>;
  /**
   * One transaction.
   *
   * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info
   */
  transaction(app: AppStoreApp, transactionIdentifier: string): Promise<AppStoreAnswer<SignedFacts>>;
  /**
   * One page, of up to 20, of the person's transactions, in the order of their last changes, the latest first.
   *
   * @param revision `next` of the page before; null: the first page
   * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
   */
  transactionHistory(
    app: AppStoreApp,
    transactionIdentifier: string,
    revision: string | null,
  ): Promise<AppStoreAnswer<TransactionPage>>;
  /**
   * One page, of up to 20, of notifications. Apple does not document whether the period includes both its ends: let
   * periods overlap.
   *
   * @param page `next` of the page before, with the same period; null: the first page
   * @see https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
   */
  notificationHistory(
    app: AppStoreApp,
    asked: AskedNotifications,
    page: string | null,
  ): Promise<AppStoreAnswer<NotificationPage>>;
}

/** A question that an import asks. */
export interface AppTransactions {
  /**
   * The signed app transaction of the person who made the transaction. `unknown` also where the app is older than app
   * transaction ids.
   *
   * @see https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info
   */
  appTransaction(app: AppStoreApp, transactionIdentifier: string): Promise<AppStoreAnswer<string>>;
}

const APPLE_ROOT_URLS: Readonly<Record<AppStoreApp["environment"], string>> = {
  production: "https://api.storekit.apple.com/",
  sandbox: "https://api.storekit-sandbox.apple.com/",
};

/** Apple's identifiers are digits, about 19 at most. */
const TRANSACTION_IDENTIFIER = /^\d{1,64}$/;

/**
 * Client of the App Store Server API. Its answers are signed, and must be verified like what an app sends. A given root
 * URL replaces that of both environments.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createAppStoreServer = (options: StoreClientOptions): AppStoreServer & AppTransactions => {
  const { rootUrl, readSecret, now, timing = STORE_TIMING, fetch = globalThis.fetch } = options;
  const calls = createServerCalls({ readSecret, now, timing, fetch });

  const urlOf = (
    { environment }: AppStoreApp,
    segments: readonly string[],
    query: Readonly<Record<string, string>> = {},
  ): URL => {
    const root = rootUrl ?? APPLE_ROOT_URLS[environment];
    const path = ["inApps", ...segments].map(encodeURIComponent).join("/");
    const url = new URL(path, root.endsWith("/") ? root : `${root}/`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  };

  const ask = async <Content>(
    app: AppStoreApp,
    url: URL,
    read: ServerRequest<Content>["read"],
    body: unknown = null,
  ): Promise<AppStoreAnswer<Content>> => calls.call(app, { url, body, read });

  return {
    subscriptionStatuses: async (app, transactionIdentifier) =>
      TRANSACTION_IDENTIFIER.test(transactionIdentifier)
        ? ask(app, urlOf(app, ["v1", "subscriptions", transactionIdentifier]), readStatuses)
        : impossibleTransaction,

    transaction: async (app, transactionIdentifier) =>
      TRANSACTION_IDENTIFIER.test(transactionIdentifier)
        ? ask(app, urlOf(app, ["v1", "transactions", transactionIdentifier]), readTransaction)
        : impossibleTransaction,

    appTransaction: async (app, transactionIdentifier) =>
      TRANSACTION_IDENTIFIER.test(transactionIdentifier)
        ? ask(
            app,
            urlOf(app, ["v1", "transactions", "appTransactions", transactionIdentifier]),
            readAppTransaction,
          )
        : impossibleTransaction,

    transactionHistory: async (app, transactionIdentifier, revision) => {
      if (!TRANSACTION_IDENTIFIER.test(transactionIdentifier)) return impossibleTransaction;
      const query = { sort: "DESCENDING", ...(revision !== null && { revision }) };
      const url = urlOf(app, ["v2", "history", transactionIdentifier], query);
      return ask(app, url, (answer) => readHistory(answer, revision));
    },

    notificationHistory: async (app, { from, to, onlyFailures }, page) => {
      const query = page === null ? {} : { paginationToken: page };
      const url = urlOf(app, ["v1", "notifications", "history"], query);
      const period = { startDate: from, endDate: to, onlyFailures };
      return ask(app, url, (answer) => readNotifications(answer, page), period);
    },
  };
};
