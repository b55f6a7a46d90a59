import en from "zod/v4/locales/en.js";
import * as z from "zod/mini";
import { once } from "../once.ts";

// Validation messages are in English. Parsers are not compiled: compiling one takes longer than parsing hundreds of
// values uncompiled, and most processes parse tens.
z.config({ ...en(), jitless: true });

/** Stored by position, as {@link ENVIRONMENTS} are: append only. */
export const STORES = ["android-store", "ios-store"] as const;
export const ENVIRONMENTS = ["production", "sandbox", "xcode"] as const;
export const STATUSES = ["active", "grace_period", "billing_retry", "paused", "expired", "revoked"] as const;
export const PRODUCT_KINDS = ["subscription", "one_time_product"] as const;
/** Source of a link: the application's backend with a credential, or a client without one. */
export const ASSERTED_BY = ["credential", "client"] as const;
export const SCOPES = ["customers:write", "entitlements:read", "changes:read"] as const;

export type Store = (typeof STORES)[number];
export type Environment = (typeof ENVIRONMENTS)[number];
export type Status = (typeof STATUSES)[number];
export type ProductKind = (typeof PRODUCT_KINDS)[number];
export type AssertedBy = (typeof ASSERTED_BY)[number];
export type Scope = (typeof SCOPES)[number];

/** Limits of a request; exceeding one is 400 `INVALID_REQUEST`. */
export const LIMITS = {
  accountIdentifierCharacters: 256,
  signedTransactions: 1000,
  signedRenewalInfos: 100,
  jwsBytes: 32 * 1024,
  purchaseTokenCharacters: 4096,
  productIdentifierCharacters: 256,
  packageNameCharacters: 256,
  notificationBytes: 64 * 1024,
  changes: 1000,
  cursorCharacters: 64,
} as const;

const characters = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** A text of 1 to `limit` characters. */
const text = (limit: number, description: string, ...checks: z.core.$ZodCheck<string>[]) =>
  z
    .string()
    .check(
      z.minLength(1, "must not be empty"),
      z.refine((value) => value.length <= limit || characters(value) <= limit, {
        message: `must be at most ${limit} characters`,
      }),
      z.refine((value) => value.isWellFormed(), { message: "must be well-formed Unicode" }),
      ...checks,
    )
    .register(z.globalRegistry, { description, maxLength: limit });

/** The schema, with a description for the OpenAPI document. */
export const described = <Schema extends z.ZodMiniType>(description: string, schema: Schema): Schema => {
  z.globalRegistry.add(schema, { description });
  return schema;
};

/** A schema that is made when it is first used. The annotation lets esbuild leave out of a bundle what it does not use. */
// @__NO_SIDE_EFFECTS__
const lazy = <Schema>(make: () => Schema) => once(make);

/** Schema of an object that the OpenAPI document names. */
// @__NO_SIDE_EFFECTS__
export const component = <Shape extends z.core.$ZodLooseShape>(
  id: string,
  shape: () => Shape,
  description?: string,
) =>
  once(() =>
    z.object(shape()).register(z.globalRegistry, { id, ...(description !== undefined && { description }) }),
  );

/** An optional list of at most `limit` members, called `what` in the issue. */
const several = <Schema extends z.ZodMiniType>(
  description: string,
  member: Schema,
  limit: number,
  what: string,
) =>
  z.optional(
    described(description, z.array(member).check(z.maxLength(limit, `must hold at most ${limit} ${what}`))),
  );

const jws = (description: string, limit: number = LIMITS.jwsBytes) =>
  described(description, z.string().check(z.maxLength(limit, `must be at most ${limit} bytes`)));

export const uuid = (description: string) => described(description, z.uuid());
const time = (description: string) => described(description, z.iso.datetime({ precision: 3 }));
export const nullableTime = (description: string) =>
  described(description, z.nullable(z.iso.datetime({ precision: 3 })));

