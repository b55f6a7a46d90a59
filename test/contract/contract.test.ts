import * as z from "zod";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { ERRORS } from "../../lib/contract/errors.ts";
import {
  accountIdentifier,
  androidStoreLinkRequest,
  androidStoreNotificationRequest,
  customerEntitlement,
  ENVIRONMENTS,
  iosStoreLinkRequest,
  iosStoreSynchronizeRequest,
  PRODUCT_KINDS,
  SCOPES,
  STATUSES,
  STORES,
} from "../../lib/contract/schemas.ts";

test("the endpoints have their methods, paths and scopes", () => {
  expect(Object.values(endpoints).map(({ method, path, scope }) => `${method} ${path} ${scope}`)).toEqual([
    "POST /v1/customers/android-store/link customers:write",
    "POST /v1/customers/ios-store/link customers:write",
    "GET /v1/customers/{applicationAccountIdentifier}/entitlements entitlements:read",
    "POST /v1/customers/ios-store/synchronize null",
    "GET /v1/changes changes:read",
    "POST /v1/notifications/android-store null",
    "POST /v1/notifications/ios-store null",
  ]);
});

test("every error code has its status", () => {
  expect(Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status]))).toEqual({
    INVALID_REQUEST: 400,
    INVALID_APP_TRANSACTION: 400,
    INVALID_TRANSACTION: 400,
    INVALID_RENEWAL_INFO: 400,
    INVALID_NOTIFICATION: 400,
    INVALID_PURCHASE: 400,
    PURCHASE_NO_LONGER_AVAILABLE: 400,
    CURSOR_EXPIRED: 400,
    ENVIRONMENT_NOT_ACCEPTED: 400,
    INVALID_CREDENTIAL: 401,
    INSUFFICIENT_SCOPE: 403,
    APPLICATION_NOT_FOUND: 404,
    STORE_CONFIGURATION_NOT_FOUND: 404,
    CUSTOMER_NOT_FOUND: 404,
    PAYWALL_NOT_FOUND: 404,
    ROUTE_NOT_FOUND: 404,
    CUSTOMER_ALREADY_LINKED: 409,
    IDENTITY_CONFLICT: 409,
    REQUEST_TOO_LARGE: 413,
    UNSUPPORTED_MEDIA_TYPE: 415,
    TOO_MANY_REQUESTS: 429,
    INTERNAL_ERROR: 500,
    STORE_UNAVAILABLE: 503,
    STORE_REJECTED_CREDENTIAL: 503,
  });
});

test("the enums are closed and have exactly these values", () => {
  expect([STORES, ENVIRONMENTS, STATUSES, PRODUCT_KINDS, SCOPES]).toEqual([
    ["android-store", "ios-store"],
    ["production", "sandbox", "xcode"],
    ["active", "grace_period", "billing_retry", "paused", "expired", "revoked"],
    ["subscription", "one_time_product"],
    ["customers:write", "entitlements:read", "changes:read"],
  ]);
  expect(Object.keys(customerEntitlement().shape)).toHaveLength(14);
});

const wrongPaths = (schema: () => z.core.$ZodType, input: unknown): string[] => {
  const parsed = z.safeParse(schema(), input);
  return parsed.success ? [] : [...new Set(parsed.error.issues.map(({ path }) => path.join(".")))];
};

test.each([
  ["a name", "user-1", true],
  ["256 characters beyond the basic plane", "😀".repeat(256), true],
  ["a slash, percent, hash and space", "a/b%20#c d", true],
  ["nothing", "", false],
  ["257 characters beyond the basic plane", "😀".repeat(257), false],
  [".", ".", false],
  ["..", "..", false],
  ["a NUL", "a\u0000", false],
  ["a line feed", "a\nb", false],
  ["DEL", "\u007f", false],
  ["half a surrogate pair", "\ud83d", false],
  ["a number", 1, false],
  ["null", null, false],
])("account identifiers: %s (%#)", (_, value, accepted) => {
  expect(accountIdentifier().safeParse(value).success).toBe(accepted);
});

