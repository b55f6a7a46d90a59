import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  Environment,
  SignedDataVerifier,
  type JWSRenewalInfoDecodedPayload,
  type JWSTransactionDecodedPayload,
  type ResponseBodyV2DecodedPayload,
} from "@apple/app-store-server-library";
import { createIosStoreSandbox, type IosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { makeChain } from "../../../sandbox/ios-store/signing.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { APPLE_ID, BUNDLE } from "../../../testing/support/ios-store.ts";
import { NOW } from "../../../testing/support/purchases.ts";

/** Certificates of the sandbox stores under test. */
export const chain = makeChain();

/** A pushed notification, as Apple's own library verifies and decodes it. */
export interface Pushed {
  readonly signedPayload: string;
  readonly body: ResponseBodyV2DecodedPayload;
  readonly transaction: JWSTransactionDecodedPayload | null;
  readonly renewalInfo: JWSRenewalInfoDecodedPayload | null;
  /** Type and subtype. */
  readonly name: string;
}

const verifiers = {
  sandbox: new SignedDataVerifier([chain.root.certificate], false, Environment.SANDBOX, BUNDLE, APPLE_ID),
  production: new SignedDataVerifier(
    [chain.root.certificate],
    false,
    Environment.PRODUCTION,
    BUNDLE,
    APPLE_ID,
  ),
} as const;

export type StoreEnvironment = keyof typeof verifiers;

/** Verifies and decodes with Apple's own library. */
export const decoded = async (signedPayload: string, environment: StoreEnvironment): Promise<Pushed> => {
  const verifier = verifiers[environment];
  const body = await verifier.verifyAndDecodeNotification(signedPayload);
  const { signedTransactionInfo, signedRenewalInfo } = body.data ?? {};
  return {
    signedPayload,
    body,
    transaction:
      signedTransactionInfo === undefined
        ? null
        : await verifier.verifyAndDecodeTransaction(signedTransactionInfo),
    renewalInfo:
      signedRenewalInfo === undefined ? null : await verifier.verifyAndDecodeRenewalInfo(signedRenewalInfo),
    name: [body.notificationType, body.subtype].filter((part) => part !== undefined).join(" "),
  };
};

export const decodedTransactions = async (
  signed: readonly string[],
  environment: StoreEnvironment = "sandbox",
): Promise<JWSTransactionDecodedPayload[]> =>
  Promise.all(signed.map(async (jws) => verifiers[environment].verifyAndDecodeTransaction(jws)));

export const decodedRenewalInfos = async (
  signed: readonly string[],
  environment: StoreEnvironment = "sandbox",
): Promise<JWSRenewalInfoDecodedPayload[]> =>
  Promise.all(signed.map(async (jws) => verifiers[environment].verifyAndDecodeRenewalInfo(jws)));

/** A store under test, its time, and a server that takes what it pushes. */
export interface StoreUnderTest {
  readonly store: IosStoreSandbox;
  now: Instant;
  /** Status of the server's answers. */
  answers: number;
  /** Where the store pushes to. */
  url: string | null;
  /** The moments and the texts of all pushes. */
  readonly received: { readonly at: Instant; readonly signedPayload: string }[];
  /** Decodes what was pushed since the last call. */
  pushed(environment?: StoreEnvironment): Promise<Pushed[]>;
  /** Moves time through every event up to the moment, as a clock does. */
  moveTo(moment: Instant): Promise<void>;
  /** The same store, from what it saves. */
  again(): IosStoreSandbox;
  /** A store from a saved text. */
  opened(saved: string): IosStoreSandbox;
  stop(): Promise<void>;
}

export const openStore = async (): Promise<StoreUnderTest> => {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(Buffer.from(chunk));
      const { signedPayload } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      under.received.push({ at: under.now, signedPayload });
      response.writeHead(under.answers).end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const create = (saved: string | null): IosStoreSandbox =>
    createIosStoreSandbox({
      prefix: "/store",
      signer: chain,
      bundleIdentifier: BUNDLE,
      appAppleIdentifier: APPLE_ID,
      now: () => under.now,
      notificationUrl: () => under.url,
      saved,
    });
  let read = 0;
  const under: StoreUnderTest = {
    store: create(null),
    now: NOW,
    answers: 200,
    url: `http://127.0.0.1:${port}/`,
    received: [],
    pushed: async (environment = "sandbox") => {
      const fresh = under.received.slice(read);
      read = under.received.length;
      return Promise.all(fresh.map(async ({ signedPayload }) => decoded(signedPayload, environment)));
    },
    moveTo: async (moment) => {
      for (let at = under.store.nextEventAt(); at !== null && at <= moment; at = under.store.nextEventAt()) {
        under.now = Math.max(under.now, at);
        await under.store.runUntil(under.now);
      }
      under.now = moment;
    },
    again: () => create(under.store.save()),
    opened: create,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return under;
};
