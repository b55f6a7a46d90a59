import { randomBytes } from "node:crypto";
import type { Manifest } from "../lib/administration/manifest/manifest.ts";
import { endpoints, type Endpoint, type EndpointName } from "../lib/contract/endpoints.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { createSecretsManager } from "../local/aws.ts";
import { readText } from "../local/server.ts";
import { SERVICE_ACCOUNT } from "../sandbox/android-store/notifications.ts";
import { answer, pathOf, type Mount } from "../sandbox/routes.ts";
import { createAndroidPublisherSandbox } from "../sandbox/android-store/publisher.ts";
import { createIosStoreSandbox } from "../sandbox/ios-store/ios-store.ts";
import { fingerprintOf, makeChain } from "../sandbox/ios-store/signing.ts";
import { apiGatewayEvent, type invokeEndpoint } from "./calling.ts";
import { serve } from "./server.ts";

const MASTER_SECRET = "master";

const IOS_PREFIX = "/sandbox/ios-store";
const ANDROID_PREFIX = "/sandbox/android-publisher";
/** The secret with the key of the App Store Server API. */
const SERVER_KEY_SECRET = "sandbox/app-store-key";

/** For purchases that name no bundle. */
const DEFAULT_APP = { bundleIdentifier: "com.example.trails", appAppleIdentifier: 1_234_567_890 };

export type TestStores = ReturnType<typeof createTestStores>;

/**
 * Both sandbox stores in this process.
 *
 * @param address of the server that serves the mounts, and takes the stores' notifications
 */
export const createTestStores = (address: string, now: () => Instant, notifies: () => boolean) => {
  const chain = makeChain();
  const addressIf = (path: string) => () => (notifies() ? address + path : null);
  const ios = createIosStoreSandbox({
    prefix: IOS_PREFIX,
    signer: chain,
    now,
    notificationUrl: addressIf(endpoints.receiveIosStoreNotification.path),
    saved: null,
    ...DEFAULT_APP,
  });
  const pushPath = endpoints.receiveAndroidStoreNotification.path;
  const audience = address + pushPath;
  const android = createAndroidPublisherSandbox({
    now,
    prefix: ANDROID_PREFIX,
    pushUrl: addressIf(pushPath),
    audience,
  });
  const publisherUrl = address + ANDROID_PREFIX;
  const { issuerIdentifier, keyIdentifier, privateKey } = ios.serverKey;
  const serverApi = { issuerIdentifier, keyIdentifier, secret: SERVER_KEY_SECRET };
  const secrets = new Map([
    [SERVER_KEY_SECRET, privateKey],
    [MASTER_SECRET, randomBytes(48).toString("base64url")],
  ]);
  const secretsManager = createSecretsManager(null, "us-east-1", (name) => secrets.get(name));
  return {
    ios,
    android,
    /** Certificates with which the iOS store signs. */
    chain,
    /** What the server at the address answers, in this order. */
    mounts: [ios.handle, android.handle, secretsManager] as Mount[],
    /** Environment by which the functions reach the stores and trust them. */
    environment: {
      IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
      APP_STORE_SERVER_URL: address + IOS_PREFIX,
      ANDROID_PUBLISHER_URL: publisherUrl,
      GOOGLE_CERTIFICATES_URL: `${publisherUrl}/certs`,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      MASTER_SECRET,
    } satisfies Record<string, string>,
    /** The manifest with the sandbox's credentials: no test can reach Apple or Google. */
    withCredentials: <Sold extends Pick<Manifest, "iosStore" | "androidStore">>(manifest: Sold): Sold => ({
      ...manifest,
      iosStore: manifest.iosStore.map((bundle) => ({
        ...bundle,
        serverApi: bundle.serverApi === null ? null : serverApi,
      })),
      androidStore: manifest.androidStore.map((androidPackage) => ({
        ...androidPackage,
        credential: { workloadIdentity: android.externalAccount(publisherUrl) },
        notifications: { serviceAccount: SERVICE_ACCOUNT, audience },
      })),
    }),
  };
};

/** The endpoint that a store notifies. */
const notifiedAt = (path: string): EndpointName | undefined =>
  (Object.entries(endpoints) as [EndpointName, Endpoint][]).find(
    ([, { path: own, method, scope }]) => own === path && method === "POST" && scope === null,
  )?.[0];

/** Receives the stores' notifications, each with its endpoint's handler. */
const answerNotification =
  (invoke: typeof invokeEndpoint): Mount =>
  async (request, response) => {
    const name = notifiedAt(pathOf(request));
    if (name === undefined || request.method !== "POST") return false;
    const body = await readText(request);
    const { authorization } = request.headers;
    const event = apiGatewayEvent(name, {
      ...(body !== null && { body }),
      ...(authorization !== undefined && { headers: { Authorization: authorization } }),
    });
    const result = await invoke(name, event);
    answer(response, result.statusCode, "application/json", result.body);
    return true;
  };

/**
 * {@link createTestStores} on a server of their own.
 *
 * @param invoke takes the stores' notifications
 */
export const startTestStores = async (
  invoke: typeof invokeEndpoint,
  now: () => Instant,
  notifies: () => boolean,
) => {
  const { address, stop } = await serve(async (request, response) => {
    try {
      for (const mount of [answerNotification(invoke), ...stores.mounts])
        if (await mount(request, response)) return;
      answer(response, 404, "text/plain", "Nothing is here.");
    } catch (error) {
      if (response.headersSent) throw error;
      answer(response, 500, "text/plain", String(error));
    }
  });
  const stores = createTestStores(address, now, notifies);
  return { ...stores, address, stop };
};
