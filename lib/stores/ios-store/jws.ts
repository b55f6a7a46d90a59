import { decodeCanonical, parseJsonObject } from "./encoding.ts";
import { rejected, verified, type Verdict } from "./verdict.ts";

/** A compact JWS taken apart. Nothing of it is verified yet. */
export interface ParsedJws {
  readonly compact: string;
  readonly payloadBytes: Uint8Array;
  /** The certificates the header brings, the signing one first, as given. */
  readonly x5c: readonly string[];
}

const ES256_SIGNATURE_BYTES = 64;

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/**
 * Takes a compact JWS apart, where there is only one way to. Of the header only `alg` and `x5c` are read: keys that it
 * names in other ways (`jwk`, `jku`, `x5u`, `kid`) are nobody's.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-7.1
 */
export const parseJws = (compact: string): Verdict<ParsedJws> => {
  const parts = compact.split(".", 4);
  const [header, payload, signature] = parts.map((part) => decodeCanonical(part, "base64url"));
  if (parts.length !== 3 || !header || !payload || signature?.length !== ES256_SIGNATURE_BYTES)
    return rejected("malformed_jws");

  const members = parseJsonObject(header);
  if (members === null) return rejected("malformed_jws");
  if (members["alg"] !== "ES256") return rejected("algorithm_not_accepted");
  if (Object.hasOwn(members, "crit") || Object.hasOwn(members, "b64")) return rejected("critical_header");
  const x5c = members["x5c"];
  return isTexts(x5c) ? verified({ compact, payloadBytes: payload, x5c }) : rejected("chain_length");
};
