import type { Instant } from "../../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../../lib/identifiers.ts";
import { manifestFrom } from "../../application.ts";
import { createTestStores } from "../../stores.ts";
import { serve } from "../serve.ts";
import { APPLE_ID } from "../stores/ios-store.ts";
import { CATALOGS, PRODUCTS } from "./catalogs.ts";

const environments = ["production", "sandbox"] as const;

/** Both sandbox stores and the secret of Apple's key, served for an import of one application, which may ask both. */
export const serveImportStores = async (identifier: ApplicationId, now: () => Instant) => {
  const app = `com.example.t${identifier.replaceAll("-", "")}`;
  let secretsRead = 0;
  const { address, stop } = await serve(async (request, response) => {
    if (request.headers["x-amz-target"] === "secretsmanager.GetSecretValue") secretsRead += 1;
    for (const mount of stores.mounts) if (await mount(request, response)) return;
    response.writeHead(404).end();
  });
  const stores = createTestStores(address, now, () => false);
  const { ios, android, environment } = stores;
  const { issuerIdentifier, keyIdentifier } = ios.serverKey;
  const serverApi = { issuerIdentifier, keyIdentifier, secret: "replaced" };
  const manifest = manifestFrom({
    // An import moves nobody all the same.
    application: { identifier, name: "Trails", transfers: "always" },
    stores: {
      "ios-store": [{ bundleIdentifier: app, appAppleIdentifier: APPLE_ID, environments, serverApi }],
      "android-store": [{ packageName: app, environments, credential: { secret: "replaced" } }],
    },
    entitlements: { premium: {} },
    products: PRODUCTS,
  });
  return {
    app,
    catalogs: {
      "ios-store": { ...CATALOGS["ios-store"], app },
      "android-store": { ...CATALOGS["android-store"], app },
    },
    ios,
    android,
    manifest: stores.withCredentials(manifest),
    /** Variables by which the operator reaches the stores. */
    environment: { ...environment, AWS_ENDPOINT_URL_STS: "" },
    secretsRead: () => secretsRead,
    stop,
  };
};
