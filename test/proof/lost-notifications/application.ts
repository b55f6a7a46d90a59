import type { Application } from "../../../lib/applications/application.ts";
import { aBundle } from "../../../testing/support/stores/ios-store.ts";
import { modelApplication } from "../model/model-client.ts";
import { ANDROID_STORE_URL, APPLE, PACKAGE_NAME, type Stores } from "./stores.ts";

export const LEEWAY = 15 * 60_000;

export const applicationWith = (stores: Stores): Application => {
  const { issuerIdentifier, keyIdentifier } = APPLE.serverKey;
  return {
    ...modelApplication("0198c0de-0000-7000-8000-000000000001", { leeway: LEEWAY }),
    iosStore: [aBundle({ serverApi: { issuerIdentifier, keyIdentifier, secret: "apple" } })],
    androidStore: [
      {
        packageName: PACKAGE_NAME,
        credential: { workloadIdentity: stores.android.externalAccount(ANDROID_STORE_URL) },
        environments: ["production"],
        notifications: { serviceAccount: "play-push", audience: "the service" },
      },
    ],
  };
};