/** The application's stable identifier of its user: 1 to 256 characters, no control characters, compared byte for byte. */
export const accountIdentifier = lazy(() =>
  text(
    LIMITS.accountIdentifierCharacters,
    "The application's stable account identifier. No control characters, not `.` or `..`; compared byte for byte.",
    z.refine((value: string) => !/\p{Cc}/u.test(value), { message: "must not contain control characters" }),
    // HTTP clients resolve these as path segments, so no URL can name such an account.
    z.refine((value: string) => value !== "." && value !== "..", { message: "must not be . or .." }),
  ),
);

/** Fields that an app gets from StoreKit, whether the app or its backend sends them. */
const signedByStore = () => ({
  signedAppTransaction: jws("The app transaction that StoreKit signed (`AppTransaction`), a compact JWS."),
  signedTransactions: several(
    "Signed transactions of the same app; duplicates count as one.",
    jws("A transaction that StoreKit signed (`Transaction`), a compact JWS."),
    LIMITS.signedTransactions,
    "transactions",
  ),
  signedRenewalInfos: several(
    "Renewal infos of the same person's subscriptions. They bring grace periods, billing retries and `willRenew`; one of an unknown subscription is ignored.",
    jws("A renewal info that StoreKit signed (`Status.renewalInfo.jwsRepresentation`), a compact JWS."),
    LIMITS.signedRenewalInfos,
    "renewal infos",
  ),
});

export const androidStoreLinkRequest = component("AndroidStoreLinkRequest", () => ({
  packageName: text(LIMITS.packageNameCharacters, "Android package name registered with the service."),
  purchaseToken: text(LIMITS.purchaseTokenCharacters, "Purchase token from the store."),
  productKind: z.enum(PRODUCT_KINDS),
  productIdentifier: z.nullish(
    text(
      LIMITS.productIdentifierCharacters,
      "Narrows the lookup of a one-time purchase to one of its products.",
    ),
  ),
  applicationAccountIdentifier: accountIdentifier(),
}));

export const iosStoreLinkRequest = component("IosStoreLinkRequest", () => ({
  ...signedByStore(),
  applicationAccountIdentifier: accountIdentifier(),
}));

export const iosStoreSynchronizeRequest = component("IosStoreSynchronizeRequest", () => ({
  ...signedByStore(),
  applicationAccountIdentifier: z.nullish(accountIdentifier()),
}));

export const accountEntitlementsRequest = lazy(() =>
  z.object({ applicationAccountIdentifier: accountIdentifier() }),
);

/** Most changes of a page. Made when used: bundles without the feed leave it out. */
const changesLimit = () => {
  const message = `must be a whole number from 1 to ${LIMITS.changes}`;
  return z.coerce
    .number(message)
    .check(z.int(message), z.minimum(1, message), z.maximum(LIMITS.changes, message));
};

export const changesRequest = lazy(() =>
  z.object({
    after: z.optional(
      text(
        LIMITS.cursorCharacters,
        "A `cursor` or `next` of an earlier answer; without it, the oldest change that is kept comes first.",
      ),
    ),
    limit: z.optional(described("Most changes in the answer; 100 without it.", changesLimit())),
  }),
);

/** Push body of Google Pub/Sub. It leaves out `data` where a message has only attributes. */
export const androidStoreNotificationRequest = component("AndroidStoreNotificationRequest", () => ({
  message: z.object({
    data: z.optional(described("A DeveloperNotification: JSON in base64.", z.string())),
    messageId: z.optional(z.string()),
  }),
  subscription: z.optional(z.string()),
}));

/** Body of an App Store Server Notification of version 2. */
export const iosStoreNotificationRequest = component("IosStoreNotificationRequest", () => ({
  signedPayload: jws("The notification that the App Store signed, a compact JWS.", LIMITS.notificationBytes),
}));

