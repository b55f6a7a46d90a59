import { parseJson } from "../../../lib/bounded-text.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { found, type Call, type Route, type Routes } from "../../routes.ts";
import type { Pushes } from "../notifications/pushes.ts";
import type { Shop } from "../shop/shop.ts";
import type { JwsSigner } from "../signing.ts";
import { createFaults, UNAUTHENTICATED } from "./faults.ts";
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

export type ServerApi = ReturnType<typeof createServerApi>;

/**
 * The endpoints of the App Store Server API that the service and its import ask. Answers never wait for notifications.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createServerApi = (store: {
  readonly shop: Shop;
  readonly pushes: Pushes;
  /** Makes everything due happen, without waiting for its notifications; returns the time. */
  readonly catchUp: () => Instant;
  readonly signer: JwsSigner;
  readonly serverKey: ServerKey;
  readonly now: () => Instant;
}) => {
  const { shop, pushes, catchUp, signer, now } = store;
  const bundleOfToken = createTokenVerifier(store.serverKey);
  const faults = createFaults();

  const routeOf =
    (answer: (call: Call, bundleIdentifier: string, identifier: string) => object): Route =>
    async (call, identifier = "") => {
      const failure = faults.next(now());
      if (failure !== null) return failure;
      const bundleIdentifier = await bundleOfToken(call.authorization, now());
      return bundleIdentifier === null ? UNAUTHENTICATED : found(answer(call, bundleIdentifier, identifier));
    };
  const aboutPerson = (answer: (person: Person, call: Call) => object): Route =>
    routeOf((call, bundleIdentifier, identifier) =>
      answer(personOf(shop, bundleIdentifier, identifier, { at: catchUp(), signer }), call),
    );
  const routes: Routes = {
    "GET /inApps/v1/subscriptions/{transactionId}": aboutPerson(subscriptionStatuses),
    "GET /inApps/v2/history/{transactionId}": aboutPerson(transactionHistory),
    "GET /inApps/v1/transactions/{transactionId}": aboutPerson(transactionInfo),
    "GET /inApps/v1/transactions/appTransactions/{transactionId}": aboutPerson(appTransactionInfo),
    "POST /inApps/v1/notifications/history": routeOf(({ body, query }, bundleIdentifier) => {
      const at = catchUp();
      const token = query.get("paginationToken");
      return notificationHistory(parseJson(body), token, bundleIdentifier, pushes.history(), at);
    }),
  };
  return { routes, fail: faults.set, requests: faults.requests };
};
