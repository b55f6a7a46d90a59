import * as z from "zod";

/**
 * Outcome of one attempt to send a notification.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/sendattemptresult
 */
export const SEND_ATTEMPT_RESULTS = [
  "SUCCESS",
  "TIMED_OUT",
  "TLS_ISSUE",
  "NO_RESPONSE",
  "SOCKET_ISSUE",
  "UNSUCCESSFUL_HTTP_RESPONSE_CODE",
  "OTHER",
] as const;
export type SendAttemptResult = (typeof SEND_ATTEMPT_RESULTS)[number];

/** Codes of connections that ended before a response came. */
const UNANSWERED = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

const failed = z
  .object({ name: z.string(), cause: z.object({ code: z.string() }).optional().catch(undefined) })
  .catch({ name: "", cause: undefined });

/** The result of a request that `fetch` could not complete. */
const failureOf = (error: unknown): SendAttemptResult => {
  const { name, cause } = failed.parse(error);
  if (name === "TimeoutError") return "TIMED_OUT";
  if (cause === undefined) return "OTHER";
  const { code } = cause;
  if (/CERT|SSL|TLS|SIGNATURE/.test(code)) return "TLS_ISSUE";
  if (code.startsWith("HPE_") || UNANSWERED.has(code)) return "NO_RESPONSE";
  return code.startsWith("ERR_") ? "OTHER" : "SOCKET_ISSUE";
};

/**
 * Sends a notification once. Apple counts 200 to 206 as success.
 *
 * @param timeout in milliseconds
 */
export const deliver = async (
  url: string,
  signedPayload: string,
  timeout: number,
): Promise<SendAttemptResult> => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ signedPayload }),
      redirect: "manual",
      signal: AbortSignal.timeout(timeout),
    });
    await response.body?.cancel();
    return response.status >= 200 && response.status <= 206 ? "SUCCESS" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE";
  } catch (error) {
    // Any failure to deliver is one to the store.
    return failureOf(error);
  }
};
