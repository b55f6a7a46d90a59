import { createServer } from "node:http";
import { text as textOf } from "node:stream/consumers";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { close, listen } from "../../../local/server.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { fingerprintOf, makeChain } from "../../../sandbox/ios-store/signing.ts";
import { manifestFrom } from "../../application.ts";
import { APPLE_ID } from "../ios-store.ts";
import { CATALOGS, PRODUCTS } from "./catalogs.ts";

const chain = makeChain();
const SECRET = "trails/app-store-key";

/** Both sandbox stores and the secret of Apple's key, served for an import of one application. */
export const serveImportStores = async (identifier: ApplicationId, now: () => Instant) => {
  const app = `com.example.t${identifier.replaceAll("-", "")}`;
  const catalogs = {
    "ios-store": { ...CATALOGS["ios-store"], app },
    "android-store": { ...CATALOGS["android-store"], app },
  };
  const ios = createIosStoreSandbox({
    prefix: "/apple",
    signer: chain,
    bundleIdentifier: app,
    appAppleIdentifier: APPLE_ID,
    now,
    notificationUrl: null,
    saved: null,
  });
  const android = createAndroidPublisherSandbox({ now, prefix: "/google" });
  let secretsRead = 0;
  const server = createServer((request, response) => {
    void (async () => {
      if (await ios.handle(request, response)) return;
      if (await android.handle(request, response)) return;
      if (request.headers["x-amz-target"] !== "secretsmanager.GetSecretValue") {
        response.writeHead(404).end();
        return;
      }
      secretsRead += 1;
      const { SecretId } = JSON.parse(await textOf(request)) as { SecretId: string };
      const found = SecretId === SECRET;
      response.writeHead(found ? 200 : 400, { "content-type": "application/x-amz-json-1.1" });
      response.end(
        JSON.stringify(
          found ? { SecretString: ios.serverKey.privateKey } : { __type: "ResourceNotFoundException" },
        ),
      );
    })();
  });
  const address = `http://127.0.0.1:${await listen(server, 0)}`;
  const { issuerIdentifier, keyIdentifier } = ios.serverKey;
  const manifest = manifestFrom(
    {
      // An import moves nobody all the same.
      application: { identifier, name: "Trails", transfers: "always" },
      stores: {
        "ios-store": [
          {
            bundleIdentifier: app,
            appAppleIdentifier: APPLE_ID,
            environments: ["production", "sandbox"],
            serverApi: { issuerIdentifier, keyIdentifier, secret: SECRET },
          },
        ],
        "android-store": [
          {
            packageName: app,
            environments: ["production", "sandbox"],
            credential: { workloadIdentity: android.externalAccount(`${address}/google`) },
          },
        ],
      },
      entitlements: { premium: {} },
      products: PRODUCTS,
    },
    originOf(`${address}/google`),
  );
  return {
    app,
    catalogs,
    ios,
    android,
    manifest,
    /** Variables by which the operator reaches the stores. */
    environment: {
      APP_STORE_SERVER_URL: `${address}/apple`,
      ANDROID_PUBLISHER_URL: `${address}/google`,
      IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      AWS_ENDPOINT_URL_STS: "",
    },
    secretsRead: () => secretsRead,
    stop: async () => close(server),
  };
};
