import * as z from "zod/mini";
import { ASSERTED_BY, ENVIRONMENTS, PRODUCT_KINDS, STORES, type Environment } from "../contract/schemas.ts";
import { ASK_REASONS } from "../entitlements/next-ask.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import { purchaseKey, type AccountId, type CustomerId, type PurchaseKey } from "../identifiers.ts";
import { once } from "../once.ts";
import { areEncodedLines, decodeLines, encodedLines, encodeLines, memberOf } from "./lines.ts";
import { isInteger, isListOf, isPositionIn, isText, nullable, positional } from "./positions.ts";
import { decodeRenewal, encodedRenewal, encodeRenewal, isEncodedRenewal } from "./renewals.ts";
import * as shape from "./shapes.ts";

/**
 * Schemas of the items that belong to customers. Attributes that only the table needs (keys, index, time to live) are
 * added on write.
 */
const instant = shape.integer;
const nullableInstant = shape.nullableInteger;
const customerIdentifier = () => shape.branded<CustomerId>(shape.uuid());
const storedPurchaseKey = () => shape.branded<PurchaseKey>(shape.text());

const acknowledgement = once(() => z.object({ dueSince: instant(), deadline: instant() }));

export const purchaseItem = once(() =>
  z.object({
    customer: customerIdentifier(),
    revision: shape.integer(),
    store: shape.store(),
    environment: shape.environment(),
    key: storedPurchaseKey(),
    lines: encodedLines(),
    selectedProducts: z.nullable(shape.texts()),
    replacedBy: z.nullable(storedPurchaseKey()),
    replacedAt: nullableInstant(),
    /** The latest renewal info; absent: none is known. */
    renewal: z.optional(encodedRenewal()),
    verifiedAt: instant(),
    /** Absent: none is pending. */
    acknowledgement: z.optional(acknowledgement()),
    /** The next question; its time begins the sort key of its item in the queue. Absent: none. */
    askAt: z.optional(instant()),
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
    dueAt: instant(),
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
    customer: customerIdentifier(),
    /** The customer's version as written in the identity's transaction. */
    customerVersion: z.optional(shape.integer()),
  }),
);

/** Reserves an erased customer's identity or purchase until `erasedUntil`. */
export const tombstoneItem = once(() => z.object({ erasedUntil: instant() }));

const holding = positional({
  store: isPositionIn(STORES),
  environment: isPositionIn(ENVIRONMENTS),
  key: isText,
  lines: areEncodedLines,
  replacedBy: nullable(isText),
  replacedAt: nullable(isInteger),
  renewal: nullable(isEncodedRenewal),
});

type EncodedHolding = unknown[];
export type EncodedHoldings = EncodedHolding[];

export const encodeHoldings = (holdings: readonly Purchase[]): EncodedHoldings =>
  holdings.map((one) =>
    holding.encode(
      {
        ...one,
        store: STORES.indexOf(one.store),
        environment: ENVIRONMENTS.indexOf(one.environment),
        lines: encodeLines(one.lines),
        renewal: one.renewal && encodeRenewal(one.renewal),
      },
      one.further,
    ),
  );

const decodeHolding = (values: EncodedHolding): Purchase => {
  const { stored, further } = holding.decode(values);
  const lines = decodeLines(stored.lines);
  return {
    store: memberOf(STORES, stored.store),
    environment: memberOf(ENVIRONMENTS, stored.environment),
    key: purchaseKey(stored.key),
    lines,
    selectedProducts: null,
    replacedBy: stored.replacedBy === null ? null : purchaseKey(stored.replacedBy),
    replacedAt: stored.replacedAt,
    renewal: stored.renewal && decodeRenewal(stored.renewal),
    verifiedAt: Math.max(...lines.map(({ verifiedAt }) => verifiedAt)),
    ...(further.length > 0 && { further }),
  };
};

export const decodeHoldings = (encoded: EncodedHoldings): readonly Purchase[] => encoded.map(decodeHolding);

const holdings = once(() => z.custom<EncodedHoldings>(isListOf(holding.is)));

const assertedBy = once(() => z.enum(ASSERTED_BY));
const customerIdentifiers = once(() => z.array(customerIdentifier()));

const link = once(() =>
  z.object({
    account: shape.branded<AccountId>(shape.text()),
    assertedBy: assertedBy(),
    linkedAt: instant(),
  }),
);

export const customerItem = once(() =>
  z.object({
    customer: customerIdentifier(),
    environment: shape.environment(),
    createdAt: instant(),
    version: shape.integer(),
    link: z.nullable(link()),
    holdings: holdings(),
    hasPurchased: z.boolean(),
    absorbed: customerIdentifiers(),
    unsettled: z.boolean(),
    aliasOf: z.nullable(customerIdentifier()),
    /** For an alias: the survivor's version that absorbed it. */
    survivorVersion: z.optional(shape.integer()),
  }),
);

export const accountCustomerItem = once(() =>
  z.object({
    customer: customerIdentifier(),
    holdings: holdings(),
    assertedBy: assertedBy(),
    absorbed: customerIdentifiers(),
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
    customer: customerIdentifier(),
    moment: instant(),
    because: z.enum(["policy", "claim-gave-way"]),
  }),
);
