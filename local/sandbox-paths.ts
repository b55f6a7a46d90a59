/** Paths of the sandbox stores on the local API's port. */
export const ANDROID_PREFIX = "/sandbox/android-publisher";
export const IOS_PREFIX = "/sandbox/ios-store";
export const EXPORTS_PATH = "/sandbox/exports";
