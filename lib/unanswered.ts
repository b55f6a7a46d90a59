/** Why a request got no answer: a word for the log. */
export type Unanswered = "nameNotResolved" | "connection" | "tls" | "timeout";

const CODES: ReadonlyMap<string, Unanswered> = new Map([
  ["ENOTFOUND", "nameNotResolved"],
  ["EAI_AGAIN", "nameNotResolved"],
  ["EAI_FAIL", "nameNotResolved"],
  ["ECONNREFUSED", "connection"],
  ["ECONNRESET", "connection"],
  ["ECONNABORTED", "connection"],
  ["EHOSTUNREACH", "connection"],
  ["ENETUNREACH", "connection"],
  ["EPIPE", "connection"],
  ["UND_ERR_SOCKET", "connection"],
  ["ETIMEDOUT", "timeout"],
  ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
  ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
  ["UND_ERR_BODY_TIMEOUT", "timeout"],
  ["EPROTO", "tls"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "tls"],
]);

/** Other codes of OpenSSL and Node.js for a failed handshake or a refused certificate. */
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_(?:GET|VERIFY)_)/;

/** Names, not classes: an error may come from another realm. */
const TIMEOUTS: ReadonlySet<unknown> = new Set(["TimeoutError", "AbortError"]);

const DEEPEST_CAUSE = 5;

const wordOf = (error: object): Unanswered | null => {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (TLS_CODE.test(code)) return "tls";
  return CODES.get(code) ?? ("name" in error && TIMEOUTS.has(error.name) ? "timeout" : null);
};

/** The word for the innermost error that has one; null: none has. Never a message, which may contain an address. */
export const unansweredBecause = (error: unknown, depth = 0): Unanswered | null => {
  if (typeof error !== "object" || error === null || depth > DEEPEST_CAUSE) return null;
  const causes: readonly unknown[] = [
    ...("cause" in error ? [error.cause] : []),
    // Each address of a name that was tried.
    ...("errors" in error && Array.isArray(error.errors) ? error.errors : []),
  ];
  for (const cause of causes) {
    const word = unansweredBecause(cause, depth + 1);
    if (word !== null) return word;
  }
  return wordOf(error);
};