export const customerEntitlement = component("CustomerEntitlement", () => ({
  identifier: described("The entitlement, from the application's catalog.", z.string()),
  displayName: described("From the catalog; the identifier where none is set.", z.string()),
  productIdentifier: described("The store product that grants it.", z.nullable(z.string())),
  environment: described("Environment of that purchase.", z.enum(ENVIRONMENTS)),
  status: described("Computed at the moment of the answer.", z.enum(STATUSES)),
  active: described("True only for `active` and `grace_period`.", z.boolean()),
  startsAt: nullableTime("Purchase date of the granting transaction."),
  expiresAt: nullableTime("End of access, grace included, itself excluded; null for lifetime."),
  revokedAt: nullableTime("Time of the refund or revocation."),
  lastVerifiedAt: time("When the store last vouched for the purchase."),
  store: z.enum(STORES),
  productKind: z.enum(PRODUCT_KINDS),
  customerIdentifier: uuid("The customer whose purchase grants it."),
  willRenew: described("Null where the store has not said.", z.nullable(z.boolean())),
}));

/** One entitlement in an answer. */
export type CustomerEntitlement = z.infer<ReturnType<typeof customerEntitlement>>;

const entitlements = lazy(() =>
  described("One entry for each entitlement, sorted by identifier.", z.array(customerEntitlement())),
);

export const linkResponse = component("LinkResponse", () => ({
  customerIdentifier: z.nullable(uuid("The customer, or null where the request names nobody.")),
  applicationIdentifier: uuid("The application of the credential."),
  entitlements: entitlements(),
}));

export const synchronizeResponse = component("SynchronizeResponse", () => ({
  customerIdentifier: z.nullable(uuid("The customer, or null where none was resolved.")),
  entitlements: entitlements(),
}));

export const accountEntitlements = component("AccountEntitlements", () => ({
  applicationAccountIdentifier: described("As given in the path, decoded.", z.string()),
  customerIdentifiers: described("The customers linked to the account.", z.array(z.uuid())),
  applicationIdentifier: uuid("The application of the credential."),
  entitlements: entitlements(),
}));

export const accountChange = component("AccountChange", () => ({
  applicationIdentifier: uuid("The application of the credential."),
  applicationAccountIdentifier: described("The account.", z.string()),
  version: described("Goes up by one with each change of the account, from 1.", z.int().check(z.minimum(1))),
  changed: described(
    "Entitlements that differ from the version before; empty where only the customers do.",
    z.array(z.string()),
  ),
  customerIdentifiers: described("The customers linked to the account.", z.array(z.uuid())),
  entitlements: entitlements(),
  timestamp: time("When it was told."),
  cursor: described("Place of the change: pass it as `after` to get those that follow.", z.string()),
}));

/** `data` of an `account.entitlements_changed` message. */
export const accountState = lazy(() =>
  z.omit(accountChange(), { timestamp: true, cursor: true }).register(z.globalRegistry, {
    id: "AccountState",
    description: "`data` of an `account.entitlements_changed` message: the account after the change.",
  }),
);

export const changesPage = component("ChangesPage", () => ({
  changes: z.array(accountChange()),
  next: described(
    "Pass it as `after` in the next request. The last one answers an empty list and itself.",
    z.string(),
  ),
}));

/** Answer to a store's notification: nothing but its status. */
export const notificationResponse = component("NotificationResponse", () => ({}));

export type AndroidStoreLinkRequest = z.infer<ReturnType<typeof androidStoreLinkRequest>>;
export type AndroidStoreNotificationRequest = z.infer<ReturnType<typeof androidStoreNotificationRequest>>;
export type IosStoreLinkRequest = z.infer<ReturnType<typeof iosStoreLinkRequest>>;
export type IosStoreSynchronizeRequest = z.infer<ReturnType<typeof iosStoreSynchronizeRequest>>;
export type IosStoreNotificationRequest = z.infer<ReturnType<typeof iosStoreNotificationRequest>>;
export type LinkResponse = z.infer<ReturnType<typeof linkResponse>>;
export type SynchronizeResponse = z.infer<ReturnType<typeof synchronizeResponse>>;
export type ChangesRequest = z.infer<ReturnType<typeof changesRequest>>;
export type AccountChange = z.infer<ReturnType<typeof accountChange>>;
export type ChangesPage = z.infer<ReturnType<typeof changesPage>>;
export type NotificationResponse = z.infer<ReturnType<typeof notificationResponse>>;
export type AccountEntitlements = z.infer<ReturnType<typeof accountEntitlements>>;
