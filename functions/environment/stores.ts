import { APPLE_ROOTS } from "../../lib/stores/ios-store/signatures/chain.ts";
import { optionalVariable } from "./configuration.ts";
import { readSecret } from "./secrets.ts";

const FINGERPRINT = /^[0-9a-f]{64}$/;

/** Apple's roots, or those of `IOS_STORE_TRUSTED_ROOTS`, which a deployed stack does not set. */
export const trustedRoots = (): ReadonlySet<string> => {
  const given = optionalVariable("IOS_STORE_TRUSTED_ROOTS");
  if (given === undefined) return new Set(APPLE_ROOTS);
  const roots = given.split(",").map((root) => root.trim().replaceAll(":", "").toLowerCase());
  if (!roots.every((root) => FINGERPRINT.test(root)))
    throw new Error(
      "IOS_STORE_TRUSTED_ROOTS must be SHA-256 fingerprints (64 hex digits) separated by commas.",
    );
  return new Set(roots);
};

export type AppleAccess = ReturnType<typeof appleAccess>;

/** Access to the App Store Server API; without a root URL Apple's, in both environments. */
export const appleAccess = () => ({
  trustedRoots: trustedRoots(),
  appStoreServerUrl: optionalVariable("APP_STORE_SERVER_URL"),
  readSecret,
});

export type GoogleAccess = ReturnType<typeof googleAccess>;

/** Access to the Android Publisher API; without a root URL Google's. */
export const googleAccess = () => ({
  androidPublisherUrl: optionalVariable("ANDROID_PUBLISHER_URL"),
  readSecret,
});