const android = {
  packageName: "com.example.trails",
  purchaseToken: "token",
  productKind: "subscription",
  applicationAccountIdentifier: "a",
};
test.each([
  ["the required fields are enough", {}, []],
  ["the product may be null", { productIdentifier: null }, []],
  ["unknown fields are ignored", { somethingNew: { deep: [1] } }, []],
  ["an unknown kind is refused", { productKind: "SUBSCRIPTION" }, ["productKind"]],
  ["a package name is text", { packageName: 5 }, ["packageName"]],
  ["a package name has at most 256 characters", { packageName: "p".repeat(257) }, ["packageName"]],
  ["a token has at most 4,096 characters", { purchaseToken: "t".repeat(4097) }, ["purchaseToken"]],
  ["a token of 4,096 characters is accepted", { purchaseToken: "t".repeat(4096) }, []],
  ["a token is not empty", { purchaseToken: "" }, ["purchaseToken"]],
  ["a product has at most 256 characters", { productIdentifier: "p".repeat(257) }, ["productIdentifier"]],
  ["an account is required", { applicationAccountIdentifier: undefined }, ["applicationAccountIdentifier"]],
])("Android-store link: %s", (_, change, paths) => {
  expect(wrongPaths(androidStoreLinkRequest, { ...android, ...change })).toEqual(paths);
});

test.each([
  ["data is enough", { message: { data: "e30=" } }, []],
  ["unknown fields are ignored", { message: { data: "e30=", orderingKey: 7 }, deliveryAttempt: 5 }, []],
  ["Pub/Sub leaves out empty data", { message: { attributes: { a: "b" }, messageId: "1" } }, []],
  ["a message is required", { subscription: "projects/p/subscriptions/s" }, ["message"]],
  ["a message is an object", { message: "e30=" }, ["message"]],
  ["data is text", { message: { data: {} } }, ["message.data"]],
])("Android-store notification: %s", (_, body, paths) => {
  expect(wrongPaths(androidStoreNotificationRequest, body)).toEqual(paths);
});

const ios = { signedAppTransaction: "a.b.c", applicationAccountIdentifier: "a" };
test.each([
  ["transactions are optional", {}, []],
  ["1,000 transactions are accepted", { signedTransactions: Array(1000).fill("a.b.c") }, []],
  ["101 renewal infos are refused", { signedRenewalInfos: Array(101).fill("a.b.c") }, ["signedRenewalInfos"]],
  ["1,001 transactions are not", { signedTransactions: Array(1001).fill("a.b.c") }, ["signedTransactions"]],
  ["transactions are not null", { signedTransactions: null }, ["signedTransactions"]],
  ["a transaction is text", { signedTransactions: ["a.b.c", 1] }, ["signedTransactions.1"]],
  ["a JWS of 32 KiB is accepted", { signedAppTransaction: "a".repeat(32 * 1024) }, []],
  ["a larger JWS is refused", { signedAppTransaction: "a".repeat(32 * 1024 + 1) }, ["signedAppTransaction"]],
  ["an app transaction is required", { signedAppTransaction: undefined }, ["signedAppTransaction"]],
])("iOS-store requests: %s", (_, change, paths) => {
  expect(wrongPaths(iosStoreLinkRequest, { ...ios, ...change })).toEqual(paths);
  expect(wrongPaths(iosStoreSynchronizeRequest, { ...ios, ...change })).toEqual(paths);
});

test.each([
  ["undefined", undefined, []],
  ["null", null, []],
  ["empty", "", ["applicationAccountIdentifier"]],
])("only synchronize may omit the account or set it to null: %s", (_, account, paths) => {
  const body = { ...ios, applicationAccountIdentifier: account };
  expect(wrongPaths(iosStoreSynchronizeRequest, body)).toEqual(paths);
  expect(wrongPaths(iosStoreLinkRequest, body)).toEqual(["applicationAccountIdentifier"]);
});
