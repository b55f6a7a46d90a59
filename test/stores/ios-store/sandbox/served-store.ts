import { createPrivateKey, type KeyObject } from "node:crypto";
import { AppStoreServerAPIClient, Environment } from "@apple/app-store-server-library";
import { spyOn } from "jest-mock";
import { SignJWT } from "jose";
import { BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { storeForEachTest } from "./store-under-test.ts";

/** Differences from a valid token; undefined claims and parameters are left out. */
export interface TokenChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Unset: the store's API key. */
  readonly key?: KeyObject;
}

/** A new store before each test of a file, and Apple's own client of its Server API. */
export const servedStoreForEachTest = () => {
  const under = storeForEachTest();
  let clock: { mockRestore: () => void };
  beforeEach(() => {
    served.client = clientOf(BUNDLE);
    // Apple's client dates its tokens by this clock.
    clock = spyOn(Date, "now").mockImplementation(() => under.now);
  });
  afterEach(() => clock.mockRestore());

  /** Apple's client of an app. */
  const clientOf = (bundleIdentifier: string): AppStoreServerAPIClient => {
    const { privateKey, keyIdentifier, issuerIdentifier } = under.store.serverKey;
    const key = [privateKey, keyIdentifier, issuerIdentifier] as const;
    const client = new AppStoreServerAPIClient(...key, bundleIdentifier, Environment.SANDBOX);
    // Apple's client has no setting for its base URL.
    Reflect.set(client, "urlBase", under.address);
    return client;
  };
  /** A token, right or wrong. */
  const token = async ({ claims, header, key }: TokenChanges = {}): Promise<string> => {
    const { privateKey, keyIdentifier, issuerIdentifier: iss } = under.store.serverKey;
    const at = Math.floor(under.now / 1000);
    const standard = { iss, iat: at, exp: at + 300, aud: "appstoreconnect-v1", bid: BUNDLE };
    return new SignJWT({ ...standard, ...claims })
      .setProtectedHeader({ alg: "ES256", kid: keyIdentifier, typ: "JWT", ...header })
      .sign(key ?? createPrivateKey(privateKey));
  };
  const served = Object.assign(under, {
    client: {} as AppStoreServerAPIClient,
    clientOf,
    token,
    /** Makes a request that Apple's client would not make. */
    request: async (method: string, path: string, body?: unknown) => {
      const response = await fetch(under.address + path, {
        method,
        headers: { authorization: `Bearer ${await token()}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const answered: unknown = await response.json();
      return { status: response.status, body: answered };
    },
  });
  return served;
};

/** Failure of Apple's client, as an expectation. */
export const failure = (apiError: number) => ({ httpStatusCode: Math.floor(apiError / 10_000), apiError });

/** Failure of a request, as an expectation. */
export const refusal = (errorCode: number) => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage: expect.any(String) },
});
