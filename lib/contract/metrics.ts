/**
 * What the service measures, by the names that CloudWatch knows it by: the functions write it, the stack's dashboard and
 * alarms read it. Every metric has the dimension `service` beside those named here.
 */
export const METRICS = {
  namespace: "CustomerEntitlements",
  /** Dimensions `Endpoint` and `Outcome`: `OK` or an error's code. Of the authorizer `ALLOWED`, `REFUSED` or `FAILED`. */
  requests: "Requests",
  /** JWS that were refused. Dimension `Reason`, one of the verifier's. */
  verificationFailures: "VerificationFailures",
  /** Milliseconds that a store took to answer. Dimension `Store`. */
  storeLatency: "StoreLatency",
  /**
   * Questions that a store did not answer, and acknowledgements for which it refused the credential. Dimensions `Store`
   * and `Reason`: `unavailable` or `credential-rejected`.
   */
  storeErrors: "StoreErrors",
  /** Links that were refused because they are another account's. Dimension `Outcome`, the error's code. */
  linksRefused: "LinksRefused",
  /** Writes that met another request's, and were decided anew. */
  conflictsRetried: "ConflictsRetried",
  /** Purchases that wait for their acknowledgement to be sent again. */
  acknowledgementsDue: "AcknowledgementsDue",
  /** Those of them that the store refunds in less than a day. */
  acknowledgementsNearDeadline: "AcknowledgementsNearDeadline",
  /** Acknowledgements that were given up: refused for good, or past the store's deadline. */
  acknowledgementsFailed: "AcknowledgementsFailed",
  coldStarts: "ColdStarts",
} as const;

export const DIMENSIONS = {
  service: "service",
  endpoint: "Endpoint",
  outcome: "Outcome",
  reason: "Reason",
  store: "Store",
} as const;
