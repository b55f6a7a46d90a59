/** Metrics by their CloudWatch names. Every metric has the dimension `service` besides those listed here. */
export const METRICS = {
  namespace: "CustomerEntitlements",
  /** Dimensions `Endpoint` and `Outcome`: `OK`, an error code, or the authorizer's `ALLOWED`, `REFUSED` or `FAILED`. */
  requests: "Requests",
  /** Requests answered 503 because Google did not answer. */
  unansweredRequests: "UnansweredRequests",
  /** 5xx answers that need nobody, or have their own alarms: unanswered, refused credentials, few among many successes. */
  harmlessFailures: "HarmlessFailures",
  /** API keys and Google's push tokens that were refused. */
  credentialsRefused: "CredentialsRefused",
  /** iOS-store links and synchronizes that were refused for a signature or a claim, as were many of their environment. */
  transactionsRefused: "TransactionsRefused",
  /** Refused JWS and push tokens. Dimension `Reason`: a reason of the verifier. */
  verificationFailures: "VerificationFailures",
  /** Response time of a store in milliseconds. Dimension `Store`. */
  storeLatency: "StoreLatency",
  /**
   * Questions that a store did not answer, and questions and acknowledgements for which it refused the credential.
   * Dimensions `Store` and `Reason`: `unavailable` or `credential-rejected`.
   */
  storeErrors: "StoreErrors",
  /** Those of {@link storeErrors} for which a store refused the credential. */
  storeCredentialsRejected: "StoreCredentialsRejected",
  /** Products that verified purchases name and that grant nothing, once for each request. Dimensions `Store` and `Reason`. */
  ungrantedProducts: "UngrantedProducts",
  /** Links refused because of another account. Dimension `Outcome`: the error code. */
  linksRefused: "LinksRefused",
  /** Writes that conflicted with another request's and were retried from a fresh read. */
  conflictsRetried: "ConflictsRetried",
  /** Purchases whose acknowledgement is still to be retried. */
  acknowledgementsDue: "AcknowledgementsDue",
  /** Age of the oldest production acknowledgement that a run leaves due, in milliseconds. */
  acknowledgementAge: "AcknowledgementAge",
  /** Production purchases still due, less than a day from the store's deadline or past it. */
  acknowledgementsNearDeadline: "AcknowledgementsNearDeadline",
  /** Acknowledgements given up in production: of a purchase that the store has dropped, or past the store's deadline. */
  acknowledgementsFailed: "AcknowledgementsFailed",
  /**
   * Notifications of the stores. Dimensions `Store` and `Outcome`:
   * - `STORED`: facts were stored, or known already, or a store's request was passed on.
   * - `UNUSED`: it can never be used.
   * - `FORGED`: the App Store did not sign it.
   * - an error code: `INVALID_NOTIFICATION` where the App Store signed what is refused, `INTERNAL_ERROR` where the service
   *   itself failed.
   */
  notifications: "Notifications",
  /** Notifications that the App Store signed, and that were refused or not understood. */
  notificationsRefused: "NotificationsRefused",
  /** Bundles and packages with production notifications within 30 days, but none for a day. */
  silentApplications: "SilentApplications",
  /** Purchases that a store was asked about again. Dimensions `Store` and `Outcome`: `OK` or `FAILED`. */
  refreshes: "Refreshes",
  /** Age of a store's oldest due refresh when a run ends, in milliseconds. Queues that wait for a credential are left out. */
  refreshAge: "RefreshAge",
  /** Failed notifications read, voided purchases answered about; repeats count again. Dimension `Store`. */
  swept: "Swept",
  /** Lists of a store that a sweep did not read to the present. Dimension `Store`. */
  sweepsBehind: "SweepsBehind",
  /** Versions of accounts that were published. */
  changesTold: "ChangesTold",
  /** Age of the oldest due look at an account when a run ends, in milliseconds. */
  changeAge: "ChangeAge",
  /** Attempts to deliver a message. Dimension `Outcome`: `OK` or `FAILED`. */
  deliveries: "Deliveries",
  /** Age of the oldest message that still waits when a run ends, in milliseconds. */
  deliveryAge: "DeliveryAge",
  /** Destinations, and services that notifications are forwarded to, that have accepted nothing for an hour; or answered 410. */
  destinationsDown: "DestinationsDown",
  coldStarts: "ColdStarts",
} as const;

export const DIMENSIONS = {
  service: "service",
  endpoint: "Endpoint",
  outcome: "Outcome",
  reason: "Reason",
  store: "Store",
} as const;
