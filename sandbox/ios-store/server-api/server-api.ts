import type { IncomingMessage } from "node:http";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { answer, pathOf, type Mount } from "../../mount.ts";
import type { Counter } from "../counter.ts";
import { readJson } from "../json-body.ts";
import { appTransactionInfo } from "./app-transaction.ts";
import { notificationHistory, testNotification, testTokenOf } from "./notification-history.ts";
import { personOfAnyTransaction, personOfTransaction } from "./persons.ts";
import type { Pushes } from "../notifications/pushes.ts";
import { ServerApiError } from "./errors.ts";
import { UNAUTHENTICATED, type ServerApiAnswer, type ServerApiFaults } from "./faults.ts";
import { createTokenVerifier } from "./token.ts";
import type { ServerKey } from "./server-key.ts";
import type { Shop } from "../shop/shop.ts";
import type { JwsSigner } from "../signing.ts";
import { subscriptionStatuses } from "./subscription-statuses.ts";
import { transactionHistory, transactionInfo } from "./transaction-history.ts";

const ENDPOINTS = {
  subscriptions: { method: "GET", path: /^\/inApps\/v1\/subscriptions\/([^/]+)$/ },
  history: { method: "GET", path: /^\/inApps\/v2\/history\/([^/]+)$/ },
  transaction: { method: "GET", path: /^\/inApps\/v1\/transactions\/([^/]+)$/ },
  appTransaction: { method: "GET", path: /^\/inApps\/v1\/transactions\/appTransactions\/([^/]+)$/ },
  notificationHistory: { method: "POST", path: /^\/inApps\/v1\/notifications\/history$/ },
  requestTestNotification: { method: "POST", path: /^\/inApps\/v1\/notifications\/test$/ },
  testNotification: { method: "GET", path: /^\/inApps\/v1\/notifications\/test\/([^/]+)$/ },
} as const;
export type ServerApiEndpoint = keyof typeof ENDPOINTS;

/** Requests received, including those that failed. */
export type ServerApiRequests = Readonly<Record<ServerApiEndpoint, number>>;

const isEndpoint = (name: string): name is ServerApiEndpoint => Object.hasOwn(ENDPOINTS, name);

interface Call {
  readonly endpoint: ServerApiEndpoint;
  /** Identifier or token in the path; empty: the path has none. */
  readonly named: string;
}

const callOf = (method: string | undefined, path: string): Call | null => {
  for (const [endpoint, { method: expected, path: pattern }] of Object.entries(ENDPOINTS)) {
    const match = method === expected ? pattern.exec(path) : null;
    if (match !== null && isEndpoint(endpoint)) return { endpoint, named: match[1] ?? "" };
  }
  return null;
};

/**
 * The App Store Server API. Answers never wait for notifications.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createServerApi = ({
  prefix,
  shop,
  pushes,
  counter,
  faults,
  signer,
  serverKey,
  now,
}: {
  readonly prefix: string;
  readonly shop: Shop;
  readonly pushes: Pushes;
  readonly counter: Counter;
  readonly faults: ServerApiFaults;
  readonly signer: JwsSigner;
  readonly serverKey: ServerKey;
  readonly now: () => Instant;
}): { readonly handle: Mount; requests(): ServerApiRequests } => {
  const bundleOfToken = createTokenVerifier(serverKey);
  const requests = {
    subscriptions: 0,
    history: 0,
    transaction: 0,
    appTransaction: 0,
    notificationHistory: 0,
    requestTestNotification: 0,
    testNotification: 0,
  };

  /** @throws ServerApiError */
  const answerTo = (
    { endpoint, named }: Call,
    bundleIdentifier: string,
    query: URLSearchParams,
    body: unknown,
  ): object =>
    counter.look((at) => {
      switch (endpoint) {
        case "subscriptions":
          return subscriptionStatuses(
            personOfAnyTransaction(shop, bundleIdentifier, named),
            query,
            at,
            signer,
          );
        case "history": {
          const person = personOfAnyTransaction(shop, bundleIdentifier, named);
          return transactionHistory(person, named, query, at, signer);
        }
        case "transaction":
          return transactionInfo(personOfTransaction(shop, bundleIdentifier, named), named, at, signer);
        case "appTransaction":
          return appTransactionInfo(personOfAnyTransaction(shop, bundleIdentifier, named), at, signer);
        case "notificationHistory":
          return notificationHistory(
            { body, paginationToken: query.get("paginationToken"), bundleIdentifier, at },
            pushes.history(),
            (identifier) => personOfTransaction(shop, bundleIdentifier, identifier),
          );
        case "requestTestNotification":
          if (!pushes.isOpen()) throw new ServerApiError("ServerNotificationUrlNotFoundError");
          return {
            testNotificationToken: testTokenOf(counter.notifyLater("test", { bundleIdentifier }), at),
          };
        case "testNotification":
          return testNotification(named, bundleIdentifier, pushes.history());
      }
    });

  const answered = async (call: Call, request: IncomingMessage): Promise<ServerApiAnswer> => {
    const body = await readJson(request);
    request.resume();
    const fault = faults.next(now());
    if (fault !== null) return fault;
    const bundleIdentifier = await bundleOfToken(request.headers.authorization, now());
    if (bundleIdentifier === null) return { status: 401, body: UNAUTHENTICATED, headers: {} };
    const { searchParams } = new URL(request.url ?? "", "http://sandbox");
    try {
      return { status: 200, body: answerTo(call, bundleIdentifier, searchParams, body), headers: {} };
    } catch (error) {
      if (error instanceof ServerApiError) return { status: error.status, body: error.body, headers: {} };
      throw error;
    }
  };

  return {
    requests: () => ({ ...requests }),
    handle: async (request, response) => {
      const path = pathOf(request);
      const call = path.startsWith(`${prefix}/`) ? callOf(request.method, path.slice(prefix.length)) : null;
      if (call === null) return false;
      requests[call.endpoint] += 1;
      const result = await answered(call, request);
      if (result === "hangs") return true;
      const { status, body, headers } = result;
      if (typeof body === "string") answer(response, status, "text/plain", body, headers);
      else answer(response, status, "application/json", JSON.stringify(body), headers);
      return true;
    },
  };
};
