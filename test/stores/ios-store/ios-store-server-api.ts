import { createServer } from "node:http";
import { AppStoreServerAPIClient, Environment } from "@apple/app-store-server-library";
import { importPKCS8, SignJWT } from "jose";
import { close, listen } from "../../../local/server.ts";
import { BUNDLE } from "../../../testing/support/ios-store.ts";
import { openStore, type StoreUnderTest } from "./ios-store-sandbox.ts";

/** A store under test that is served, and Apple's own client of its Server API. */
export interface ServedStore extends StoreUnderTest {
  /** Base URL of the Server API. */
  readonly address: string;
  readonly client: AppStoreServerAPIClient;
  /** Apple's client of another app. */
  clientOf(bundleIdentifier: string): AppStoreServerAPIClient;
  /** A token, right or wrong. */
  token(changes?: TokenChanges): Promise<string>;
  /** Makes a request that Apple's client would not make. */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
}

/** Differences from a valid token; undefined claims and parameters are left out. */
export interface TokenChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Unset: the store's API key. */
  readonly key?: Awaited<ReturnType<typeof importPKCS8>>;
}

export const openServedStore = async (): Promise<ServedStore> => {
  const under = await openStore();
  const server = createServer((request, response) => {
    void under.store.handle(request, response).then((handled) => handled || response.writeHead(418).end());
  });
  const address = `http://127.0.0.1:${await listen(server, 0)}/store`;
  const clientOf = (bundleIdentifier: string): AppStoreServerAPIClient => {
    const { privateKey, keyIdentifier, issuerIdentifier } = under.store.serverKey;
    const client = new AppStoreServerAPIClient(
      privateKey,
      keyIdentifier,
      issuerIdentifier,
      bundleIdentifier,
      Environment.SANDBOX,
    );
    // Apple's client has no setting for its base URL.
    Reflect.set(client, "urlBase", address);
    return client;
  };
  const token = async ({ claims, header, key }: TokenChanges = {}): Promise<string> => {
    const { privateKey, keyIdentifier, issuerIdentifier } = under.store.serverKey;
    const at = Math.floor(under.now / 1000);
    return new SignJWT({
      iss: issuerIdentifier,
      iat: at,
      exp: at + 300,
      aud: "appstoreconnect-v1",
      bid: BUNDLE,
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", kid: keyIdentifier, typ: "JWT", ...header })
      .sign(key ?? (await importPKCS8(privateKey, "ES256")));
  };
  const { stop } = under;
  return Object.assign(under, {
    address,
    token,
    request: async (method: string, path: string, body?: unknown) => {
      const response = await fetch(address + path, {
        method,
        headers: { authorization: `Bearer ${await token()}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    },
    client: clientOf(BUNDLE),
    clientOf,
    stop: async () => {
      await close(server);
      await stop();
    },
  });
};

/** Failure of Apple's client, as an expectation. */
export const failure = (apiError: number) => ({ httpStatusCode: Math.floor(apiError / 10_000), apiError });

/** Failure of a request, as an expectation. */
export const refusal = (errorCode: number) => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage: expect.any(String) },
});

/** Resolves once the condition holds; fails after two seconds. */
export const until = async (condition: () => boolean): Promise<void> => {
  for (let waits = 0; !condition(); waits++) {
    if (waits === 400) throw new Error("The condition does not come true.");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
