/**
 * Root certificates of the App Store's JWS: Apple Root CA – G3.
 *
 * @see https://www.apple.com/certificateauthority/
 */
export const APPLE_ROOTS: readonly string[] = [
  "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
];

/** Trusted certificates, by the SHA-256 of their DER, hex in lower case. */
export interface Trust {
  /** Roots of chains that sign for production and sandbox. */
  readonly roots: ReadonlySet<string>;
  /** Self-signed certificates of StoreKit testing in Xcode, which sign only for the environment `xcode`. */
  readonly xcodeCertificates: ReadonlySet<string>;
}

/** Signer of a JWS: a chain of the App Store, or StoreKit testing in Xcode. */
export type Signer = "app-store" | "xcode";
