import type { EndpointName } from "./endpoints.ts";

/** A request to show beside an endpoint. */
export interface RequestExample {
  /** Parameters of a GET, or the body of a POST. */
  readonly request: Readonly<Record<string, unknown>>;
}

/** An endpoint's request, and the answer to it. */
export interface Example extends RequestExample {
  readonly response: Readonly<Record<string, unknown>>;
}

export type RequestExamples = Readonly<Partial<Record<EndpointName, RequestExample>>>;

const ACCOUNT = "user-1";
const APPLICATION = "0198c0de-0000-7000-8000-000000000001";
const CUSTOMER = "0198c0de-4a1b-7c3d-9e2f-000000000001";
/** A JWS in its compact form is a few kilobytes long. */
const JWS = "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlFTURDQ0E3YWdBd0lCQWdJUWFQb1BsZHZwU29F….….…";

const CURSOR = "MjAyNi0xMS0yMCA0MQ";
const NEXT_CURSOR = "MjAyNi0xMS0yMCA0Mg";

const PREMIUM = {
  identifier: "premium",
  displayName: "Premium",
  productIdentifier: "com.example.trails.premium.monthly",
  environment: "production",
  status: "active",
  active: true,
  startsAt: "2026-11-01T09:30:00.000Z",
  expiresAt: "2026-12-01T09:30:00.000Z",
  revokedAt: null,
  lastVerifiedAt: "2026-11-20T18:04:11.512Z",
  store: "ios-store",
  productKind: "subscription",
  customerIdentifier: CUSTOMER,
  willRenew: true,
} as const;

const ON_ANDROID = {
  ...PREMIUM,
  productIdentifier: "premium",
  store: "android-store",
} as const;

const SIGNED = {
  signedAppTransaction: JWS,
  signedTransactions: [JWS],
  signedRenewalInfos: [JWS],
} as const;

/** Example of each endpoint. */
export const EXAMPLES: Readonly<Record<EndpointName, Example>> = {
  linkAndroidStoreCustomer: {
    request: {
      packageName: "com.example.trails",
      purchaseToken: "opaque-token-up-to-1500-characters",
      productKind: "subscription",
      applicationAccountIdentifier: ACCOUNT,
    },
    response: {
      customerIdentifier: CUSTOMER,
      applicationIdentifier: APPLICATION,
      entitlements: [ON_ANDROID],
    },
  },
  linkIosStoreCustomer: {
    request: { ...SIGNED, applicationAccountIdentifier: ACCOUNT },
    response: { customerIdentifier: CUSTOMER, applicationIdentifier: APPLICATION, entitlements: [PREMIUM] },
  },
  readAccountEntitlements: {
    request: { applicationAccountIdentifier: ACCOUNT },
    response: {
      applicationAccountIdentifier: ACCOUNT,
      customerIdentifiers: [CUSTOMER],
      applicationIdentifier: APPLICATION,
      entitlements: [PREMIUM],
    },
  },
  readChanges: {
    request: { after: CURSOR, limit: 100 },
    response: {
      changes: [
        {
          applicationIdentifier: APPLICATION,
          applicationAccountIdentifier: ACCOUNT,
          version: 7,
          changed: ["premium"],
          customerIdentifiers: [CUSTOMER],
          entitlements: [PREMIUM],
          timestamp: "2026-11-20T18:04:12.345Z",
          cursor: NEXT_CURSOR,
        },
      ],
      next: NEXT_CURSOR,
    },
  },
  synchronizeIosStorePurchases: {
    request: { ...SIGNED, applicationAccountIdentifier: null },
    response: { customerIdentifier: CUSTOMER, entitlements: [PREMIUM] },
  },
  receiveAndroidStoreNotification: {
    request: {
      message: {
        data: "eyJ2ZXJzaW9uIjoiMS4wIiwicGFja2FnZU5hbWUiOiJjb20uZXhhbXBsZS50cmFpbHMifQ==",
        messageId: "136969346945",
      },
      subscription: "projects/trails/subscriptions/play",
    },
    response: {},
  },
  receiveIosStoreNotification: { request: { signedPayload: JWS }, response: {} },
};
