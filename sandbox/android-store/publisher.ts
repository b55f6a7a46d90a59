import type { IncomingMessage, ServerResponse } from "node:http";
import type { Instant } from "../../lib/entitlements/time.ts";
import { readBody, send, type Answer } from "./answers.ts";
import { createControl } from "./control.ts";
import { createPublisherApi } from "./publisher-api.ts";
import { createShop, type Shop } from "./shop.ts";
import { createTokenEndpoints, type TokenEndpoints } from "./tokens.ts";

/**
 * A local Android Publisher API (v3) with its token exchange: the methods that read and acknowledge purchases, Google's
 * error bodies, and endpoints to create and change purchases.
 *
 * Below its mount prefix:
 *
 * | | |
 * |---|---|
 * | `POST /purchases` | creates a purchase: `{ packageName, productKind, productIdentifier, … }` (`SandboxPurchase`); answers 201 `{ purchaseToken, purchase }` |
 * | `GET /purchases`, `GET /purchases/{purchaseToken}` | existing purchases, in the API's own shapes |
 * | `POST /purchases/{purchaseToken}` | changes a purchase: `{ change, period? }` (`CHANGES`) |
 * | `DELETE /purchases/{purchaseToken}` | drops a purchase: 410 from then on |
 * | `POST /token` | OAuth token exchange (RFC 8693), and the JWT grant of service accounts (RFC 7523) |
 * | `POST /serviceAccounts/{e-mail}:generateAccessToken` | impersonation, as in IAM Credentials |
 * | `/androidpublisher/v3/…` | the API; requires an access token |
 *
 * ```sh
 * curl -X POST localhost:3000/sandbox/android-publisher/purchases -H 'content-type: application/json' \
 *   -d '{ "packageName": "com.example.trails", "productKind": "subscription", "productIdentifier": "premium", "basePlanIdentifier": "monthly" }'
 * curl -X POST localhost:3000/sandbox/android-publisher/purchases/$PURCHASE_TOKEN -H 'content-type: application/json' -d '{ "change": "hold" }'
 * ```
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export interface AndroidPublisherSandbox
  extends
    Omit<Shop, "isDropped" | "tokens">,
    Pick<TokenEndpoints, "externalAccount" | "createServiceAccount" | "revokeAccessTokens"> {
  /** Answers requests below the prefix. Returns false, without side effects, for paths that are not its own. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Makes the next requests to an endpoint fail, one per fault. */
  failNext(endpoint: SandboxEndpoint, ...faults: Fault[]): void;
  /** Discards the faults that no request has met yet. */
  clearFaults(): void;
  /** All requests received, including those that met a fault. */
  readonly calls: SandboxCall[];
}

export type SandboxEndpoint = "token" | "impersonation" | "publisher" | "control";

export interface SandboxCall {
  readonly endpoint: SandboxEndpoint;
  readonly method: string;
  /** Without the prefix; percent-encoded, as sent. */
  readonly path: string;
}

/** A fault: a given response, no response at all, or a closed connection. */
export type Fault =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | "hang"
  | "disconnect";

const API = "/androidpublisher/v3";

const endpointOf = (path: string): SandboxEndpoint | null => {
  if (path === "/token") return "token";
  if (path.startsWith("/serviceAccounts/")) return "impersonation";
  if (path.startsWith(`${API}/`)) return "publisher";
  return path === "/purchases" || path.startsWith("/purchases/") ? "control" : null;
};

/**
 * @param options.prefix mount path without a trailing slash; empty: the root
 * @param options.packageNames existing packages; unset: every package exists
 */
export const createAndroidPublisherSandbox = (options: {
  now: () => Instant;
  prefix?: string;
  packageNames?: readonly string[];
}): AndroidPublisherSandbox => {
  const { now, prefix = "", packageNames } = options;
  const shop = createShop(now);
  const { answerToken, answerImpersonation, refusal, ...accounts } = createTokenEndpoints(now);
  const answerPublisher = createPublisherApi(shop, packageNames);
  const answerControl = createControl(shop);
  const faults: Record<SandboxEndpoint, Fault[]> = {
    token: [],
    impersonation: [],
    publisher: [],
    control: [],
  };
  const calls: SandboxCall[] = [];

  const answer = (
    endpoint: SandboxEndpoint,
    { method = "GET", headers: { authorization } }: IncomingMessage,
    path: string,
    body: string,
  ): Answer => {
    switch (endpoint) {
      case "token":
        return answerToken(method, body);
      case "impersonation":
        return answerImpersonation(body, authorization);
      case "publisher":
        return refusal(authorization) ?? answerPublisher(method, path.slice(API.length));
      case "control":
        return answerControl(method, path, body);
    }
  };

  const { isDropped: _, tokens: __, ...sold } = shop;
  return {
    ...sold,
    ...accounts,
    handle: async (request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://sandbox");
      if (!pathname.startsWith(`${prefix}/`)) return false;
      const path = pathname.slice(prefix.length);
      const endpoint = endpointOf(path);
      if (endpoint === null) return false;
      calls.push({ endpoint, method: request.method ?? "GET", path });
      const body = await readBody(request);
      const fault = faults[endpoint].shift();
      if (fault === "hang") return true;
      if (fault === "disconnect") {
        request.socket.destroy();
        return true;
      }
      send(response, fault ?? answer(endpoint, request, path, body));
      return true;
    },
    failNext: (endpoint, ...next) => {
      faults[endpoint].push(...next);
    },
    clearFaults: () => {
      for (const waiting of Object.values(faults)) waiting.length = 0;
    },
    calls,
  };
};
