import * as z from "zod";
import { once } from "../once.ts";

/** Limits of a request; over one of them is 400 `INVALID_REQUEST`. */
export const LIMITS = {
  accountIdentifierCharacters: 256,
  signedTransactions: 1000,
  jwsBytes: 32 * 1024,
  purchaseTokenCharacters: 4096,
  productIdentifierCharacters: 256,
  packageNameCharacters: 256,
} as const;

export const STORES = ["android-store", "ios-store"] as const;
export const ENVIRONMENTS = ["production", "sandbox", "xcode"] as const;
export const STATUSES = ["active", "grace_period", "billing_retry", "paused", "expired", "revoked"] as const;
export const PRODUCT_KINDS = ["subscription", "one_time_product"] as const;
export const SCOPES = ["customers:write", "entitlements:read"] as const;

export type Store = (typeof STORES)[number];
export type Environment = (typeof ENVIRONMENTS)[number];
export type Status = (typeof STATUSES)[number];
export type ProductKind = (typeof PRODUCT_KINDS)[number];
export type Scope = (typeof SCOPES)[number];

const characters = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

const text = (limit: number, description: string) =>
  z
    .string()
    .min(1, "must not be empty")
    .refine((value) => value.length <= limit || characters(value) <= limit, {
      message: `must be at most ${limit} characters`,
    })
    .refine((value) => value.isWellFormed(), { message: "must be well-formed Unicode" })
    .meta({ description, maxLength: limit });

/** The application's stable identifier of its user: 1 to 256 characters, no control characters, compared byte for byte. */
export const accountIdentifier = once(() =>
  text(
    LIMITS.accountIdentifierCharacters,
    "The application's stable account identifier. No control characters; compared byte for byte.",
  ).refine((value) => !/\p{Cc}/u.test(value), { message: "must not contain control characters" }),
);

const jws = (description: string) =>
  z.string().max(LIMITS.jwsBytes, `must be at most ${LIMITS.jwsBytes} bytes`).meta({ description });

const signedAppTransaction = once(() =>
  jws("The app transaction that StoreKit signed (`AppTransaction`), a compact JWS."),
);
const signedTransactions = once(() =>
  z
    .array(jws("A transaction that StoreKit signed (`Transaction`), a compact JWS."))
    .max(LIMITS.signedTransactions, `must hold at most ${LIMITS.signedTransactions} transactions`)
    .meta({ description: "Signed transactions of the same app; duplicates count as one." }),
);

export const androidStoreLinkRequest = once(() =>
  z
    .object({
      packageName: text(LIMITS.packageNameCharacters, "Android package name registered with the service."),
      purchaseToken: text(LIMITS.purchaseTokenCharacters, "Purchase token from the store."),
      productKind: z.enum(PRODUCT_KINDS),
      productIdentifier: text(
        LIMITS.productIdentifierCharacters,
        "Narrows the lookup of a one-time purchase to one of its products.",
      ).nullish(),
      applicationAccountIdentifier: accountIdentifier(),
    })
    .meta({ id: "AndroidStoreLinkRequest" }),
);

export const iosStoreLinkRequest = once(() =>
  z
    .object({
      signedAppTransaction: signedAppTransaction(),
      signedTransactions: signedTransactions().optional(),
      applicationAccountIdentifier: accountIdentifier(),
    })
    .meta({ id: "IosStoreLinkRequest" }),
);

export const iosStoreSynchronizeRequest = once(() =>
  z
    .object({
      signedAppTransaction: signedAppTransaction(),
      signedTransactions: signedTransactions().optional(),
      applicationAccountIdentifier: accountIdentifier().nullish(),
    })
    .meta({ id: "IosStoreSynchronizeRequest" }),
);

export const accountEntitlementsRequest = once(() =>
  z.object({ applicationAccountIdentifier: accountIdentifier() }),
);

const uuid = (description: string) => z.uuid().meta({ description });
const time = (description: string) => z.iso.datetime({ precision: 3 }).meta({ description });
const nullableTime = (description: string) =>
  z.iso.datetime({ precision: 3 }).nullable().meta({ description });

export const customerEntitlement = once(() =>
  z
    .object({
      identifier: z.string().meta({ description: "The entitlement, from the application's catalog." }),
      displayName: z.string().meta({ description: "From the catalog; the identifier where none is set." }),
      productIdentifier: z.string().nullable().meta({ description: "The store product that grants it." }),
      environment: z.enum(ENVIRONMENTS).meta({ description: "Environment of that purchase." }),
      status: z.enum(STATUSES).meta({ description: "Computed at the moment of the answer." }),
      active: z.boolean().meta({ description: "True only for `active` and `grace_period`." }),
      startsAt: nullableTime("Purchase date of the granting transaction."),
      expiresAt: nullableTime("End of access, grace included, itself excluded; null for lifetime."),
      revokedAt: nullableTime("Time of the refund or revocation."),
      lastVerifiedAt: time("When the store last vouched for the purchase."),
      store: z.enum(STORES),
      productKind: z.enum(PRODUCT_KINDS),
      customerIdentifier: uuid("The customer whose purchase grants it."),
      willRenew: z.boolean().nullable().meta({ description: "Null where the store has not said." }),
    })
    .meta({ id: "CustomerEntitlement" }),
);

/** One entry of an answer. */
export type CustomerEntitlement = z.infer<ReturnType<typeof customerEntitlement>>;

const entitlements = once(() =>
  z
    .array(customerEntitlement())
    .meta({ description: "One entry for each entitlement, sorted by identifier." }),
);

export const linkResponse = once(() =>
  z
    .object({
      customerIdentifier: uuid("The customer, or null where the request names nobody.").nullable(),
      applicationIdentifier: uuid("The application of the credential."),
      entitlements: entitlements(),
    })
    .meta({ id: "LinkResponse" }),
);

export const synchronizeResponse = once(() =>
  z
    .object({
      customerIdentifier: uuid("The customer, or null where none was resolved.").nullable(),
      entitlements: entitlements(),
    })
    .meta({ id: "SynchronizeResponse" }),
);

export const accountEntitlements = once(() =>
  z
    .object({
      applicationAccountIdentifier: z.string().meta({ description: "As given in the path, decoded." }),
      customerIdentifiers: z.array(z.uuid()).meta({ description: "The customers linked to the account." }),
      applicationIdentifier: uuid("The application of the credential."),
      entitlements: entitlements(),
    })
    .meta({ id: "AccountEntitlements" }),
);

export type AndroidStoreLinkRequest = z.infer<ReturnType<typeof androidStoreLinkRequest>>;
export type IosStoreLinkRequest = z.infer<ReturnType<typeof iosStoreLinkRequest>>;
export type IosStoreSynchronizeRequest = z.infer<ReturnType<typeof iosStoreSynchronizeRequest>>;
export type LinkResponse = z.infer<ReturnType<typeof linkResponse>>;
export type SynchronizeResponse = z.infer<ReturnType<typeof synchronizeResponse>>;
export type AccountEntitlements = z.infer<ReturnType<typeof accountEntitlements>>;
