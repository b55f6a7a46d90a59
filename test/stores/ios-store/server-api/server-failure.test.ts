import { failureOf } from "../../../../lib/stores/ios-store/server-answers.ts";
import { NOW } from "./scripted-app-store.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const failure = (status: number, body: unknown = "", retryAfter: string | null = null) =>
  failureOf(status, retryAfter, typeof body === "string" ? body : JSON.stringify(body), NOW);
const coded = (errorCode: unknown) => ({ errorCode, errorMessage: "A MESSAGE." });
const named = (code: unknown) => ({ errors: [{ status: "403", code, detail: "A MESSAGE." }] });
const PAGE = "<html>MESSAGE</html>";

const AGREEMENTS = "FORBIDDEN.REQUIRED_AGREEMENTS_MISSING_OR_EXPIRED";
test.each<[outcome: string, string, number, unknown, string | null]>([
  ["unknown", "a transaction", 404, coded(4040010), "TransactionIdNotFound"],
  ["unknown", "an original transaction", 404, coded(4040005), "OriginalTransactionIdNotFound"],
  ["unknown", "an account", 404, coded(4040001), "AccountNotFound"],
  ["unknown", "an id that is none", 400, coded(4000006), "InvalidTransactionId"],
  ["unknown", "an original id that is none", 400, coded(4000008), "InvalidOriginalTransactionId"],
  ["credential-rejected", "401", 401, "Unauthenticated MESSAGE", null],
  ["credential-rejected", "a missing permission", 403, named("FORBIDDEN_ERROR"), "FORBIDDEN_ERROR"],
  ["credential-rejected", "an unsigned agreement", 403, named(AGREEMENTS), AGREEMENTS],
  ["credential-rejected", "403 and a code", 403, coded(4030000), "4030000"],
  ["credential-rejected", "an unknown app", 404, coded(4040003), "AppNotFound"],
  ["unavailable", "a code that may pass: 4040002", 404, coded(4040002), "AccountNotFoundRetryable"],
  ["unavailable", "a code that may pass: 4040004", 404, coded(4040004), "AppNotFoundRetryable"],
  ["unavailable", "a code that may pass: 5000001", 500, coded(5000001), "GeneralInternalRetryable"],
  ["unavailable", "429", 429, coded(4290000), "RateLimitExceeded"],
  ["unavailable", "404 of a proxy", 404, PAGE, null],
  ["unavailable", "404 and a code of another status", 404, coded(4000006), null],
  ["unavailable", "400 and a code of 404", 400, coded(4040010), null],
  ["unavailable", "404 and a code that is text", 404, coded("4040010"), null],
  ["unavailable", "an unknown code", 404, coded(4040999), "4040999"],
  ["unavailable", "403 of a proxy", 403, PAGE, null],
  ["unavailable", "403 and another reason", 403, named("RATE_LIMITED"), "RATE_LIMITED"],
  ["unavailable", "a reason that is a sentence", 403, named("A MESSAGE."), null],
  ["unavailable", "an empty list of errors", 503, { errors: [] }, null],
  ["unavailable", "a reason that is no text", 503, named(1), null],
])("%s: %s", (outcome, _, status, body, reason) => {
  const retryAt = outcome === "unavailable" ? { retryAt: null } : {};
  expect(failure(status, body)).toStrictEqual({ outcome, status, reason, ...retryAt });
});

test.each([
  ["milliseconds since 1970", String(NOW + 5 * MINUTE), NOW + 5 * MINUTE],
  ["seconds to wait", "90", NOW + 90_000],
  ["an HTTP date", new Date(NOW + MINUTE).toUTCString(), NOW + MINUTE],
  ["no seconds", "0", NOW + 1000],
  ["a time that has passed", String(NOW - HOUR), NOW + 1000],
  ["a day of seconds", "86400", NOW + HOUR],
])("Retry-After with %s names a time", (_, header, retryAt) => {
  expect(failure(429, coded(4290000), header)).toMatchObject({ outcome: "unavailable", retryAt });
});

test.each(["", "soon", "-5", "1.5", "1e3", "Thu, never", `at ${new Date(NOW + MINUTE).toUTCString()}`])(
  "Retry-After with %j names no time",
  (header) => {
    expect(failure(429, coded(4290000), header)).toMatchObject({ outcome: "unavailable", retryAt: null });
  },
);
