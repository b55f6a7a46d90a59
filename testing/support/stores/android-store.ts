import type { ServerResponse } from "node:http";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from "jose";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { createAndroidStore } from "../../../lib/stores/android-store/android-store.ts";
import type { StoreClientOptions } from "../../../lib/stores/store-client.ts";
import { serve } from "../../server.ts";

export const PACKAGE_NAME = "com.example.trails";
const PREFIX = "/sandbox/android-publisher";
export const NOW: Instant = Date.UTC(2026, 0, 15, 12);
export const DAY = 24 * 3600 * 1000;

/** Long enough for a busy machine, so that only deliberate faults time out. */
export const TIMING = { request: 5_000, pause: 10, total: 15_000 };

/** Short, for requests that hang on purpose. */
export const HASTY = { request: 1_000, pause: 10, total: 4_000 };

type SandboxOptions = Parameters<typeof createAndroidPublisherSandbox>[0];

/** The sandbox on a free port, under a path prefix. */
export const startAndroidStore = async (sandboxOptions: Partial<SandboxOptions> = {}) => {
  const sandbox = createAndroidPublisherSandbox({
    now: () => NOW,
    prefix: PREFIX,
    ...sandboxOptions,
  });
  const { address, stop } = await serve(async (request, response) => {
    if (!(await sandbox.handle(request, response))) response.writeHead(404).end();
  });
  const rootUrl = `${address}${PREFIX}/`;
  return {
    sandbox,
    rootUrl,
    /** The package, read with workload identity through the sandbox's token exchange. */
    androidPackage: {
      packageName: PACKAGE_NAME,
      credential: { workloadIdentity: sandbox.externalAccount(rootUrl) },
    },
    /** A new store with empty caches. */
    store: (options?: Partial<StoreClientOptions>) =>
      createAndroidStore({
        rootUrl,
        readSecret: () => Promise.reject(new Error("There is no secret.")),
        now: sandboxOptions.now ?? (() => NOW),
        timing: TIMING,
        ...options,
      }),
    close: stop,
  };
};
export type LocalAndroidStore = Awaited<ReturnType<typeof startAndroidStore>>;

type SubscriptionPurchase = androidpublisher_v3.Schema$SubscriptionPurchaseV2;
type SubscriptionLine = androidpublisher_v3.Schema$SubscriptionPurchaseLineItem;
type OneTimePurchase = androidpublisher_v3.Schema$ProductPurchaseV2;
type OneTimeLine = androidpublisher_v3.Schema$ProductLineItem;

/** A line of a subscription: owned, renewing, ending in thirty days. */
export const aSubscriptionLine = (changes: SubscriptionLine = {}): SubscriptionLine => ({
  productId: "premium",
  expiryTime: isoTime(NOW + 30 * DAY),
  latestSuccessfulOrderId: "GPA.1234-5678-9012-34567",
  autoRenewingPlan: { autoRenewEnabled: true },
  offerDetails: { basePlanId: "monthly" },
  ...changes,
});

/** An acknowledged subscription as `purchases.subscriptionsv2.get` answers it. */
export const aSubscriptionAnswer = (changes: SubscriptionPurchase = {}): SubscriptionPurchase => ({
  kind: "androidpublisher#subscriptionPurchaseV2",
  regionCode: "NL",
  startTime: isoTime(NOW - DAY),
  subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
  acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
  lineItems: [aSubscriptionLine()],
  ...changes,
});

export const aOneTimeLine = (
  productId = "lifetime",
  details: androidpublisher_v3.Schema$ProductOfferDetails = {},
): OneTimeLine => ({
  productId,
  productOfferDetails: { consumptionState: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED", ...details },
});

/** An acknowledged one-time purchase as `purchases.productsv2.getproductpurchasev2` answers it. */
export const aOneTimeAnswer = (changes: OneTimePurchase = {}): OneTimePurchase => ({
  kind: "androidpublisher#productPurchaseV2",
  regionCode: "NL",
  orderId: "GPA.1234-5678-9012-34567",
  purchaseStateContext: { purchaseState: "PURCHASED" },
  purchaseCompletionTime: isoTime(NOW - DAY),
  acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
  productLineItem: [aOneTimeLine()],
  ...changes,
});

/** An error body of Google's APIs. */
export const aGoogleError = (code: number, reason?: string, location?: string) => ({
  error: {
    code,
    message: "A message of the store.",
    ...(reason !== undefined && {
      errors: [{ message: "A message of the store.", domain: "androidpublisher", reason, location }],
    }),
  },
});

export const SERVICE_ACCOUNT = "play-push@trails.iam.gserviceaccount.com";
export const AUDIENCE = "https://api.example.com/v1/notifications/android-store";

/** Claims of a genuine token of an hour's life, made at the moment. */
const claimsAt = (moment: Instant): Record<string, unknown> => ({
  iss: "https://accounts.google.com",
  aud: AUDIENCE,
  azp: "113774264463038321964",
  sub: "113774264463038321964",
  email: SERVICE_ACCOUNT,
  email_verified: true,
  iat: Math.floor(moment / 1000),
  exp: Math.floor(moment / 1000) + 3600,
});

/** A signing key of Google's, and its public half. */
export const makePushKey = async (now: () => Instant, kid: string, alg = "RS256") => {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
    /** Claims of null are left out. */
    sign: (
      claims: Record<string, unknown> = {},
      header: { alg?: string; kid?: string | null } = {},
    ): Promise<string> => {
      const all = Object.entries({ ...claimsAt(now()), ...claims });
      const payload: JWTPayload = Object.fromEntries(all.filter(([, value]) => value !== null));
      const name = header.kid === undefined ? kid : header.kid;
      return new SignJWT(payload)
        .setProtectedHeader({ alg: header.alg ?? alg, typ: "JWT", ...(name !== null && { kid: name }) })
        .sign(privateKey);
    },
  };
};
export type PushKey = Awaited<ReturnType<typeof makePushKey>>;

interface PublicKey {
  readonly jwk: JWK;
}

/** A server of Google's keys. */
export const startKeyServer = async (...first: readonly PublicKey[]) => {
  const withKeys =
    (keys: readonly PublicKey[]) =>
    (response: ServerResponse): void => {
      response.setHeader("Content-Type", "application/json; charset=UTF-8");
      response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
    };
  let requests = 0;
  let answer = withKeys(first);
  const { address, stop } = await serve((_, response) => {
    requests += 1;
    answer(response);
  });
  return {
    url: `${address}/oauth2/v3/certs`,
    /** Requests so far. */
    requests: () => requests,
    /** The keys it serves from now on. */
    serve: (...keys: readonly PublicKey[]): void => {
      answer = withKeys(keys);
    },
    /** How it answers from now on, instead of with keys. */
    answer: (how: (response: ServerResponse) => void): void => {
      answer = how;
    },
    close: stop,
  };
};
export type KeyServer = Awaited<ReturnType<typeof startKeyServer>>;
