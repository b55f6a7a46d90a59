import { createPrivateKey, type KeyObject } from "node:crypto";
import { json } from "node:stream/consumers";
import {
  AppStoreServerAPIClient,
  Environment,
  SignedDataVerifier,
  type ResponseBodyV2DecodedPayload,
} from "@apple/app-store-server-library";
import { spyOn } from "jest-mock";
import { SignJWT } from "jose";
import * as z from "zod";
import {
  createIosStoreSandbox,
  type IosStoreOptions,
  type IosStoreSandbox,
} from "../../../../sandbox/ios-store/ios-store.ts";
import type { RequestedChange } from "../../../../sandbox/ios-store/shop/requests.ts";
import { makeChain } from "../../../../sandbox/ios-store/signing.ts";
import { HOUR } from "../../../../lib/duration.ts";
import type { Instant } from "../../../../lib/entitlements/time.ts";
import { serve, type Served } from "../../../../testing/server.ts";
import { APPLE_ID, BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";

/** Certificates of the sandbox stores under test. */
const chain = makeChain();

export const MONTHLY = "com.example.trails.premium.monthly";

const verifierOf = (environment: Environment) =>
  new SignedDataVerifier([chain.root.certificate], false, environment, BUNDLE, APPLE_ID);
export const verifiers = {
  sandbox: verifierOf(Environment.SANDBOX),
  production: verifierOf(Environment.PRODUCTION),
} as const;

export type StoreEnvironment = keyof typeof verifiers;

/** Type and subtype of a notification. */
export const nameOf = ({ notificationType, subtype }: ResponseBodyV2DecodedPayload): string =>
  [notificationType, subtype].filter((part) => part !== undefined).join(" ");

/** Verifies and decodes with Apple's own library. */
const decoded = async (signedPayload: string, environment: StoreEnvironment) => {
  const verifier = verifiers[environment];
  const body = await verifier.verifyAndDecodeNotification(signedPayload);
  const { signedTransactionInfo: signed, signedRenewalInfo: renewal } = body.data ?? {};
  return {
    body,
    transaction: signed === undefined ? null : await verifier.verifyAndDecodeTransaction(signed),
    renewalInfo: renewal === undefined ? null : await verifier.verifyAndDecodeRenewalInfo(renewal),
    name: nameOf(body),
  };
};

/** A pushed notification. */
export type Pushed = Awaited<ReturnType<typeof decoded>>;

export const decodedTransactions = async (signed: readonly string[]) =>
  Promise.all(signed.map(async (jws) => verifiers.sandbox.verifyAndDecodeTransaction(jws)));

export const decodedRenewalInfos = async (signed: readonly string[]) =>
  Promise.all(signed.map(async (jws) => verifiers.sandbox.verifyAndDecodeRenewalInfo(jws)));

/** Differences from a valid token; undefined claims and parameters are left out. */
export interface TokenChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Unset: the store's API key. */
  readonly key?: KeyObject;
}

/** Failure of Apple's client, as an expectation. */
export const failure = (apiError: number) => ({ httpStatusCode: Math.floor(apiError / 10_000), apiError });

/** Failure of a request, as an expectation. */
export const refusal = (errorCode: number) => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage: expect.any(String) },
});

interface Person {
  readonly environment?: StoreEnvironment;
  readonly appTransactionIdentifier?: string | null;
}

const received = z.object({ signedPayload: z.string() });

/**
 * A new store before each test of a file, its time, a server that serves it and takes what it pushes, and Apple's own client
 * of its Server API.
 */
export const storeForEachTest = () => {
  let server: Served | undefined;
  let read = 0;
  let clock: { mockRestore: () => void };
  const create = (options: Partial<IosStoreOptions>): IosStoreSandbox =>
    createIosStoreSandbox({
      prefix: "/store",
      signer: chain,
      bundleIdentifier: BUNDLE,
      appAppleIdentifier: APPLE_ID,
      now: () => under.now,
      notificationUrl: () => under.url,
      saved: null,
      ...options,
    });
  const fresh = () => ({
    store: create({}),
    now: NOW,
    /** Called when a push has arrived, before it is answered. */
    arrived: (): void => undefined,
    /** Status of the server's answers. */
    answers: 200,
    /** Where the store pushes to. */
    url: `${server?.address}/pushes`,
    /** Base URL of the store. */
    address: `${server?.address}/store`,
    /** The moments and the texts of all pushes. */
    received: [] as { readonly at: Instant; readonly signedPayload: string }[],
  });
  const under: ReturnType<typeof fresh> = fresh();
  beforeAll(async () => {
    server = await serve(async (request, response) => {
      if (await under.store.handle(request, response)) return;
      under.received.push({ at: under.now, ...received.parse(await json(request)) });
      under.arrived();
      response.writeHead(under.answers).end();
    });
  });
  afterAll(async () => server?.stop());
  beforeEach(() => {
    read = 0;
    Object.assign(under, fresh());
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

  /** Decodes what was pushed since the last call. */
  const pushed = async (environment: StoreEnvironment = "sandbox"): Promise<Pushed[]> => {
    const unread = under.received.slice(read);
    read = under.received.length;
    return Promise.all(unread.map(async ({ signedPayload }) => decoded(signedPayload, environment)));
  };
  return Object.assign(under, {
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
    pushed,
    /** Sells a monthly subscription, or other goods; resolves with the original transaction id. */
    buy: async (
      goods: object = {},
      { environment = "sandbox", appTransactionIdentifier = "704" }: Person = {},
    ): Promise<string> => {
      const { originalTransactionIdentifiers } = await under.store.buy({
        environment,
        appTransactionIdentifier,
        transactions: [{ productIdentifier: MONTHLY, ...goods }],
      });
      return originalTransactionIdentifiers[0] ?? "";
    },
    /** Makes a change an hour later, and returns what is pushed of it. */
    change: async (original: string, change: RequestedChange): Promise<Pushed[]> => {
      read = under.received.length;
      under.now += HOUR;
      await under.store.change(original, change);
      return pushed();
    },
    /** Moves time through every event up to the moment, as a clock does. */
    moveTo: async (moment: Instant): Promise<void> => {
      for (let at = under.store.nextEventAt(); at !== null && at <= moment; at = under.store.nextEventAt()) {
        under.now = Math.max(under.now, at);
        await under.store.runUntil(under.now);
      }
      under.now = moment;
    },
    /** A store from a saved text; without one, from what the store under test saves. */
    opened: (options?: Partial<IosStoreOptions>): IosStoreSandbox =>
      create({ saved: under.store.save(), serverKey: under.store.serverKey, ...options }),
  });
};
