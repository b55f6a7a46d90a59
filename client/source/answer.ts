import type { ErrorBody } from "./contract.ts";
import { EntitlementsError } from "./error.ts";

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isErrorBody = (value: unknown): value is ErrorBody =>
  isObject(value) && typeof value["error"] === "string" && typeof value["message"] === "string";

/**
 * Milliseconds in a `Retry-After` header: seconds, or an HTTP date; null: absent or malformed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
const retryAfterOf = (header: string | null, now: number): number | null => {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const moment = Date.parse(header);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
};

/** Reads an answer's JSON; undefined: not JSON. */
const jsonOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * The body of a success.
 *
 * @param list member that is a list in every success
 * @throws EntitlementsError with the service's code; rejects as `fetch` does if the body is cut off
 */
export const readAnswer = async (response: Response, list: string, now: number): Promise<unknown> => {
  const { status } = response;
  const body = await jsonOf(response);
  if (status === 200 && isObject(body) && Array.isArray(body[list])) return body;
  const retryAfter = retryAfterOf(response.headers.get("retry-after"), now);
  if (status !== 200 && isErrorBody(body))
    throw new EntitlementsError(body.error, body.message, {
      status,
      retryAfter,
      ...(body.issues !== undefined && { issues: body.issues }),
    });
  throw new EntitlementsError(
    "UNEXPECTED_ANSWER",
    `The answer (HTTP status ${status}) is not one of the service's; see that the address is right.`,
    { status, retryAfter },
  );
};
