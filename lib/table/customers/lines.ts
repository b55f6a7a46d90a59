import * as z from "zod/mini";
import { NATURES, STANDINGS, type Line } from "../../entitlements/purchase.ts";
import type { Renewal } from "../../entitlements/renewal.ts";
import { once } from "../../once.ts";
import {
  boolean,
  integer,
  listOf,
  nullable,
  oneOf,
  positional,
  text,
  type Codec,
  type Encoded,
} from "../dynamodb/positions.ts";

/**
 * Lines as stored in purchases, customers and accounts, and decoded on every read. Positions replace names, so a line
 * takes about a hundred bytes.
 */
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

export const encodedLines = once(() => z.custom<Encoded<readonly Line[]>>(linesCodec.is));

/** Renewal infos as stored in purchases and holdings, by position, as lines are. */
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

export const encodedRenewal = once(() => z.custom<Encoded<Renewal>>(renewalCodec.is));
