import type * as z from "zod/mini";
import type { ErrorCode } from "./errors.ts";
import {
  accountEntitlements,
  accountEntitlementsRequest,
  androidStoreLinkRequest,
  androidStoreNotificationRequest,
  changesPage,
  changesRequest,
  iosStoreLinkRequest,
  iosStoreNotificationRequest,
  iosStoreSynchronizeRequest,
  LIMITS,
  linkResponse,
  notificationResponse,
  synchronizeResponse,
  type Scope,
  type Store,
} from "./schemas.ts";
import { changesFacts, type TableAccess } from "./table-access.ts";

/** Limits of an endpoint that takes no API key: anybody can flood it, and a flood must leave executions for reads and links. */
export interface FloodLimits {
  /** Rate and burst of its route while the account's concurrency is unknown, and may be ten. */
  readonly requestsPerSecond: number;
  readonly burst: number;
  /** Percentage of a known concurrency that its function may have at most. */
  readonly concurrencyPercent: number;
}

/** An endpoint as the contract defines it. `scope`: of its API key; null: it takes no API key. */
type EndpointData = (
  { readonly scope: Scope } | { readonly scope: null; readonly floodLimits: FloodLimits }
) & {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Store whose purchases it takes; null: both or none. */
  readonly store: Store | null;
  /** Whether a store sends its requests by itself. They count as notifications. */
  readonly takesNotifications?: true;
  readonly summary: string;
  readonly description: string;
  readonly request: () => z.ZodMiniType;
  readonly response: () => z.ZodMiniType;
  readonly errors: readonly ErrorCode[];
  /** Its function's permissions on the table. */
  readonly table: TableAccess;
  /** Whether its function may read the secrets of store credentials. */
  readonly readsSecrets?: true;
  /** Maximum body size in bytes, after decompression; absent: the gateway's limit. */
  readonly bodyBytes?: number;
  /** Whether its use case checks the `Authorization` header itself. */
  readonly readsAuthorization?: true;
  /** Whether its use case takes the body as it came, too. */
  readonly readsBody?: true;
  /** Memory and timeout of its function and limits of its route, unless a deployment's parameters override them. */
  readonly defaults: {
    readonly memoryMegabytes: number;
    readonly timeoutSeconds: number;
    readonly requestsPerSecond: number;
    /** Requests accepted at once: the route's burst limit. */
    readonly burst: number;
  };
};

/**
 * An endpoint as data. Handlers, the stack, the local gateway and the OpenAPI document all read it. `request` describes
 * the JSON body or, for a GET, the path's and the query's parameters.
 */
export type Endpoint = EndpointData & {
  /** Name of its function, and of its module under `functions/endpoints/`. */
  readonly function: string;
};

/** Name of a function in logs, metrics and file names: `readChanges` → `read-changes`. */
export const functionName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Makes an endpoint. Free of side effects, so that a function's bundle holds its own endpoint alone. */
// @__NO_SIDE_EFFECTS__
const endpoint = <const Data extends EndpointData>(name: string, data: () => Data) => ({
  ...data(),
  function: functionName(name),
});

/** Errors that the gateway may answer on any route, before or after the function. */
export const GATEWAY_ERRORS = [
  "REQUEST_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "TOO_MANY_REQUESTS",
  "INTERNAL_ERROR",
] as const satisfies readonly ErrorCode[];

const CREDENTIAL_ERRORS = ["INVALID_CREDENTIAL", "INSUFFICIENT_SCOPE"] as const;
const LINK_ERRORS = [
  "APPLICATION_NOT_FOUND",
  "STORE_CONFIGURATION_NOT_FOUND",
  "CUSTOMER_NOT_FOUND",
  "PAYWALL_NOT_FOUND",
  "CUSTOMER_ALREADY_LINKED",
  "IDENTITY_CONFLICT",
] as const;
const IOS_STORE_ERRORS = [
  "INVALID_REQUEST",
  "INVALID_APP_TRANSACTION",
  "INVALID_TRANSACTION",
  "INVALID_RENEWAL_INFO",
  "ENVIRONMENT_NOT_ACCEPTED",
] as const;

/**
 * Lambda allots CPU by memory, a full vCPU at 1,769 MB, and a function mostly waits. With half this memory a million
 * reads cost four cents less, and a first answer takes twice as long. API Gateway gives up after 29 seconds; the function
 * must fail first.
 */
const DEFAULTS = { memoryMegabytes: 1024, timeoutSeconds: 28, requestsPerSecond: 50, burst: 100 } as const;

export const linkAndroidStoreCustomer = endpoint("linkAndroidStoreCustomer", () => ({
  method: "POST",
  path: "/v1/customers/android-store/link",
  scope: "customers:write",
  store: "android-store",
  summary: "Link an Android-store purchase to an account",
  description:
    "Asks the store about the purchase token, stores the purchase, and links its customer to the application's account.",
  request: androidStoreLinkRequest,
  response: linkResponse,
  errors: [
    "INVALID_REQUEST",
    "INVALID_PURCHASE",
    "PURCHASE_NO_LONGER_AVAILABLE",
    "ENVIRONMENT_NOT_ACCEPTED",
    ...CREDENTIAL_ERRORS,
    ...LINK_ERRORS,
    "STORE_UNAVAILABLE",
    "STORE_REJECTED_CREDENTIAL",
  ],
  table: changesFacts("android-store", { changes: ["transfer"] }),
  readsSecrets: true,
  defaults: DEFAULTS,
}));

