import * as z from "zod/mini";
import type { Renewal } from "../entitlements/renewal.ts";
import { once } from "../once.ts";
import { isBoolean, isInteger, isText, nullable, positional } from "./positions.ts";

const status = positional({
  isInGrace: isBoolean,
  periodEndsAt: nullable(isInteger),
  signedAt: isInteger,
});

/** Renewal infos as stored in purchases and holdings, by position, as lines are. */
const renewal = positional({
  periodEndsAt: nullable(isInteger),
  willRenew: isBoolean,
  renewsInto: nullable(isText),
  graceEndsAt: nullable(isInteger),
  isInBillingRetry: isBoolean,
  expirationIntent: nullable(isInteger),
  signedAt: isInteger,
  status: nullable(status.is),
});

export type EncodedRenewal = unknown[];

export const isEncodedRenewal = renewal.is;

export const encodedRenewal = once(() => z.custom<EncodedRenewal>(isEncodedRenewal));

export const encodeRenewal = (one: Renewal): EncodedRenewal =>
  renewal.encode({ ...one, status: one.status && status.encode(one.status) }, one.further);

export const decodeRenewal = (values: EncodedRenewal): Renewal => {
  const { stored, further } = renewal.decode(values);
  return {
    ...stored,
    status: stored.status && status.decode(stored.status).stored,
    ...(further.length > 0 && { further }),
  };
};
