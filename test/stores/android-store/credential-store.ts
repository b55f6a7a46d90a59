import type { StoreClientOptions } from "../../../lib/stores/store-client.ts";
import type { AndroidStoreCredential } from "../../../lib/stores/android-store/credentials.ts";
import {
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/stores/android-store.ts";

/** The sandbox for all tests of a file, and look-ups with a credential. */
export const credentialStore = () => {
  let started: LocalAndroidStore | undefined;
  const local = (): LocalAndroidStore => {
    if (started === undefined) throw new Error("The store has not started.");
    return started;
  };
  beforeAll(async () => {
    started = await startAndroidStore();
  });
  afterAll(() => local().close());
  beforeEach(() => {
    local().sandbox.calls.length = 0;
  });
  return {
    local,
    exchanges: () => local().sandbox.calls.filter(({ endpoint }) => endpoint === "token").length,
    /** A look-up that can be repeated on one store with this credential. */
    asking: (credential: AndroidStoreCredential, options: Partial<StoreClientOptions> = {}) => {
      const store = local().store(options);
      const androidPackage = { packageName: PACKAGE_NAME, credential };
      const goods = {
        packageName: PACKAGE_NAME,
        productKind: "subscription",
        productIdentifier: "premium",
      } as const;
      return () =>
        store.lookUp(androidPackage, {
          purchaseToken: local().sandbox.buy(goods),
          productKind: "subscription",
          productIdentifier: null,
        });
    },
  };
};
