import * as z from "zod/mini";
import { NATURES, STANDINGS, type Line } from "../entitlements/purchase.ts";
import { once } from "../once.ts";
import {
  isBoolean,
  isInteger,
  isListOf,
  isPositionIn,
  isText,
  nullable,
  positional,
  type Guard,
} from "./positions.ts";

/**
 * Lines as stored in purchases, customers and accounts, and decoded on every read. Positions replace names, so a line
 * takes about a hundred bytes.
 */
const line = positional({
  transactionIdentifier: nullable(isText),
  productIdentifier: isText,
  basePlanIdentifier: nullable(isText),
  nature: isPositionIn(NATURES),
  standing: isPositionIn(STANDINGS),
  startsAt: nullable(isInteger),
  endsAt: nullable(isInteger),
  revokedAt: nullable(isInteger),
  willRenew: nullable(isBoolean),
  verifiedAt: isInteger,
  event: nullable(isText),
  purchaseOptionIdentifier: nullable(isText),
  purchasedAt: nullable(isInteger),
  rented: isBoolean,
  quantity: isInteger,
  refundedQuantity: isInteger,
  revokedSince: nullable(isInteger),
});

export type EncodedLine = unknown[];

/** Positions of a list of lines. */
export const areEncodedLines: Guard<EncodedLine[]> = isListOf(line.is);

export const encodedLines = once(() => z.custom<EncodedLine[]>(areEncodedLines));

export const memberOf = <T>(values: readonly T[], index: number): T => {
  const value = values[index];
  if (value === undefined) throw new RangeError(`No value has the index ${index}.`);
  return value;
};

export const encodeLines = (lines: readonly Line[]): EncodedLine[] =>
  lines.map((one) =>
    line.encode(
      { ...one, nature: NATURES.indexOf(one.nature), standing: STANDINGS.indexOf(one.standing) },
      one.further,
    ),
  );

export const decodeLines = (encoded: readonly EncodedLine[]): readonly Line[] =>
  encoded.map((values) => {
    const { stored, further } = line.decode(values);
    return {
      ...stored,
      nature: memberOf(NATURES, stored.nature),
      standing: memberOf(STANDINGS, stored.standing),
      ...(further.length > 0 && { further }),
    };
  });
