// Written from docs/openapi.json by `npm run client`; changes belong into the contract.

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

/** Stable codes of the service's refusals. */
export type ErrorCode =
  | "APPLICATION_NOT_FOUND"
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
