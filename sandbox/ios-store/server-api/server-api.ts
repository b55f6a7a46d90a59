import { parseJson } from "../../../lib/bounded-text.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { found, type Call, type Route, type Routes } from "../../routes.ts";
import type { Pushes } from "../notifications/pushes.ts";
import type { Shop } from "../shop/shop.ts";
import type { JwsSigner } from "../signing.ts";
import { errorAnswer, ServerApiError, UNAUTHENTICATED } from "./errors.ts";
import { createFaults } from "./faults.ts";
import { notificationHistory } from "./notification-history.ts";
import {
  appTransactionInfo,
  personOf,
  subscriptionStatuses,
  transactionHistory,
  transactionInfo,
  type Person,
} from "./purchases.ts";
import { createTokenVerifier, type ServerKey } from "./server-key.ts";

const ABOUT_PERSON = {
  "GET /inApps/v1/subscriptions/{transactionId}": subscriptionStatuses,
  "GET /inApps/v2/history/{transactionId}": transactionHistory,
  "GET /inApps/v1/transactions/{transactionId}": transactionInfo,
  "GET /inApps/v1/transactions/appTransactions/{transactionId}": appTransactionInfo,
} as const satisfies Record<string, (person: Person, call: Call) => object>;

/**
 * The endpoints of the App Store Server API that the service and its import ask. Answers never wait for notifications.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createServerApi = (store: {
  readonly shop: Shop;
  readonly pushes: Pushes;
  /** Reads at once, after everything due has happened. */
  readonly look: <Result>(read: (at: Instant) => Result) => Result;
  readonly signer: JwsSigner;
  readonly serverKey: ServerKey;
  readonly now: () => Instant;
}) => {
  const bundleOfToken = createTokenVerifier(store.serverKey);
  const faults = createFaults();

  const routeOf =
    (answer: (call: Call, bundleIdentifier: string, identifier: string, at: Instant) => object): Route =>
    async (call, identifier = "") => {
      const failure = faults.next(store.now());
      if (failure !== null) return failure;
      const bundleIdentifier = await bundleOfToken(call.authorization, store.now());
      if (bundleIdentifier === null) return UNAUTHENTICATED;
      try {
        return found(store.look((at) => answer(call, bundleIdentifier, identifier, at)));
      } catch (error) {
        if (error instanceof ServerApiError) return errorAnswer(error.errorCode, error.message);
        throw error;
      }
    };

  const aboutPersons = Object.entries(ABOUT_PERSON).map(([path, answer]) => [
    path,
    routeOf((call, bundleIdentifier, identifier, at) =>
      answer(personOf(store.shop, bundleIdentifier, identifier, { at, signer: store.signer }), call),
    ),
  ]);
  const routes: Routes = {
    ...Object.fromEntries(aboutPersons),
    "POST /inApps/v1/notifications/history": routeOf(({ body, query }, bundleIdentifier, _, at) =>
      notificationHistory(
        parseJson(body),
        query.get("paginationToken"),
        bundleIdentifier,
        store.pushes.history(),
        at,
      ),
    ),
  };
  return {
    routes,
    fail: faults.set,
    requests: faults.requests,
  };
};
