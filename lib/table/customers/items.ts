import * as z from "zod/mini";
import { ASSERTED_BY, ENVIRONMENTS, STORES } from "../../contract/schemas.ts";
import type { StoredCustomer, StoredPurchase } from "../../customers/storing/records.ts";
import { ASK_REASONS } from "../../entitlements/next-ask.ts";
import { NATURES, STANDINGS, type Line, type Purchase } from "../../entitlements/purchase.ts";
import type { Renewal } from "../../entitlements/renewal.ts";
import type { PurchaseKey } from "../../identifiers.ts";
import {
  boolean,
  branded,
  integer,
  listOf,
  nullable,
  oneOf,
  positional,
  text,
  type Codec,
} from "../dynamodb/positions.ts";
import * as shape from "../dynamodb/shapes.ts";

/** Lines as stored in purchases, customers and accounts: about a hundred bytes each. */
export const linesCodec: Codec<readonly Line[]> = listOf(
  positional({
    transactionIdentifier: nullable(text),
    productIdentifier: text,
    basePlanIdentifier: nullable(text),
    nature: oneOf(NATURES),
    standing: oneOf(STANDINGS),
    startsAt: nullable(integer),
    endsAt: nullable(integer),
    revokedAt: nullable(integer),
    willRenew: nullable(boolean),
    verifiedAt: integer,
    event: nullable(text),
    purchaseOptionIdentifier: nullable(text),
    purchasedAt: nullable(integer),
    rented: boolean,
    quantity: integer,
    refundedQuantity: integer,
    revokedSince: nullable(integer),
  }),
);

export const renewalCodec: Codec<Renewal> = positional({
  periodEndsAt: nullable(integer),
  willRenew: boolean,
  renewsInto: nullable(text),
  graceEndsAt: nullable(integer),
  isInBillingRetry: boolean,
  expirationIntent: nullable(integer),
  signedAt: integer,
  status: nullable(positional({ isInGrace: boolean, periodEndsAt: nullable(integer), signedAt: integer })),
});

export const storedPurchaseKey = () => shape.branded<PurchaseKey>(shape.text());

export const acknowledgement = () => z.object({ dueSince: shape.integer(), deadline: shape.integer() });

export const ask = () => z.object({ at: shape.integer(), because: z.enum(ASK_REASONS) });

export const purchaseItem = () =>
  shape.mapped(
    z.object({
      customer: shape.customer(),
      revision: shape.integer(),
      store: shape.store(),
      environment: shape.environment(),
      key: storedPurchaseKey(),
      lines: shape.encoded(linesCodec),
      selectedProducts: z.nullable(shape.texts()),
      replacedBy: z.nullable(storedPurchaseKey()),
      replacedAt: shape.nullableInteger(),
      renewal: shape.encoded(nullable(renewalCodec)),
      verifiedAt: shape.integer(),
      acknowledgement: z.nullable(acknowledgement()),
      /** The next question; its time begins the sort key of its item in the queue. */
      ask: z.nullable(ask()),
      bundleOrPackage: shape.nullableText(),
    }),
    ({ customer, revision, acknowledgement, ask, bundleOrPackage, ...purchase }): StoredPurchase => ({
      purchase,
      customer,
      revision,
      acknowledgement,
      ask,
      bundleOrPackage,
    }),
  );

export const identityItem = () =>
  z.object({
    customer: shape.customer(),
    /** The customer's version as written in the identity's transaction. */
    customerVersion: shape.integer(),
  });

/** Reserves an erased customer's identity or purchase until `erasedUntil`. */
export const tombstoneItem = () => z.object({ erasedUntil: shape.integer() });

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

export const encodeHoldings = (holdings: readonly Purchase[]) => holdingsCodec.encode(holdings);

export const holdings = () =>
  shape.mapped(shape.encoded(holdingsCodec), (held): readonly Purchase[] =>
    held.map((one) => ({
      ...one,
      selectedProducts: null,
      verifiedAt: Math.max(...one.lines.map(({ verifiedAt }) => verifiedAt)),
    })),
  );

const assertedBy = () => z.enum(ASSERTED_BY);
const customers = () => z.array(shape.customer());

const link = () =>
  z.object({ account: shape.account(), assertedBy: assertedBy(), linkedAt: shape.integer() });

export const customerItem = () =>
  shape.mapped(
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
      survivorVersion: shape.integer(),
    }),
    ({ customer: identifier, ...customer }): StoredCustomer => ({ identifier, ...customer }),
  );

export const accountCustomerItem = () =>
  z.object({
    customer: shape.customer(),
    holdings: holdings(),
    assertedBy: assertedBy(),
    absorbed: customers(),
  });

export const transferItem = () =>
  z.object({
    customer: shape.customer(),
    moment: shape.integer(),
    because: z.enum(["policy", "claim-gave-way"]),
  });
