import { Mutex } from "async-mutex";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JSONWebKeySet } from "jose";
import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../clock.ts";
import { parseJson } from "../../lib/bounded-text.ts";
import { createRate } from "../rate.ts";
import { OVER_LIMIT, readBody, send, type Answer } from "./answers.ts";
import { createControl } from "./control.ts";
import { createCertificates, createNotificationsControl } from "./notifications/control.ts";
import { createPublisherApi } from "./publisher-api/publisher-api.ts";
import { createPushKeys, savedKeys } from "./notifications/push-keys.ts";
import { createPushes, savedPushes, type PushOptions, type Pushes } from "./notifications/pushes.ts";
import { createShop, savedShop, type Shop } from "./shop/shop.ts";
import { createTokenEndpoints, type TokenEndpoints } from "./publisher-api/tokens.ts";

/**
 * A local Google Play: the Android Publisher API (v3) with its token exchange, a shop, and Real-time Developer Notifications
 * as Pub/Sub pushes them. Time passes only in `runUntil`. A request that changes something is answered once its pushes were.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 * @see https://developer.android.com/google/play/billing/rtdn-reference
 */
export interface AndroidPublisherSandbox
  extends
    Shop,
    TimedStore,
    Pick<Pushes, "pushed">,
    Pick<TokenEndpoints, "externalAccount" | "createServiceAccount" | "revokeAccessTokens"> {
  /** Answers requests below the prefix. Returns false, without side effects, for paths that are not its own. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Makes the next requests to an endpoint fail, one per fault. */
  failNext(endpoint: SandboxEndpoint, ...faults: Fault[]): void;
  /**
   * Limits the API's requests of each second; the others are answered 429.
   *
   * @param perSecond null: no limit
   */
  limitPublisher(perSecond: number | null): void;
  /** Discards the faults that no request has met yet. */
  clearFaults(): void;
  readonly enableNotifications: Pushes["enable"];
  /** A push request as the store would send it, with any claims, header or message, valid or not. */
  readonly pushRequest: Pushes["request"];
  /** The keys that `GET /certs` answers. */
  certificates(): Promise<JSONWebKeySet>;
  /** All requests received, including those that met a fault. */
  readonly calls: SandboxCall[];
}

export type SandboxEndpoint =
  "token" | "impersonation" | "publisher" | "control" | "certificates" | "notifications";

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
  if (path === "/certs" || path === "/certs/rotate") return "certificates";
  if (path === "/notifications" || path === "/notifications/test") return "notifications";
  return path === "/purchases" || path.startsWith("/purchases/") ? "control" : null;
};

const savedStore = z.object({ shop: savedShop, pushes: savedPushes, keys: savedKeys });

/**
 * @param options.prefix mount path without a trailing slash; empty: the root
 * @param options.packageNames existing packages; unset: every package exists
 * @param options.saved what `save` returned; null: a new store
 * @throws if `saved` is not what `save` returns
 */
export const createAndroidPublisherSandbox = (
  options: {
    now: () => Instant;
    prefix?: string;
    packageNames?: readonly string[];
    saved?: string | null;
  } & PushOptions,
): AndroidPublisherSandbox => {
  const { now, prefix = "", packageNames } = options;
  const saved = options.saved == null ? null : savedStore.parse(parseJson(options.saved));
  const keys = createPushKeys(saved?.keys ?? []);
  const pushes = createPushes(options, keys, () => shop.time(), saved?.pushes ?? []);
  const shop = createShop(now, pushes.publish, saved?.shop ?? null);
  const { answerToken, answerImpersonation, refusal, ...accounts } = createTokenEndpoints(now);
  const answerPublisher = createPublisherApi(shop, packageNames);
  const answerControl = createControl(shop);
  const answerCertificates = createCertificates(keys);
  const answerNotifications = createNotificationsControl(shop, pushes);
  const faults: Record<SandboxEndpoint, Fault[]> = {
    token: [],
    impersonation: [],
    publisher: [],
    control: [],
    certificates: [],
    notifications: [],
  };
  const calls: SandboxCall[] = [];
  const rate = createRate();

  const answer = (
    endpoint: SandboxEndpoint,
    { method = "GET", headers: { authorization } }: IncomingMessage,
    { path, parameters }: { readonly path: string; readonly parameters: URLSearchParams },
    body: string,
  ): Answer | Promise<Answer> => {
    switch (endpoint) {
      case "token":
        return answerToken(method, body);
      case "impersonation":
        return answerImpersonation(body, authorization);
      case "publisher":
        if (rate.countedUntil(now()) !== null) return OVER_LIMIT;
        return refusal(authorization) ?? answerPublisher(method, path.slice(API.length), parameters);
      case "control":
        return answerControl(method, path, body);
      case "certificates":
        return answerCertificates(method, path);
      case "notifications":
        return answerNotifications(method, path, body);
    }
  };

  const nextEventAt = (): Instant | null => {
    const moments = [shop.nextEventAt(), pushes.nextAt()].filter((moment) => moment !== null);
    return moments.length === 0 ? null : Math.min(...moments);
  };

  const run = async (moment: Instant): Promise<void> => {
    await pushes.pushed();
    for (let next = nextEventAt(); next !== null && next <= moment; next = nextEventAt()) {
      if (shop.nextEventAt() === next) shop.makeNextHappen(next);
      else await pushes.sendAgain(next);
      await pushes.pushed();
    }
    shop.passTime(moment);
  };
  /** Runs are sequential, so that no event happens twice. */
  const runs = new Mutex();

  return {
    buy: shop.buy,
    put: shop.put,
    read: shop.read,
    change: shop.change,
    drop: shop.drop,
    pushed: pushes.pushed,
    pushRequest: pushes.request,
    enableNotifications: pushes.enable,
    certificates: keys.list,
    nextEventAt,
    runUntil: async (moment) => runs.runExclusive(async () => run(moment)),
    reset: () => {
      shop.reset();
      pushes.forget();
    },
    save: () =>
      JSON.stringify({
        shop: shop.save(),
        pushes: pushes.save(),
        keys: keys.save(),
      } satisfies z.input<typeof savedStore>),
    ...accounts,
    handle: async (request, response) => {
      const { pathname, searchParams: parameters } = new URL(request.url ?? "/", "http://sandbox");
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
      const answered = fault ?? (await answer(endpoint, request, { path, parameters }, body));
      // Other endpoints are called during a push: waiting there would be a deadlock.
      const changes = endpoint === "control" || endpoint === "notifications";
      if (changes && request.method !== "GET") await pushes.pushed();
      send(response, answered);
      return true;
    },
    failNext: (endpoint, ...next) => {
      faults[endpoint].push(...next);
    },
    limitPublisher: rate.limit,
    clearFaults: () => {
      for (const waiting of Object.values(faults)) waiting.length = 0;
    },
    calls,
  };
};
