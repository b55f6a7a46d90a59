import type { IncomingMessage, ServerResponse } from "node:http";
import type { Instant } from "../../lib/entitlements/time.ts";
import { readBody, send, type Answer } from "./answers.ts";
import { createControl } from "./control.ts";
import { createPublisherApi } from "./publisher-api.ts";
import { createShop, type Shop } from "./shop.ts";
import { createTokenEndpoints, type TokenEndpoints } from "./tokens.ts";

/**
 * A local Android Publisher API (v3) with the token exchange that it needs: the calls that read and acknowledge
 * purchases, Google's error bodies, and beside them a way to make purchases and to change them.
 *
 * Under the prefix that it is mounted at:
 *
 * | | |
 * |---|---|
 * | `POST /purchases` | makes a purchase: `{ packageName, productKind, productIdentifier, … }` (`SandboxPurchase`); answers 201 `{ purchaseToken, purchase }` |
 * | `GET /purchases`, `GET /purchases/{purchaseToken}` | what there is, in the API's own shapes |
 * | `POST /purchases/{purchaseToken}` | what happens to it: `{ change, period? }` (`CHANGES`) |
 * | `DELETE /purchases/{purchaseToken}` | the store drops it: 410 from then on |
 * | `POST /token` | OAuth token exchange (RFC 8693), and the JWT grant of service accounts (RFC 7523) |
 * | `POST /serviceAccounts/{e-mail}:generateAccessToken` | impersonation, as IAM Credentials does it |
 * | `/androidpublisher/v3/…` | the API; wants an access token of `/token` |
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
  /** Answers what is under the prefix; false, and nothing is done, where the path is not. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** The next requests to the token endpoint or to the API are met with these, one each, instead of an answer. */
  failNext(endpoint: SandboxEndpoint, ...faults: Fault[]): void;
  /** What was to fail and was not asked for answers again. */
  clearFaults(): void;
  /** Every request that came, those met with a fault too. */
  readonly calls: SandboxCall[];
}

export type SandboxEndpoint = "token" | "impersonation" | "publisher" | "control";

export interface SandboxCall {
  readonly endpoint: SandboxEndpoint;
  readonly method: string;
  /** Without the prefix, as it was sent: percent-encoded. */
  readonly path: string;
}

/** What goes wrong: an answer that is none of the sandbox's own, no answer ever, or a closed connection. */
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
 * @param options.prefix The path that the sandbox is mounted at, without a slash at its end; empty: the root.
 * @param options.packageNames The packages that exist; left out: all that are asked for.
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
