import * as z from "zod/mini";
import type { Renewal } from "../../entitlements/renewal.ts";
import { once } from "../../once.ts";
import {
  boolean,
  integer,
  nullable,
  positional,
  text,
  type Codec,
  type Encoded,
} from "../dynamodb/positions.ts";

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
