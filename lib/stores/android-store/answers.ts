import * as z from "zod/mini";
import type { ProductKind } from "../../contract/schemas.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { lenient } from "../lenient.ts";

/**
 * Parts of the schemas of the store's answers, which have only the fields that are read. Unknown fields are ignored. An
 * unknown state is refused: its meaning for access cannot be guessed.
 */

/** RFC 3339, with up to nine fractional digits. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

export const timestamp = once(() =>
  z.pipe(
    z.string(),
    z.transform((text, context): Instant => {
      const instant = TIMESTAMP.test(text) ? Date.parse(text) : Number.NaN;
      if (isInstant(instant)) return instant;
      context.issues.push({ code: "custom", message: "must be a time", input: text });
      return z.NEVER;
    }),
  ),
);

/** Limits what is stored or becomes part of a key, far above what Google documents (64 for account ids). */
export const text = once(() =>
  z.string().check(
    z.minLength(1),
    z.maxLength(256),
    z.refine((value) => value.isWellFormed()),
  ),
);

/** Google omits unset fields; null and the empty string read the same. */
export const orNull = <Schema extends z.ZodMiniType>(schema: Schema) =>
  z.pipe(
    z.nullish(
      z.union([
        z.pipe(
          z.literal(""),
          z.transform(() => null),
        ),
        schema,
      ]),
    ),
    z.transform((value) => value ?? null),
  );

/** A time in milliseconds; an unreadable one loses no purchase of the list. */
const millisecondsOf = (text: unknown): Instant | null => {
  const time = typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : null;
  return isInstant(time) ? time : null;
};

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list */
export const voidedAnswer = once(() =>
  z.pipe(
    z.object({
      voidedPurchases: z.optional(
        z.array(
          z.object({
            purchaseToken: z.string().check(z.minLength(1)),
            voidedTimeMillis: z.optional(z.unknown()),
            // Only of a part of a quantity.
            voidedQuantity: z.optional(z.unknown()),
          }),
        ),
      ),
      tokenPagination: z.nullish(z.object({ nextPageToken: z.nullish(z.string()) })),
    }),
    z.transform(({ voidedPurchases = [], tokenPagination }) => ({
      /** May contain duplicates. */
      voided: voidedPurchases.map(({ purchaseToken, voidedTimeMillis, voidedQuantity }) => ({
        purchaseToken,
        /** Null: a part of a quantity is voided, or the time cannot be read. */
        fullyVoidedAt: voidedQuantity === undefined ? millisecondsOf(voidedTimeMillis) : null,
      })),
      /** Token of the next page; null: this is the last one, which may name an empty one. */
      next: tokenPagination?.nextPageToken || null,
    })),
  ),
);
export type VoidedPage = Readonly<z.output<ReturnType<typeof voidedAnswer>>>;

/** Any other state, or none, says that the acknowledgement is due: one too many costs a request, one too few the purchase. */
export const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

/** Fields of a purchase of either kind; one of another form reads as absent. */
const purchaseAnswer = once(() =>
  z.object({
    acknowledgementState: lenient(z.string()),
    lineItems: lenient(z.array(z.object({ productId: text() }))),
    productLineItem: lenient(z.array(z.object({ productId: text() }))),
    externalAccountIdentifiers: lenient(z.object({ obfuscatedExternalAccountId: z.nullish(z.string()) })),
    obfuscatedExternalAccountId: lenient(z.string()),
  }),
);

export const saysAcknowledged = (body: unknown): boolean =>
  purchaseAnswer().safeParse(body).data?.acknowledgementState === ACKNOWLEDGED;

export const productsIn = (body: unknown): readonly string[] => {
  const { data } = purchaseAnswer().safeParse(body);
  return [...(data?.lineItems ?? []), ...(data?.productLineItem ?? [])].map(({ productId }) => productId);
};

/** The account id that the app gave to the store with the purchase of either kind; null: none. It proves nothing. */
export const accountIn = (body: unknown): string | null => {
  const { data } = purchaseAnswer().safeParse(body);
  const echoes = [
    data?.externalAccountIdentifiers?.obfuscatedExternalAccountId,
    data?.obfuscatedExternalAccountId,
  ];
  return echoes.find((echo) => echo) ?? null;
};

/** A payment, and the purchase that it is of. */
export interface AndroidOrder {
  readonly orderIdentifier: string;
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
}

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders#Order */
export const ordersAnswer = /* @__PURE__ */ once(() =>
  z.pipe(
    z.object({
      orders: z.optional(
        z.array(
          z.object({
            orderId: z.string(),
            purchaseToken: orNull(z.string()),
            lineItems: orNull(z.array(z.object({ subscriptionDetails: orNull(z.object({})) }))),
          }),
        ),
      ),
    }),
    z.transform(({ orders = [] }) =>
      orders.flatMap(({ orderId, purchaseToken, lineItems }): AndroidOrder[] => {
        if (purchaseToken === null) return [];
        const isSubscription = lineItems?.some((line) => line.subscriptionDetails !== null) ?? false;
        const productKind = isSubscription ? "subscription" : "one_time_product";
        return [{ orderIdentifier: orderId, purchaseToken, productKind }];
      }),
    ),
  ),
);
