import type { Instant } from "../../../lib/entitlements/time.ts";
import { parseJson } from "../../../lib/bounded-text.ts";
import { found, type Call, type Route, type Routes } from "../../routes.ts";
import type { Counter } from "../counter.ts";
import type { Pushes } from "../notifications/pushes.ts";
import { storeAppTransaction } from "../shop/payloads.ts";
import type { Shop } from "../shop/shop.ts";
import type { JwsSigner } from "../signing.ts";
import { errorAnswer, ServerApiError } from "./errors.ts";
import { UNAUTHENTICATED, type ServerApiFaults } from "./faults.ts";
import { notificationHistory } from "./notification-history.ts";
import { personOf, type Person } from "./persons.ts";
import type { ServerKey } from "./server-key.ts";
import { subscriptionStatuses } from "./subscription-statuses.ts";
import { createTokenVerifier } from "./token.ts";
import { transactionHistory, transactionInfo } from "./transaction-history.ts";

const ENDPOINTS = {
  subscriptions: "GET /inApps/v1/subscriptions/{transactionId}",
  history: "GET /inApps/v2/history/{transactionId}",
  transaction: "GET /inApps/v1/transactions/{transactionId}",
  appTransaction: "GET /inApps/v1/transactions/appTransactions/{transactionId}",
  notificationHistory: "POST /inApps/v1/notifications/history",
} as const;
type ServerApiEndpoint = keyof typeof ENDPOINTS;

/** A request of an app, and the identifier in its path. */
interface Asked {
  readonly call: Call;
  readonly bundleIdentifier: string;
  readonly identifier: string;
}

/**
 * The endpoints of the App Store Server API that the service and its import ask. Answers never wait for notifications.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createServerApi = ({
  shop,
  pushes,
  counter,
  faults,
  signer,
  serverKey,
  now,
}: {
  readonly shop: Shop;
  readonly pushes: Pushes;
  readonly counter: Counter;
  readonly faults: ServerApiFaults;
  readonly signer: JwsSigner;
  readonly serverKey: ServerKey;
  readonly now: () => Instant;
}) => {
  const bundleOfToken = createTokenVerifier(serverKey);
  const requests = {
    subscriptions: 0,
    history: 0,
    transaction: 0,
    appTransaction: 0,
    notificationHistory: 0,
  };

  /** @throws ServerApiError */
  const aboutPerson =
    (answerOf: (person: Person, asked: Asked, at: Instant) => object) =>
    (asked: Asked, at: Instant): object =>
      answerOf(personOf(shop, asked.bundleIdentifier, asked.identifier), asked, at);

  const answers: Readonly<Record<ServerApiEndpoint, (asked: Asked, at: Instant) => object>> = {
    subscriptions: aboutPerson((person, _, at) => subscriptionStatuses(person, at, signer)),
    history: aboutPerson((person, { identifier, call }, at) =>
      transactionHistory(person, identifier, call.query, at, signer),
    ),
    transaction: aboutPerson((person, { identifier }, at) => transactionInfo(person, identifier, at, signer)),
    // https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info
    appTransaction: aboutPerson(({ account }, _, at) => {
      if (account.appTransactionIdentifier === null)
        throw new ServerApiError("AppTransactionDoesNotExistError");
      return { signedAppTransactionInfo: storeAppTransaction(account, at, signer) };
    }),
    notificationHistory: ({ bundleIdentifier, call: { body, query } }, at) =>
      notificationHistory(
        parseJson(body),
        query.get("paginationToken"),
        bundleIdentifier,
        pushes.history(),
        at,
      ),
  };

  const routeOf =
    (endpoint: ServerApiEndpoint): Route =>
    async (call, identifier = "") => {
      requests[endpoint] += 1;
      const fault = faults.next(now());
      if (fault !== null) return fault;
      const bundleIdentifier = await bundleOfToken(call.authorization, now());
      if (bundleIdentifier === null) return UNAUTHENTICATED;
      try {
        return found(counter.look((at) => answers[endpoint]({ call, bundleIdentifier, identifier }, at)));
      } catch (error) {
        if (error instanceof ServerApiError) return errorAnswer(error.errorCode, error.message);
        throw error;
      }
    };

  const routes: Routes = {
    [ENDPOINTS.subscriptions]: routeOf("subscriptions"),
    [ENDPOINTS.history]: routeOf("history"),
    [ENDPOINTS.transaction]: routeOf("transaction"),
    [ENDPOINTS.appTransaction]: routeOf("appTransaction"),
    [ENDPOINTS.notificationHistory]: routeOf("notificationHistory"),
  };
  return { routes, requests: (): Readonly<Record<ServerApiEndpoint, number>> => ({ ...requests }) };
};
