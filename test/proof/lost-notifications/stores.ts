import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../../../sandbox/android-store/publisher.ts";
import { createIosStoreSandbox, type IosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { createServerKey } from "../../../sandbox/ios-store/server-api/server-key.ts";
import { makeChain } from "../../../sandbox/ios-store/signing.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { APPLE_ID, BUNDLE } from "../../../testing/support/stores/ios-store.ts";
import { fetchFrom } from "./in-process-fetch.ts";

const IOS_PREFIX = "/ios";
const ANDROID_PREFIX = "/android";

/** Addresses under which {@link Stores.fetch} reaches the stores. */
export const IOS_STORE_URL = `http://stores.test${IOS_PREFIX}/`;
export const ANDROID_STORE_URL = `http://stores.test${ANDROID_PREFIX}/`;

export const PACKAGE_NAME = "com.example.trails";

const chain = makeChain();
const serverKey = createServerKey();

/** The App Store's certificates and the application's key, the same for all stores of a process. */
export const APPLE = { certificate: chain.root.certificate, serverKey };

/** A notification as a store pushed it. */
export interface Push {
  readonly store: "ios-store" | "android-store";
  readonly body: string;
  readonly authorization: string | null;
  readonly address: string;
}

/** Both stores on one clock. */
export interface Stores {
  readonly clock: { now: Instant };
  readonly ios: IosStoreSandbox;
  readonly android: AndroidPublisherSandbox;
  /** Answers requests to the stores in this process. */
  readonly fetch: typeof fetch;
  /** Moment of the stores' next event; `Infinity`: there is none. */
  nextEventAt(): Instant;
  /** Makes the events happen that are due, and pushes what the stores tell of them. */
  run(): Promise<void>;
}

/** The server that takes the stores' pushes. */
export interface PushServer {
  /** Takes a push, which is answered 200 then. */
  receive: (push: Push) => Promise<void>;
  /** New stores, which push to this server. */
  stores(now: Instant): Stores;
  close(): Promise<void>;
}

export const openPushServer = async (): Promise<PushServer> => {
  process.env["AWS_REGION"] ??= "us-east-1";
  process.env["AWS_ACCESS_KEY_ID"] ??= "local";
  process.env["AWS_SECRET_ACCESS_KEY"] ??= "local";
  let histories = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { authorization = null } = request.headers;
      const store = request.url?.startsWith(IOS_PREFIX) ? "ios-store" : "android-store";
      // A push of the history before, which was sent late, is not for the service of this one.
      if (store === "ios-store" && request.url !== `${IOS_PREFIX}?history=${histories}`) {
        response.writeHead(200).end();
        return;
      }
      const push: Push = { store, body, authorization, address: address + ANDROID_PREFIX };
      await opened.receive(push);
      response.writeHead(200).end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const stores = (start: Instant): Stores => {
    histories += 1;
    const clock = { now: start };
    const now = () => clock.now;
    const ios = createIosStoreSandbox({
      prefix: IOS_PREFIX,
      signer: chain,
      bundleIdentifier: BUNDLE,
      appAppleIdentifier: APPLE_ID,
      now,
      notificationUrl: `${address}${IOS_PREFIX}?history=${histories}`,
      pushTimeout: 60_000,
      serverKey,
      saved: null,
    });
    const android = createAndroidPublisherSandbox({
      now,
      prefix: ANDROID_PREFIX,
      packageNames: [PACKAGE_NAME],
      pushUrl: address + ANDROID_PREFIX,
    });
    return {
      clock,
      ios,
      android,
      fetch: fetchFrom(
        async (request, response) =>
          (await ios.handle(request, response)) || android.handle(request, response),
      ),
      nextEventAt: () => Math.min(ios.nextEventAt() ?? Infinity, android.nextEventAt() ?? Infinity),
      run: async () => {
        await ios.runUntil(clock.now);
        await android.runUntil(clock.now);
        await android.pushed();
      },
    };
  };

  const opened: PushServer = {
    receive: () => Promise.resolve(),
    stores,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return opened;
};
