import * as z from "zod/mini";
import {
  ASSERTED_BY,
  ENVIRONMENTS,
  PRODUCT_KINDS,
  STORES,
  type Environment,
} from "../../contract/schemas.ts";
import { ASK_REASONS } from "../../entitlements/next-ask.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { PurchaseKey } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { encodedLines, encodedRenewal, linesCodec, renewalCodec } from "./lines.ts";
import { branded, integer, listOf, nullable, oneOf, positional } from "../dynamodb/positions.ts";
import * as shape from "../dynamodb/shapes.ts";

/**
 * Schemas of the items that belong to customers. Attributes that only the table needs (keys, index, time to live) are
 * added on write.
 */
const storedPurchaseKey = () => shape.branded<PurchaseKey>(shape.text());

const acknowledgement = once(() => z.object({ dueSince: shape.integer(), deadline: shape.integer() }));

export const purchaseItem = once(() =>
  z.object({
    customer: shape.customer(),
    revision: shape.integer(),
    store: shape.store(),
    environment: shape.environment(),
    key: storedPurchaseKey(),
    lines: encodedLines(),
    selectedProducts: z.nullable(shape.texts()),
    replacedBy: z.nullable(storedPurchaseKey()),
    replacedAt: shape.nullableInteger(),
    /** The latest renewal info; absent: none is known. */
    renewal: z.optional(encodedRenewal()),
    verifiedAt: shape.integer(),
    /** Absent: none is pending. */
    acknowledgement: z.optional(acknowledgement()),
    /** The next question; its time begins the sort key of its item in the queue. Absent: none. */
    askAt: z.optional(shape.integer()),
    askBecause: z.optional(z.enum(ASK_REASONS)),
    /** Absent: not known. */
    bundleOrPackage: z.optional(shape.text()),
  }),
);

/** A question in its queue. Android's hold the purchase token, until the store drops the purchase. */
export const askItem = once(() =>
  z.object({
    environment: shape.environment(),
    key: storedPurchaseKey(),
    dueAt: shape.integer(),
    because: z.enum(ASK_REASONS),
    source: z.discriminatedUnion("store", [
      z.object({
        store: z.literal("android-store"),
        packageName: shape.text(),
        purchaseToken: shape.text(),
        productKind: z.enum(PRODUCT_KINDS),
      }),
      z.object({ store: z.literal("ios-store"), bundleIdentifier: shape.text() }),
    ]),
    acknowledgement: z.optional(acknowledgement()),
  }),
);

export const identityItem = once(() =>
  z.object({
    customer: shape.customer(),
    /** The customer's version as written in the identity's transaction. */
    customerVersion: z.optional(shape.integer()),
  }),
);

/** Reserves an erased customer's identity or purchase until `erasedUntil`. */
export const tombstoneItem = once(() => z.object({ erasedUntil: shape.integer() }));

const holding = positional({
  store: oneOf(STORES),
  environment: oneOf(ENVIRONMENTS),
  key: branded<PurchaseKey>(),
  lines: linesCodec,
  replacedBy: nullable(branded<PurchaseKey>()),
  replacedAt: nullable(integer),
  renewal: nullable(renewalCodec),
});
const holdingsCodec = listOf(holding);

type EncodedHoldings = ReturnType<typeof holdingsCodec.encode>;

export const encodeHoldings = (holdings: readonly Purchase[]): EncodedHoldings =>
  holdingsCodec.encode(holdings);

export const decodeHoldings = (encoded: EncodedHoldings): readonly Purchase[] =>
  holdingsCodec.decode(encoded).map((one) => ({
    ...one,
    selectedProducts: null,
    verifiedAt: Math.max(...one.lines.map(({ verifiedAt }) => verifiedAt)),
  }));

const holdings = once(() => z.custom<EncodedHoldings>(holdingsCodec.is));

const assertedBy = once(() => z.enum(ASSERTED_BY));
const customers = once(() => z.array(shape.customer()));

const link = once(() =>
  z.object({
    account: shape.account(),
    assertedBy: assertedBy(),
    linkedAt: shape.integer(),
  }),
);

export const customerItem = once(() =>
  z.object({
    customer: shape.customer(),
    environment: shape.environment(),
    createdAt: shape.integer(),
    version: shape.integer(),
    link: z.nullable(link()),
    holdings: holdings(),
    hasPurchased: z.boolean(),
    absorbed: customers(),
    unsettled: z.boolean(),
    aliasOf: z.nullable(shape.customer()),
    /** For an alias: the survivor's version that absorbed it. */
    survivorVersion: z.optional(shape.integer()),
  }),
);

export const accountCustomerItem = once(() =>
  z.object({
    customer: shape.customer(),
    holdings: holdings(),
    assertedBy: assertedBy(),
    absorbed: customers(),
  }),
);

/** Customers linked to an account by clients' claims alone, by {@link claimsCounter}; absent: none. */
export const accountClaimsItem = once(() =>
  z.object({ production: z.optional(shape.integer()), other: z.optional(shape.integer()) }),
);
export type ClaimsCounter = "production" | "other";

/** Test purchases are free, so they must not use up the places of paid ones. */
export const claimsCounter = (environment: Environment): ClaimsCounter =>
  environment === "production" ? "production" : "other";

export const transferItem = once(() =>
  z.object({
    customer: shape.customer(),
    moment: shape.integer(),
    because: z.enum(["policy", "claim-gave-way"]),
  }),
);
