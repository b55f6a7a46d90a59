declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** A tenant: one developer's application, a UUID. */
export type ApplicationId = Branded<string, "ApplicationId">;
/** The application's own user: the identifier the application chose, compared byte for byte. */
export type AccountId = Branded<string, "AccountId">;
/** What a store has verified to be one person in one application, a UUID made by this service. */
export type CustomerId = Branded<string, "CustomerId">;
/** One purchase within its store and environment: the iOS original transaction id, or the SHA-256 (hex) of the Android purchase token. */
export type PurchaseKey = Branded<string, "PurchaseKey">;
/** A credential's public half, 16 hex digits. */
export type KeyId = Branded<string, "KeyId">;

export const applicationId = (value: string): ApplicationId => value as ApplicationId;
export const accountId = (value: string): AccountId => value as AccountId;
export const customerId = (value: string): CustomerId => value as CustomerId;
export const purchaseKey = (value: string): PurchaseKey => value as PurchaseKey;
export const keyId = (value: string): KeyId => value as KeyId;
