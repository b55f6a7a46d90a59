import type { Signed } from "./signed-payload.ts";

/** Fields in which the payloads of one request must agree. A renewal info names no bundle. */
export interface Agreeing extends Pick<Signed, "environment"> {
  readonly bundleIdentifier?: string;
  readonly appTransactionIdentifier: string | null;
}

/** First payload of a list that disagrees with those before it, and the field in which it does. */
export interface Disagreement {
  readonly index: number;
  readonly field: "bundleIdentifier" | "environment" | "appTransactionIdentifier";
}

/**
 * Finds the first payload that belongs to another app, environment or Apple Account than those before it; null where all
 * agree. Older payloads, without an app transaction id, agree with any.
 */
export const disagreement = (first: Agreeing, payloads: readonly Agreeing[]): Disagreement | null => {
  let account = first.appTransactionIdentifier;
  for (const [index, payload] of payloads.entries()) {
    const { bundleIdentifier = first.bundleIdentifier, environment, appTransactionIdentifier } = payload;
    if (bundleIdentifier !== first.bundleIdentifier) return { index, field: "bundleIdentifier" };
    if (environment !== first.environment) return { index, field: "environment" };
    account ??= appTransactionIdentifier;
    if (appTransactionIdentifier !== null && appTransactionIdentifier !== account)
      return { index, field: "appTransactionIdentifier" };
  }
  return null;
};
