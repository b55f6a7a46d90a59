import type { ProductKind } from "../../contract/schemas.ts";
import { MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { malformedAnswer, unavailable, type StoreClientOptions } from "../store-client.ts";
import {
  accountIn,
  ordersAnswer,
  productsIn,
  saysAcknowledged,
  voidedAnswer,
  type AndroidOrder,
  type VoidedPage,
} from "./answers.ts";
import type { Failure } from "./failure.ts";
import { readOneTimeProduct } from "./one-time-product.ts";
import { createAndroidPublisher, type AndroidStoreCredential, type Call } from "./publisher.ts";
import type { PendingAcknowledgement, VerifiedPurchase } from "./reading.ts";
import { readSubscription } from "./subscription.ts";

export interface AndroidPackage {
  readonly packageName: string;
  readonly credential: AndroidStoreCredential;
}

export interface AndroidPurchaseRequest {
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
  /** Selects one product of a one-time purchase; null: all of them. Ignored for subscriptions. */
  readonly productIdentifier: string | null;
  /** Reads the account id that the app chose, too: an import reports it. It proves nothing, so no one else reads it. */
  readonly readsAccountEcho?: true;
}

/** Outcome of a lookup. `accountEcho`: where it was asked for, and there is one. */
export type AndroidStoreAnswer =
  ({ readonly outcome: "verified"; readonly accountEcho?: string } & VerifiedPurchase) | Failure;

type AcknowledgementAnswer = { readonly outcome: "acknowledged" } | Failure;

/** Times at which the store recorded refunds, revocations and chargebacks: perhaps days after they happened. */
interface VoidedPeriod {
  /** Within the last 30 days. */
  readonly from: Instant;
  readonly to: Instant;
}

export type VoidedPurchase = VoidedPage["voided"][number];

export type VoidedPurchasesAnswer = ({ readonly outcome: "answered" } & VoidedPage) | Failure;

/** Google's `type` for lists that include subscriptions. */
const SUBSCRIPTIONS_TOO = 1;

/** Not usable as a URL path segment; the store never issues them. */
const NO_TOKENS: ReadonlySet<string> = new Set(["", ".", ".."]);

/** Maximum length, percent-encoded; no server accepts a longer path. */
const LONGEST_ENCODED_TOKEN = 8192;

const isNoToken = (token: string): boolean =>
  NO_TOKENS.has(token) || !token.isWellFormed() || encodeURIComponent(token).length > LONGEST_ENCODED_TOKEN;

const readPurchase =
  ({ packageName }: AndroidPackage, token: string, kind: ProductKind): Call =>
  ({ purchases: { subscriptionsv2, productsv2 } }, auth, options) =>
    kind === "subscription"
      ? subscriptionsv2.get({ packageName, token, auth }, options)
      : productsv2.getproductpurchasev2({ packageName, token, auth }, options);

const acknowledgePurchase =
  ({ packageName, purchaseToken: token, productKind }: PendingAcknowledgement, product: string): Call =>
  ({ purchases: { subscriptions, products } }, auth, options) => {
    const common = { packageName, token, auth, requestBody: {} };
    return productKind === "subscription"
      ? subscriptions.acknowledge({ ...common, subscriptionId: product }, options)
      : products.acknowledge({ ...common, productId: product }, options);
  };

const listVoided =
  ({ packageName }: AndroidPackage, { from, to }: VoidedPeriod, page: string | null): Call =>
  ({ purchases: { voidedpurchases } }, auth, options) =>
    voidedpurchases.list(
      {
        packageName,
        auth,
        startTime: String(from),
        endTime: String(to),
        type: SUBSCRIPTIONS_TOO,
        includeQuantityBasedPartialRefund: true,
        ...(page !== null && { token: page }),
      },
      options,
    );

const rejectedAs = (reason: string | null, status: number | null = null): Failure => ({
  outcome: "rejected",
  status,
  reason,
});

/** Google answers so for a product name that it does not take, and for a purchase that is acknowledged already. */
const isRefusal = ({ status }: Failure): boolean => status === 400 || status === 409;

const ACKNOWLEDGED: AcknowledgementAnswer = { outcome: "acknowledged" };

/**
 * The Android store, through Google's client for the Android Publisher API.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2/get
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2/getproductpurchasev2
 */
export const createAndroidStore = (options: StoreClientOptions) => {
  const { now } = options;
  const publisher = createAndroidPublisher(options);

  return {
    lookUp: async (
      androidPackage: AndroidPackage,
      request: AndroidPurchaseRequest,
    ): Promise<AndroidStoreAnswer> => {
      const { purchaseToken, productKind, productIdentifier, readsAccountEcho = false } = request;
      if (isNoToken(purchaseToken)) return rejectedAs("invalid");
      const call = readPurchase(androidPackage, purchaseToken, productKind);
      const result = await publisher.call(androidPackage.credential, call);
      if (result.outcome !== "answered") return result;
      const read = productKind === "subscription" ? readSubscription : readOneTimeProduct;
      const { packageName } = androidPackage;
      const { body, askedAt: answeredAt } = result;
      const reading = read(body, { packageName, purchaseToken, productIdentifier, answeredAt });
      if (reading === null) return malformedAnswer;
      if (reading === "product-not-in-purchase") return rejectedAs("productNotInPurchase");
      const accountEcho = readsAccountEcho ? accountIn(body) : null;
      return { outcome: "verified", ...reading, ...(accountEcho !== null && { accountEcho }) };
    },

    /**
     * One page of voided purchases, including subscriptions and partial refunds of a quantity.
     *
     * @param page `next` of the page before; null: the first one
     * @see https://developers.google.com/android-publisher/voided-purchases
     */
    voidedPurchases: async (
      androidPackage: AndroidPackage,
      period: VoidedPeriod,
      page: string | null,
    ): Promise<VoidedPurchasesAnswer> => {
      const call = listVoided(androidPackage, period, page);
      const result = await publisher.call(androidPackage.credential, call);
      // A list refuses no purchase.
      if (result.outcome === "rejected" || result.outcome === "gone")
        return unavailable(result.reason, result.status);
      if (result.outcome !== "answered") return result;
      const { data } = voidedAnswer().safeParse(result.body);
      return data === undefined ? malformedAnswer : { outcome: "answered", ...data };
    },

    /** Never rejects. After any failure it can be made again. */
    acknowledge: async (
      androidPackage: AndroidPackage,
      pending: PendingAcknowledgement,
    ): Promise<AcknowledgementAnswer> => {
      const { credential } = androidPackage;
      try {
        const deadline = publisher.newDeadline();
        const send = (product: string) =>
          publisher.call(credential, acknowledgePurchase(pending, product), deadline);
        const sent = await send(pending.productIdentifier);
        if (sent.outcome === "answered") return ACKNOWLEDGED;
        // Google also refuses a purchase that is already acknowledged, by the app perhaps: read it to find out.
        if (!isRefusal(sent)) return sent;
        const call = readPurchase(androidPackage, pending.purchaseToken, pending.productKind);
        const read = await publisher.call(credential, call, deadline);
        if (read.outcome !== "answered") return read;
        if (saysAcknowledged(read.body)) return ACKNOWLEDGED;
        // Google does not document which product of a purchase with add-ons to name: try another one each minute.
        const others = productsIn(read.body).filter((product) => product !== pending.productIdentifier);
        const other = others[Math.floor(now() / MINUTE) % Math.max(1, others.length)];
        const again = other === undefined ? sent : await send(other);
        return again.outcome === "answered" ? ACKNOWLEDGED : again;
      } catch {
        return unavailable(null);
      }
    },
  };
};

export type AndroidStore = ReturnType<typeof createAndroidStore>;

/** Google documents that an unknown order fails the request, and not with which reason. */
const isUnknown = ({ outcome, status }: Failure): boolean =>
  outcome === "unavailable" && (status === 404 || status === 400);

export const createAndroidOrders = (options: StoreClientOptions) => {
  const publisher = createAndroidPublisher(options);
  return {
    /**
     * Orders by up to 1,000 identifiers, each once: all of them, or `rejected` where the store does not know one.
     *
     * @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders/batchget
     */
    find: async (
      { packageName, credential }: AndroidPackage,
      orderIdentifiers: readonly string[],
    ): Promise<{ readonly outcome: "answered"; readonly orders: readonly AndroidOrder[] } | Failure> => {
      const result = await publisher.call(credential, ({ orders }, auth, limits) =>
        orders.batchget({ packageName, orderIds: [...orderIdentifiers], auth }, limits),
      );
      if (result.outcome !== "answered")
        return isUnknown(result) ? rejectedAs(result.reason, result.status) : result;
      const { data: orders } = ordersAnswer().safeParse(result.body);
      return orders === undefined ? malformedAnswer : { outcome: "answered", orders };
    },
  };
};
export type AndroidOrders = ReturnType<typeof createAndroidOrders>;
