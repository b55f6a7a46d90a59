import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { PRODUCT_KINDS } from "../../../lib/contract/schemas.ts";
import { DAY } from "../../../lib/duration.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { parseJson } from "../../../lib/bounded-text.ts";
import { found, type Answer } from "../../routes.ts";
import { googleError } from "../answers.ts";

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases */
const VOIDED_BY = { user: 0, developer: 1, google: 2 } as const;
const VOIDED_FOR = { other: 0, chargeback: 7, unacknowledged: 8 } as const;

export const voidedPurchase = z.object({
  packageName: z.string(),
  purchaseToken: z.string(),
  productKind: z.enum(PRODUCT_KINDS),
  voidedAt: z.int(),
  /** Time at which the store's systems list it; absent: when it was voided. */
  seenAt: z.int().optional(),
  orderId: z.string(),
  orderedAt: z.int(),
  /** Who refunded it, and why. */
  by: z.enum(["user", "developer", "google"]),
  for: z.enum(["other", "chargeback", "unacknowledged"]),
  /** Refunded part of a quantity; null: all of it. */
  quantity: z.int().nullable(),
});

export type VoidedPurchase = Readonly<z.output<typeof voidedPurchase>>;

export type VoidedOrder = Pick<VoidedPurchase, "orderId" | "orderedAt" | "by" | "for" | "quantity">;

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
    .transform((token) => parseJson(Buffer.from(token, "base64url").toString("utf8")))
    .pipe(z.object({ startTime: z.int(), endTime: z.int(), offset: z.int().min(0) }))
    .optional(),
});

const invalid = (parameter: string): Answer => googleError(400, "invalid", "Invalid Value", parameter);

const presented = (voided: VoidedPurchase): androidpublisher_v3.Schema$VoidedPurchase => ({
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
export const listVoidedPurchases = (
  all: readonly VoidedPurchase[],
  parameters: URLSearchParams,
  now: Instant,
): Answer => {
  const parsed = listRequest.safeParse(Object.fromEntries(parameters));
  if (!parsed.success) return invalid(String(parsed.error.issues[0]?.path[0] ?? "token"));
  const { maxResults, type, includeQuantityBasedPartialRefund, token } = parsed.data;
  const { startTime: from = now - LISTED, endTime: to = now } = parsed.data;
  const { startTime, endTime, offset } = token ?? { startTime: from, endTime: to, offset: 0 };
  if (token === undefined && startTime < now - LISTED) return invalid("startTime");
  if (token === undefined && endTime > now) return invalid("endTime");
  const listed = all.filter(
    ({ voidedAt, seenAt = voidedAt, productKind, quantity }) =>
      seenAt >= startTime &&
      seenAt <= endTime &&
      (type === "1" || productKind === "one_time_product") &&
      (includeQuantityBasedPartialRefund === "true" || quantity === null),
  );
  const next = offset + maxResults;
  const nextPageToken = Buffer.from(JSON.stringify({ startTime, endTime, offset: next })).toString(
    "base64url",
  );
  return found({
    ...(listed.length > offset && { voidedPurchases: listed.slice(offset, next).map(presented) }),
    ...(listed.length > next && { tokenPagination: { nextPageToken } }),
  });
};
