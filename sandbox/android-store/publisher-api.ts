import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { DAY } from "../../lib/duration.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import {
  aroundEach,
  createRate,
  found,
  pageToken,
  Refused,
  type Answer,
  type Call,
  type Reply,
  type Routes,
} from "../routes.ts";
import {
  ACKNOWLEDGED,
  isPaid,
  productsOf,
  type StoredPurchase,
  type VoidedPurchase,
} from "./shop/purchases.ts";
import type { Order, ShopKeeping } from "./shop/shop.ts";

export const googleRefusal = (
  status: number,
  reason: string,
  message: string,
  location?: string,
): Refused => {
  const parameter = location === undefined ? {} : { location, locationType: "parameter" };
  const errors = [{ message, domain: "androidpublisher", reason, ...parameter }];
  return new Refused({ status, body: { error: { code: status, message, errors } } });
};

const invalid = (parameter?: string): Refused => googleRefusal(400, "invalid", "Invalid Value", parameter);

/** Endpoints whose requests are counted, and may meet faults. */
export type SandboxEndpoint = "token" | "impersonation" | "publisher";

/** A request received, including one that met a fault. Its path is without the prefix; percent-encoded, as sent. */
type SandboxCall = Pick<Call, "method" | "path"> & { readonly endpoint: SandboxEndpoint };

/** A fault: a given response, no response at all, or a closed connection. */
export type Fault = Reply;

/** Counts requests, limits their rate, and makes them fail. */
export const createFaults = (now: () => Instant) => {
  const rate = createRate();
  const faults: Record<SandboxEndpoint, Fault[]> = { token: [], impersonation: [], publisher: [] };
  const calls: SandboxCall[] = [];
  return {
    /** Routes whose requests are counted, and meet the faults of their endpoint. */
    faulty: (endpoint: SandboxEndpoint, routes: Routes): Routes =>
      aroundEach(routes, (route) => (call, ...named) => {
        calls.push({ endpoint, method: call.method, path: call.path });
        return faults[endpoint].shift() ?? route(call, ...named);
      }),
    limited: (routes: Routes): Routes =>
      aroundEach(routes, (route) => (...called) => {
        if (rate.countedUntil(now()) === null) return route(...called);
        throw googleRefusal(429, "rateLimitExceeded", "Rate limit exceeded.");
      }),
    /** Makes the next requests to an endpoint fail, one per fault. */
    failNext: (endpoint: SandboxEndpoint, ...next: Fault[]): void => {
      faults[endpoint].push(...next);
    },
    /** Discards the faults that no request has met yet. */
    clearFaults: (): void => {
      for (const waiting of Object.values(faults)) waiting.length = 0;
    },
    /** Requests of a second that are answered; null: all. */
    limitPublisher: rate.limit,
    calls,
  };
};

const MOST_ORDERS = 1000;

const stateOf = (voided: readonly VoidedPurchase[]): string => {
  if (voided.length === 0) return "PROCESSED";
  return voided.some(({ quantity }) => quantity === null) ? "REFUNDED" : "PARTIALLY_REFUNDED";
};

const presentedOrder = (
  { orderId, purchaseToken, createdAt, lines }: Order,
  voided: readonly VoidedPurchase[],
): androidpublisher_v3.Schema$Order => ({
  orderId,
  purchaseToken,
  state: stateOf(voided),
  createTime: isoTime(createdAt),
  lastEventTime: isoTime(Math.max(createdAt, ...voided.map(({ voidedAt }) => voidedAt))),
  lineItems: lines,
});

/**
 * All of the orders, in the order of the request, or none. Google documents that an unknown order fails the request, and
 * not the error's reason.
 *
 * @param voided voided purchases of the package
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders/batchget
 */
const batchGetOrders = (
  packageName: string,
  orderIds: readonly string[],
  find: (orderId: string) => Order | undefined,
  voided: readonly VoidedPurchase[],
): Answer => {
  const isDistinct = new Set(orderIds).size === orderIds.length;
  if (orderIds.length === 0 || orderIds.length > MOST_ORDERS || !isDistinct || orderIds.includes(""))
    throw invalid("orderIds");
  const orders = orderIds.flatMap((orderId) => find(orderId) ?? []);
  if (orders.length < orderIds.length || orders.some((order) => order.packageName !== packageName))
    throw googleRefusal(404, "notFound", "An order was not found.", "orderIds");
  const voids = Map.groupBy(voided, ({ orderId }) => orderId);
  return found({ orders: orders.map((order) => presentedOrder(order, voids.get(order.orderId) ?? [])) });
};

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases */
const VOIDED_BY = { user: 0, developer: 1, google: 2 } as const;
const VOIDED_FOR = { other: 0, chargeback: 7, unacknowledged: 8 } as const;

const LISTED = 30 * DAY;
const LARGEST_PAGE = 1000;

const milliseconds = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number);

const listRequest = z.object({
  startTime: milliseconds.optional(),
  endTime: milliseconds.optional(),
  maxResults: z.coerce.number().int().min(1).max(LARGEST_PAGE).default(LARGEST_PAGE),
  type: z.enum(["0", "1"]).default("0"),
  includeQuantityBasedPartialRefund: z.enum(["true", "false"]).default("false"),
  token: z
    .string()
    .transform(pageToken.read)
    .pipe(z.object({ startTime: z.int(), endTime: z.int(), offset: z.int().min(0) }))
    .optional(),
});

