import * as z from "zod/mini";
import type { Renewal } from "../entitlements/renewal.ts";
import { once } from "../once.ts";
import { arePositions, isBoolean, isInteger, isText, nullable, type Guarded } from "./positions.ts";

/** Renewal infos as stored in purchases and holdings, by position, as lines are. The list may only grow at its end. */
const POSITIONS = [
  nullable(isInteger),
  isBoolean,
  nullable(isText),
  nullable(isInteger),
  isBoolean,
  nullable(isInteger),
  isInteger,
] as const;

export type EncodedRenewal = [...known: Guarded<typeof POSITIONS>, ...further: unknown[]];

export const isEncodedRenewal = arePositions(POSITIONS);

export const encodedRenewal = once(() => z.custom<EncodedRenewal>(isEncodedRenewal));

export const encodeRenewal = (renewal: Renewal): EncodedRenewal => [
  renewal.periodEndsAt,
  renewal.willRenew,
  renewal.renewsInto,
  renewal.graceEndsAt,
  renewal.isInBillingRetry,
  renewal.expirationIntent,
  renewal.signedAt,
  ...(renewal.further ?? []),
];

export const decodeRenewal = ([
  periodEndsAt,
  willRenew,
  renewsInto,
  graceEndsAt,
  isInBillingRetry,
  expirationIntent,
  signedAt,
  ...further
]: EncodedRenewal): Renewal => ({
  periodEndsAt,
  willRenew,
  renewsInto,
  graceEndsAt,
  isInBillingRetry,
  expirationIntent,
  signedAt,
  ...(further.length > 0 && { further }),
});
