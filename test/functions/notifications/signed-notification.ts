import { signJws } from "../../../sandbox/ios-store/signing.ts";
import { anEnvelope } from "../../../testing/support/stores/ios-store.ts";
import type { TestApplication, TestService } from "../../../testing/support/service.ts";

export const APPLE_ID = 1_234_567_890;

/** An App Store notification of now about the app, with these changes to its data. */
export const aSignedNotification = (
  { chain }: Pick<TestService, "chain">,
  { bundleIdentifier: bundleId }: TestApplication,
  notificationType: string,
  changes: object = {},
): string => {
  const data = { appAppleId: APPLE_ID, bundleId, environment: "Production", ...changes };
  return signJws(anEnvelope({ notificationType, signedDate: Date.now() - 500, data }), chain);
};