const presentedVoid = (voided: VoidedPurchase): androidpublisher_v3.Schema$VoidedPurchase => ({
  kind: "androidpublisher#voidedPurchase",
  purchaseToken: voided.purchaseToken,
  purchaseTimeMillis: String(voided.orderedAt),
  voidedTimeMillis: String(voided.voidedAt),
  orderId: voided.orderId,
  voidedSource: VOIDED_BY[voided.by],
  voidedReason: VOIDED_FOR[voided.for],
  ...(voided.quantity !== null && { voidedQuantity: voided.quantity }),
});

/**
 * Oldest first, at most 30 days back, by the time at which the store's systems saw the void, which the answer does not
 * contain. A page token carries the times of the first request.
 *
 * @param all voided purchases of the package
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list
 */
const listVoidedPurchases = (
  all: readonly VoidedPurchase[],
  parameters: URLSearchParams,
  now: Instant,
): Answer => {
  const parsed = listRequest.safeParse(Object.fromEntries(parameters));
  if (!parsed.success) throw invalid(String(parsed.error.issues[0]?.path[0] ?? "token"));
  const { maxResults, type, includeQuantityBasedPartialRefund, token } = parsed.data;
  const { startTime: from = now - LISTED, endTime: to = now } = parsed.data;
  const { startTime, endTime, offset } = token ?? { startTime: from, endTime: to, offset: 0 };
  if (token === undefined && startTime < now - LISTED) throw invalid("startTime");
  if (token === undefined && endTime > now) throw invalid("endTime");
  const listed = all.filter(
    ({ voidedAt, seenAt = voidedAt, productKind, quantity }) =>
      seenAt >= startTime &&
      seenAt <= endTime &&
      (type === "1" || productKind === "one_time_product") &&
      (includeQuantityBasedPartialRefund === "true" || quantity === null),
  );
  const next = offset + maxResults;
  const nextPageToken = pageToken.of({ startTime, endTime, offset: next });
  return found({
    ...(listed.length > offset && { voidedPurchases: listed.slice(offset, next).map(presentedVoid) }),
    ...(listed.length > next && { tokenPagination: { nextPageToken } }),
  });
};

type ProductKind = StoredPurchase["productKind"];

const GONE: Readonly<Record<ProductKind, readonly [reason: string, message: string]>> = {
  subscription: [
    "subscriptionPurchaseNoLongerAvailable",
    "The subscription purchase is no longer available for query because it has been expired for too long.",
  ],
  one_time_product: ["purchaseTokenNoLongerValid", "The purchase token is no longer valid."],
};

const soldUnder = (
  shop: ShopKeeping,
  productKind: ProductKind,
  packageName: string,
  purchaseToken: string,
): StoredPurchase => {
  if (shop.isDropped(purchaseToken)) throw googleRefusal(410, ...GONE[productKind]);
  const stored = shop.read(purchaseToken);
  if (stored === undefined)
    throw googleRefusal(404, "purchaseTokenNotFound", "The purchase token was not found.", "token");
  if (stored.packageName !== packageName)
    throw googleRefusal(
      400,
      "purchaseTokenDoesNotMatchPackageName",
      "The purchase token does not match the package name.",
      "token",
    );
  if (stored.productKind !== productKind) throw invalid();
  return stored;
};

const requireUnacknowledged = (stored: StoredPurchase, product: string): void => {
  if (!productsOf(stored).includes(product))
    throw googleRefusal(
      400,
      "purchaseTokenDoesNotMatchProductId",
      "The purchase token does not match the product ID.",
      "token",
    );
  if (!isPaid(stored))
    throw googleRefusal(400, "invalid", "The purchase is not in a state that can be acknowledged.");
  if (stored.answer.acknowledgementState === ACKNOWLEDGED)
    throw googleRefusal(400, "invalid", "The purchase has been acknowledged already.");
};

const OF_APPLICATION = "/androidpublisher/v3/applications/{packageName}";

/**
 * @param requireToken throws Refused unless the request has an access token for the API
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export const publisherRoutes = (
  shop: ShopKeeping,
  requireToken: (authorization: string | undefined) => void,
): Routes => {
  const routesOf = (kind: ProductKind, read: string, acknowledged: string): Routes => ({
    [`GET ${OF_APPLICATION}/purchases/${read}/tokens/{purchaseToken}`]: (_, packageName = "", token = "") =>
      found(soldUnder(shop, kind, packageName, token).answer),
    [`POST ${OF_APPLICATION}/purchases/${acknowledged}/{product}/tokens/{purchaseToken}:acknowledge`]: (
      _,
      packageName = "",
      product = "",
      token = "",
    ) => {
      requireUnacknowledged(soldUnder(shop, kind, packageName, token), product);
      shop.change(token, { change: "acknowledge" });
      return found({});
    },
  });
  const routes: Routes = {
    ...routesOf("subscription", "subscriptionsv2", "subscriptions"),
    ...routesOf("one_time_product", "productsv2", "products"),
    [`GET ${OF_APPLICATION}/orders:batchGet`]: ({ query }, packageName = "") =>
      batchGetOrders(packageName, query.getAll("orderIds"), shop.order, shop.voidedOf(packageName)),
    [`GET ${OF_APPLICATION}/purchases/voidedpurchases`]: ({ query }, packageName = "") =>
      listVoidedPurchases(shop.voidedOf(packageName), query, shop.time()),
  };
  return aroundEach(routes, (route) => (call, ...named) => {
    requireToken(call.authorization);
    return route(call, ...named);
  });
};