export const linkIosStoreCustomer = endpoint("linkIosStoreCustomer", () => ({
  method: "POST",
  path: "/v1/customers/ios-store/link",
  scope: "customers:write",
  store: "ios-store",
  summary: "Link an iOS-store purchase identity to an account",
  description:
    "Verifies the signed app transaction and transactions, stores the purchases, and links their customer to the application's account.",
  request: iosStoreLinkRequest,
  response: linkResponse,
  errors: [...IOS_STORE_ERRORS, ...CREDENTIAL_ERRORS, ...LINK_ERRORS],
  table: changesFacts("ios-store", { changes: ["transfer"] }),
  defaults: DEFAULTS,
}));

export const readAccountEntitlements = endpoint("readAccountEntitlements", () => ({
  method: "GET",
  path: "/v1/customers/{applicationAccountIdentifier}/entitlements",
  scope: "entitlements:read",
  store: null,
  summary: "Read the entitlements of an account",
  description:
    "The entitlements of all customers linked to the account, as of now. An account never seen has none.",
  request: accountEntitlementsRequest,
  response: accountEntitlements,
  errors: ["INVALID_REQUEST", ...CREDENTIAL_ERRORS],
  table: { by: "queries", reads: ["application", "account"], changes: [] },
  defaults: { ...DEFAULTS, timeoutSeconds: 10, requestsPerSecond: 500, burst: 1000 },
}));

export const synchronizeIosStorePurchases = endpoint("synchronizeIosStorePurchases", () => ({
  method: "POST",
  path: "/v1/customers/ios-store/synchronize",
  scope: null,
  floodLimits: { requestsPerSecond: 20, burst: 3, concurrencyPercent: 20 },
  store: "ios-store",
  summary: "Synchronize iOS-store purchases",
  description:
    "Verifies the signed app transaction and transactions, stores the purchases, and answers what they entitle to. Needs no credential: the store's signatures are the proof.",
  request: iosStoreSynchronizeRequest,
  response: synchronizeResponse,
  errors: [...IOS_STORE_ERRORS, ...LINK_ERRORS],
  table: changesFacts("ios-store", { reads: ["store-registration"] }),
  defaults: { ...DEFAULTS, requestsPerSecond: 200, burst: 400 },
}));

export const readChanges = endpoint("readChanges", () => ({
  method: "GET",
  path: "/v1/changes",
  scope: "changes:read",
  store: null,
  summary: "Read the changes of all accounts",
  description:
    "Versions of all accounts of the application in the order in which they were published, for 30 days. The application needs a destination, or `keepsChanges: true`. Follow it with `next` until an answer's `next` is the cursor it was asked with.",
  request: changesRequest,
  response: changesPage,
  errors: ["INVALID_REQUEST", "CURSOR_EXPIRED", ...CREDENTIAL_ERRORS],
  table: { by: "queries", reads: ["change"], changes: [] },
  defaults: DEFAULTS,
}));

export const receiveAndroidStoreNotification = endpoint("receiveAndroidStoreNotification", () => ({
  method: "POST",
  path: "/v1/notifications/android-store",
  scope: null,
  floodLimits: { requestsPerSecond: 10, burst: 1, concurrencyPercent: 10 },
  store: "android-store",
  takesNotifications: true,
  summary: "Receive an Android-store notification",
  description:
    "Takes a Real-time Developer Notification that Google Pub/Sub pushes, asks the store about the purchase it names, and stores what the store says. Links nothing. Answers 200 for what was stored, is known already, or can never be used.",
  request: androidStoreNotificationRequest,
  response: notificationResponse,
  errors: [
    "INVALID_REQUEST",
    "INVALID_CREDENTIAL",
    "APPLICATION_NOT_FOUND",
    "STORE_UNAVAILABLE",
    "STORE_REJECTED_CREDENTIAL",
  ],
  table: changesFacts("android-store", {
    reads: ["store-registration"],
    changes: ["notification", "delivery"],
  }),
  readsSecrets: true,
  bodyBytes: LIMITS.notificationBytes,
  readsAuthorization: true,
  defaults: DEFAULTS,
}));

export const receiveIosStoreNotification = endpoint("receiveIosStoreNotification", () => ({
  method: "POST",
  path: "/v1/notifications/ios-store",
  scope: null,
  // The App Store tries again after an hour, so a few may come at once.
  floodLimits: { requestsPerSecond: 10, burst: 3, concurrencyPercent: 10 },
  store: "ios-store",
  takesNotifications: true,
  summary: "Receive an iOS-store notification",
  description:
    "Takes an App Store Server Notification (version 2), verifies its signatures, and stores what they say. Links nothing. Answers 200 for what was stored, is known already, or can never be used.",
  request: iosStoreNotificationRequest,
  response: notificationResponse,
  errors: ["INVALID_REQUEST", "INVALID_NOTIFICATION", "APPLICATION_NOT_FOUND", "STORE_UNAVAILABLE"],
  table: changesFacts("ios-store", {
    reads: ["store-registration"],
    changes: ["notification", "delivery", "forward"],
  }),
  readsBody: true,
  bodyBytes: LIMITS.notificationBytes,
  defaults: DEFAULTS,
}));

export const endpoints = {
  linkAndroidStoreCustomer,
  linkIosStoreCustomer,
  readAccountEntitlements,
  synchronizeIosStorePurchases,
  readChanges,
  receiveAndroidStoreNotification,
  receiveIosStoreNotification,
};
export type EndpointName = keyof typeof endpoints;
