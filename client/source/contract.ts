// Written from docs/openapi.json by `npm run client`; changes belong into the contract.

export interface AccountChange {
  /** The application of the credential. */
  readonly applicationIdentifier: string;
  /** The account. */
  readonly applicationAccountIdentifier: string;
  /** Goes up by one with each change of the account, from 1. */
  readonly version: number;
  /** Entitlements that differ from the version before; empty where only the customers do. */
  readonly changed: readonly string[];
  /** The customers linked to the account. */
  readonly customerIdentifiers: readonly string[];
  /** One entry for each entitlement, sorted by identifier. */
  readonly entitlements: readonly CustomerEntitlement[];
  /** When it was told. */
  readonly timestamp: string;
  /** Place of the change: pass it as `after` to get those that follow. */
  readonly cursor: string;
}

export interface AccountEntitlements {
  /** As given in the path, decoded. */
  readonly applicationAccountIdentifier: string;
  /** The customers linked to the account. */
  readonly customerIdentifiers: readonly string[];
  /** The application of the credential. */
  readonly applicationIdentifier: string;
  /** One entry for each entitlement, sorted by identifier. */
  readonly entitlements: readonly CustomerEntitlement[];
}

export interface AndroidStoreLinkRequest {
  /** Android package name registered with the service. */
  readonly packageName: string;
  /** Purchase token from the store. */
  readonly purchaseToken: string;
  readonly productKind: "subscription" | "one_time_product";
  /** Narrows the lookup of a one-time purchase to one of its products. */
  readonly productIdentifier?: string | null;
  /** The application's stable account identifier. No control characters, not `.` or `..`; compared byte for byte. */
  readonly applicationAccountIdentifier: string;
}

export interface ChangesPage {
  readonly changes: readonly AccountChange[];
  /** Pass it as `after` in the next request. The last one answers an empty list and itself. */
  readonly next: string;
}

export interface CustomerEntitlement {
  /** The entitlement, from the application's catalog. */
  readonly identifier: string;
  /** From the catalog; the identifier where none is set. */
  readonly displayName: string;
  /** The store product that grants it. */
  readonly productIdentifier: string | null;
  /** Environment of that purchase. */
  readonly environment: "production" | "sandbox" | "xcode";
  /** Computed at the moment of the answer. */
  readonly status: "active" | "grace_period" | "billing_retry" | "paused" | "expired" | "revoked";
  /** True only for `active` and `grace_period`. */
  readonly active: boolean;
  /** Purchase date of the granting transaction. */
  readonly startsAt: string | null;
  /** End of access, grace included, itself excluded; null for lifetime. */
  readonly expiresAt: string | null;
  /** Time of the refund or revocation. */
  readonly revokedAt: string | null;
  /** When the store last vouched for the purchase. */
  readonly lastVerifiedAt: string;
  readonly store: "android-store" | "ios-store";
  readonly productKind: "subscription" | "one_time_product";
  /** The customer whose purchase grants it. */
  readonly customerIdentifier: string;
  /** Null where the store has not said. */
  readonly willRenew: boolean | null;
}

export interface ErrorBody {
  /** Stable. */
  readonly error: ErrorCode;
  /** A sentence for a person; not stable. */
  readonly message: string;
  /** On `INVALID_REQUEST`: what is wrong, and where. */
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
}

export interface IosStoreLinkRequest {
  /** The app transaction that StoreKit signed (`AppTransaction`), a compact JWS. */
  readonly signedAppTransaction: string;
  /** Signed transactions of the same app; duplicates count as one. */
  readonly signedTransactions?: readonly string[];
  /** Renewal infos of the same person's subscriptions. They bring grace periods, billing retries and `willRenew`; one of an unknown subscription is ignored. */
  readonly signedRenewalInfos?: readonly string[];
  /** The application's stable account identifier. No control characters, not `.` or `..`; compared byte for byte. */
  readonly applicationAccountIdentifier: string;
}

export interface LinkResponse {
  /** The customer, or null where the request names nobody. */
  readonly customerIdentifier: string | null;
  /** The application of the credential. */
  readonly applicationIdentifier: string;
  /** One entry for each entitlement, sorted by identifier. */
  readonly entitlements: readonly CustomerEntitlement[];
}

export interface StoreRequest {
  /** The application that is asked. */
  readonly applicationIdentifier: string;
  /** The account; null where the customer is linked to none, or nobody is known. */
  readonly applicationAccountIdentifier: string | null;
  /** Who linked the customer to the account: your `credential`, or a `client` by a claim without one. Absent where there is no account. */
  readonly assertedBy?: "credential" | "client";
  /** Customer of the purchase; null where none is known. */
  readonly customerIdentifier: string | null;
  readonly store: "android-store" | "ios-store";
  /** The store's own word: `CONSUMPTION_REQUEST`, `RESCIND_CONSENT`, `pendingRefundReviewNotification`; others may come. */
  readonly kind: string;
  /** Null where the store names no product. */
  readonly productIdentifier: string | null;
  /** Null where the store names no transaction; `orderIdentifier` is Google's. */
  readonly transactionIdentifier: string | null;
  /** Time by which the store wants an answer; null where it names none. */
  readonly answerBy: string | null;
  /** Environment of the App Store; absent where the store does not say. */
  readonly environment?: "production" | "sandbox" | "xcode";
  /** The iOS app. */
  readonly bundleIdentifier?: string;
  /** The Android app. */
  readonly packageName?: string;
  /** Google's order: `orderId` of `orders.reviewrefund`. */
  readonly orderIdentifier?: string;
  /** `pendingRefundToken` of `orders.reviewrefund`. It is no purchase token. */
  readonly pendingRefundToken?: string;
  /** The store's own word for why: Apple's `consumptionRequestReason`, Google's `refundReason`. Others may come. */
  readonly reason?: string;
}

/** Stable codes of the service's refusals. */
export type ErrorCode =
  | "APPLICATION_NOT_FOUND"
  | "CURSOR_EXPIRED"
  | "CUSTOMER_ALREADY_LINKED"
  | "CUSTOMER_NOT_FOUND"
  | "ENVIRONMENT_NOT_ACCEPTED"
  | "IDENTITY_CONFLICT"
  | "INSUFFICIENT_SCOPE"
  | "INTERNAL_ERROR"
  | "INVALID_APP_TRANSACTION"
  | "INVALID_CREDENTIAL"
  | "INVALID_PURCHASE"
  | "INVALID_RENEWAL_INFO"
  | "INVALID_REQUEST"
  | "INVALID_TRANSACTION"
  | "PAYWALL_NOT_FOUND"
  | "PURCHASE_NO_LONGER_AVAILABLE"
  | "REQUEST_TOO_LARGE"
  | "ROUTE_NOT_FOUND"
  | "STORE_CONFIGURATION_NOT_FOUND"
  | "STORE_REJECTED_CREDENTIAL"
  | "STORE_UNAVAILABLE"
  | "TOO_MANY_REQUESTS"
  | "UNSUPPORTED_MEDIA_TYPE";

export type ErrorIssue = NonNullable<ErrorBody["issues"]>[number];

export type Store = CustomerEntitlement["store"];

export type Status = CustomerEntitlement["status"];
