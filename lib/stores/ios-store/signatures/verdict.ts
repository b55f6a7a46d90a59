/** Reasons to refuse a JWS without a valid signature of a trusted signer. Anyone can cause them: certificates are public. */
const FORGERIES = [
  /** Not three canonical base64url parts, or a header or signature that is too long or ambiguous. */
  "malformed_jws",
  "algorithm_not_accepted",
  "critical_header",
  "chain_length",
  "malformed_certificate",
  "untrusted_root",
  "untrusted_xcode_certificate",
  /** A certificate is not signed by the next one, or does not name it as its issuer. */
  "broken_chain",
  /** An extension is duplicate or unreadable, or critical and unknown. */
  "certificate_extensions",
  /** A certificate is not allowed its use: issuing certificates, or signing for the App Store. */
  "certificate_role",
  "signature",
] as const;

/** Reasons to refuse a JWS, for metrics and logs, never for the caller. None quotes the JWS. */
export type Rejection =
  | (typeof FORGERIES)[number]
  // From here on, the signature is valid and its signer trusted.
  /** Not an unambiguous JSON object in UTF-8, or a field is not of the documented type. */
  | "malformed_payload"
  /** Has a field of another kind: a renewal info for a transaction. */
  | "wrong_kind"
  /** An unknown environment, or one that this signer does not sign for. */
  | "environment"
  /** The signing time is missing, invalid, or in the future. */
  | "signing_time"
  /** A certificate of the chain was not valid at the time of signing. */
  | "outside_validity"
  /** The parts of a notification are of different apps, environments, Apple Accounts or lineages. */
  | "disagreement";

const FORGED: ReadonlySet<Rejection> = new Set(FORGERIES);

/** Whether a refused payload is authentic, and of a form that is not known here: the App Store may send new ones. */
export const isNotUnderstood = (reason: Rejection): boolean =>
  reason === "malformed_payload" || reason === "wrong_kind";

/** Whether a refused JWS has no valid signature of a trusted signer. */
export const isForgery = (reason: Rejection): boolean => FORGED.has(reason);

export type Rejected = { readonly outcome: "rejected"; readonly reason: Rejection };
export type Verified<Payload> = { readonly outcome: "verified"; readonly payload: Payload };
export type Verdict<Payload> = Verified<Payload> | Rejected;

export const verified = <Payload>(payload: Payload): Verified<Payload> => ({ outcome: "verified", payload });
export const rejected = (reason: Rejection): Rejected => ({ outcome: "rejected", reason });
