import type { Signed } from "./signatures/signed-payload.ts";

export interface NamesAppTransaction {
  readonly appTransactionIdentifier: string | null;
  /** Its lineage; an app transaction has none. */
  readonly originalTransactionIdentifier?: string;
}

/** Fields in which the payloads of one request must agree. A renewal info names no bundle. */
export interface Agreeing extends NamesAppTransaction, Pick<Signed, "environment"> {
  readonly bundleIdentifier?: string;
}

/** First payload of a list that disagrees with those before it, and the field that differs. */
export interface Disagreement {
  readonly index: number;
  readonly field: "bundleIdentifier" | "environment" | "appTransactionIdentifier";
}

/**
 * App transaction ids common to all lineages that carry any; an app transaction is a lineage. `other`: index of the first
 * payload of a lineage without them.
 */
const commonIdentifiers = (
  payloads: readonly NamesAppTransaction[],
): { readonly common: readonly string[]; readonly other: number | null } => {
  const carrying = payloads.flatMap(
    ({ originalTransactionIdentifier: lineage, appTransactionIdentifier }, index) =>
      appTransactionIdentifier === null ? [] : [{ lineage, value: appTransactionIdentifier, index }],
  );
  let common: readonly string[] | null = null;
  for (const [first, ...others] of Map.groupBy(carrying, ({ lineage }) => lineage).values()) {
    if (first === undefined) continue;
    const values: ReadonlySet<string> = new Set([first, ...others].map(({ value }) => value));
    common = (common ?? [...values]).filter((value) => values.has(value));
    if (common.length === 0) return { common, other: first.index };
  }
  return { common: common ?? [], other: null };
};

/** App transaction id of the person: the one common to all lineages; null where there is none, or more than one. */
export const commonAppTransaction = (payloads: readonly NamesAppTransaction[]): string | null => {
  const [value, ...others] = commonIdentifiers(payloads).common;
  return value === undefined || others.length > 0 ? null : value;
};

/**
 * First payload of another app, environment or Apple Account than those before it; null: all agree. App transaction ids
 * are compared lineage by lineage: a lineage is one person's, and has been seen to carry two (Apple's developer forum,
 * "Inconsistent appTransactionId in Transaction History"). Older payloads, without one, agree with any.
 *
 * @param before payloads of the same request that agree already
 */
export const disagreement = (
  first: Agreeing,
  payloads: readonly Agreeing[],
  before: readonly Agreeing[] = [],
): Disagreement | null => {
  const agreed = [first, ...before];
  const { other } = commonIdentifiers([...agreed, ...payloads]);
  for (const [index, { bundleIdentifier = first.bundleIdentifier, environment }] of payloads.entries()) {
    if (bundleIdentifier !== first.bundleIdentifier) return { index, field: "bundleIdentifier" };
    if (environment !== first.environment) return { index, field: "environment" };
    if (agreed.length + index === other) return { index, field: "appTransactionIdentifier" };
  }
  return null;
};
