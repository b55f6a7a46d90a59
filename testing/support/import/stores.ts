import type { IncomingMessage, ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { fingerprintOf, makeChain } from "../../../sandbox/ios-store/signing.ts";
import { manifestFrom } from "../../application.ts";
import { serve } from "../serve.ts";
import { APPLE_ID } from "../stores/ios-store.ts";
import { CATALOGS, PRODUCTS } from "./catalogs.ts";

const chain = makeChain();
const SECRET = "trails/app-store-key";

type IosStore = ReturnType<typeof createIosStoreSandbox>;
type AndroidStore = ReturnType<typeof createAndroidPublisherSandbox>;

/** Serves both stores, and Apple's key as a secret. */
const serveStores = async (ios: IosStore, android: AndroidStore) => {
  let secretsRead = 0;
  const answerSecret = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    secretsRead += 1;
    const { SecretId } = JSON.parse(await textOf(request)) as { SecretId: string };
    const found = SecretId === SECRET;
    response.writeHead(found ? 200 : 400, { "content-type": "application/x-amz-json-1.1" });
    const secret = { SecretString: ios.serverKey.privateKey };
    response.end(JSON.stringify(found ? secret : { __type: "ResourceNotFoundException" }));
  };
  const served = await serve(async (request, response) => {
    if ((await ios.handle(request, response)) || (await android.handle(request, response))) return;
    if (request.headers["x-amz-target"] === "secretsmanager.GetSecretValue")
      await answerSecret(request, response);
    else response.writeHead(404).end();
  });
  return { ...served, secretsRead: () => secretsRead };
};

/** An application that may ask both stores. */
const manifestOf = (
  { ios, android }: { readonly ios: IosStore; readonly android: AndroidStore },
  identifier: ApplicationId,
  app: string,
  address: string,
) => {
  const { issuerIdentifier, keyIdentifier } = ios.serverKey;
  const bundle = {
    bundleIdentifier: app,
    appAppleIdentifier: APPLE_ID,
    environments: ["production", "sandbox"],
    serverApi: { issuerIdentifier, keyIdentifier, secret: SECRET },
  };
  const androidPackage = {
    packageName: app,
    environments: ["production", "sandbox"],
    credential: { workloadIdentity: android.externalAccount(`${address}/google`) },
  };
  return manifestFrom(
    {
      // An import moves nobody all the same.
      application: { identifier, name: "Trails", transfers: "always" },
      stores: { "ios-store": [bundle], "android-store": [androidPackage] },
      entitlements: { premium: {} },
      products: PRODUCTS,
    },
    originOf(`${address}/google`),
  );
};

/** Both sandbox stores and the secret of Apple's key, served for an import of one application. */
export const serveImportStores = async (identifier: ApplicationId, now: () => Instant) => {
  const app = `com.example.t${identifier.replaceAll("-", "")}`;
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
  const { address, secretsRead, stop } = await serveStores(ios, android);
  return {
    app,
    catalogs: {
      "ios-store": { ...CATALOGS["ios-store"], app },
      "android-store": { ...CATALOGS["android-store"], app },
    },
    ios,
    android,
    manifest: manifestOf({ ios, android }, identifier, app, address),
    /** Variables by which the operator reaches the stores. */
    environment: {
      APP_STORE_SERVER_URL: `${address}/apple`,
      ANDROID_PUBLISHER_URL: `${address}/google`,
      IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      AWS_ENDPOINT_URL_STS: "",
    },
    secretsRead,
    stop,
  };
};
