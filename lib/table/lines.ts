import * as z from "zod/mini";
import { NATURES, STANDINGS, type Line } from "../entitlements/purchase.ts";
import { once } from "../once.ts";
import {
  arePositions,
  isBoolean,
  isInteger,
  isListOf,
  isPositionIn,
  isText,
  nullable,
  type Guard,
  type Guarded,
} from "./positions.ts";

/**
 * Lines as stored in purchases, customers and accounts, and decoded on every read. Positions replace names, so a line
 * takes about a hundred bytes. The lists that define them may only grow at their end. A position that is appended has to
 * accept `undefined` and be decoded with a default: lines that were stored before do not have it.
 */

/** Guards, for speed, instead of a schema per position: a replay of a thousand purchases reads forty thousand. */
const POSITIONS = [
  nullable(isText),
  isText,
  nullable(isText),
  isPositionIn(NATURES),
  isPositionIn(STANDINGS),
  nullable(isInteger),
  nullable(isInteger),
  nullable(isInteger),
  nullable(isBoolean),
  isInteger,
  nullable(isText),
  nullable(isText),
  nullable(isInteger),
  isBoolean,
  isInteger,
  isInteger,
  nullable(isInteger),
  isInteger,
  nullable(isInteger),
] as const;

const areFirstPositions = arePositions(POSITIONS);

/** `leastRefunded` was appended: lines stored before do not have it, and it is left out where it is 0. */
export type EncodedLine = [
  ...known: Guarded<typeof POSITIONS>,
  leastRefunded?: number,
  ...further: unknown[],
];

const isEncodedLine: Guard<EncodedLine> = (value): value is EncodedLine => {
  if (!areFirstPositions(value)) return false;
  const appended = value[POSITIONS.length];
  return appended === undefined || isInteger(appended);
};

/** Positions of a list of lines. */
export const areEncodedLines: Guard<EncodedLine[]> = isListOf(isEncodedLine);

export const encodedLines = once(() => z.custom<EncodedLine[]>(areEncodedLines));

export const memberOf = <T>(values: readonly T[], index: number): T => {
  const value = values[index];
  if (value === undefined) throw new RangeError(`No value has the index ${index}.`);
  return value;
};

const encodeFirst = (line: Line): Guarded<typeof POSITIONS> => [
  line.transactionIdentifier,
  line.productIdentifier,
  line.basePlanIdentifier,
  NATURES.indexOf(line.nature),
  STANDINGS.indexOf(line.standing),
  line.startsAt,
  line.endsAt,
  line.revokedAt,
  line.willRenew,
  line.verifiedAt,
  line.event,
  line.purchaseOptionIdentifier,
  line.purchasedAt,
  line.rented,
  line.quantity,
  line.refundedQuantity,
  line.refundedBy,
  line.mostRefunded,
  line.revokedSince,
];

const encodeLine = (line: Line): EncodedLine => {
  const { leastRefunded, further = [] } = line;
  const first = encodeFirst(line);
  return leastRefunded === 0 && further.length === 0 ? first : [...first, leastRefunded, ...further];
};

const decodeLine = ([
  transactionIdentifier,
  productIdentifier,
  basePlanIdentifier,
  nature,
  standing,
  startsAt,
  endsAt,
  revokedAt,
  willRenew,
  verifiedAt,
  event,
  purchaseOptionIdentifier,
  purchasedAt,
  rented,
  quantity,
  refundedQuantity,
  refundedBy,
  mostRefunded,
  revokedSince,
  leastRefunded = 0,
  ...further
]: EncodedLine): Line => ({
  transactionIdentifier,
  event,
  productIdentifier,
  basePlanIdentifier,
  purchaseOptionIdentifier,
  nature: memberOf(NATURES, nature),
  standing: memberOf(STANDINGS, standing),
  startsAt,
  purchasedAt,
  endsAt,
  revokedAt,
  refundedBy,
  mostRefunded,
  leastRefunded,
  revokedSince,
  quantity,
  refundedQuantity,
  rented,
  willRenew,
  verifiedAt,
  ...(further.length > 0 && { further }),
});

export const encodeLines = (lines: readonly Line[]): EncodedLine[] => lines.map(encodeLine);
export const decodeLines = (encoded: readonly EncodedLine[]): readonly Line[] => encoded.map(decodeLine);
