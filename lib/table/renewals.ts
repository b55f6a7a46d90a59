import * as z from "zod/mini";
import type { Renewal } from "../entitlements/renewal.ts";
import { once } from "../once.ts";
import { arePositions, isBoolean, isInteger, isText, nullable, optional, type Guarded } from "./positions.ts";

/** Renewal infos as stored in purchases and holdings, by position, as lines are. The list may only grow at its end. */
const POSITIONS = [
  nullable(isInteger),
  isBoolean,
  nullable(isText),
  nullable(isInteger),
  isBoolean,
  nullable(isInteger),
  isInteger,
  optional(isBoolean),
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
  renewal.isInGrace,
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
  isInGrace = false,
  ...further
]: EncodedRenewal): Renewal => ({
  periodEndsAt,
  willRenew,
  renewsInto,
  graceEndsAt,
  isInBillingRetry,
  expirationIntent,
  isInGrace,
  signedAt,
  ...(further.length > 0 && { further }),
});
