/** Apple's outcome of one attempt to send a notification. */
export type SendAttemptResult = "SUCCESS" | "TIMED_OUT" | "NO_RESPONSE" | "UNSUCCESSFUL_HTTP_RESPONSE_CODE";

/**
 * Sends a notification once. Apple counts 200 to 206 as success.
 *
 * @param timeout in milliseconds
 * @see https://developer.apple.com/documentation/appstoreserverapi/sendattemptresult
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
    return error instanceof DOMException && error.name === "TimeoutError" ? "TIMED_OUT" : "NO_RESPONSE";
  }
};
