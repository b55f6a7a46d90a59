/** Why a request got no answer: a word for the log. */
export type Unanswered = "nameNotResolved" | "connection" | "tls" | "timeout";

/** Codes of Node.js, of `fetch` (`UND_ERR_`), and of OpenSSL for a failed handshake or a refused certificate. */
const CODES: readonly (readonly [RegExp, Unanswered])[] = [
  [/^(ENOTFOUND|EAI_AGAIN|EAI_FAIL)$/, "nameNotResolved"],
  [/^(ECONN[A-Z]+|EHOST[A-Z]+|ENET[A-Z]+|EADDRNOTAVAIL|EPIPE|UND_ERR_SOCKET)$/, "connection"],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, "timeout"],
  [/^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_(GET|VERIFY)_)|SELF_SIGNED_CERT/, "tls"],
];

/** Names, not classes: an error may come from another realm. */
const TIMEOUTS: ReadonlySet<unknown> = new Set(["TimeoutError", "AbortError"]);

const DEEPEST_CAUSE = 5;

const wordOf = (error: object): Unanswered | null => {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const [, word] = CODES.find(([pattern]) => pattern.test(code)) ?? [];
  return word ?? ("name" in error && TIMEOUTS.has(error.name) ? "timeout" : null);
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
