import type { StoreClientOptions } from "../../../lib/stores/store-client.ts";
import type { AndroidStoreCredential } from "../../../lib/stores/android-store/publisher.ts";
import {
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/stores/android-store.ts";

/** The sandbox for all tests of a file. Each test begins without faults and calls. */
export const storeForFile = (): LocalAndroidStore => {
  const local = {} as LocalAndroidStore;
  beforeAll(async () => void Object.assign(local, await startAndroidStore()));
  beforeEach(() => {
    local.sandbox.clearFaults();
    local.sandbox.calls.length = 0;
  });
  afterAll(() => local.close());
  return local;
};

/** {@link storeForFile}, and look-ups with a credential. */
export const credentialStore = () => {
  const local = storeForFile();
  return {
    local,
    exchanges: () => local.sandbox.calls.filter(({ endpoint }) => endpoint === "token").length,
    /** A look-up that can be repeated on one store with this credential. */
    asking: (credential: AndroidStoreCredential, options: Partial<StoreClientOptions> = {}) => {
      const store = local.store(options);
      const androidPackage = { packageName: PACKAGE_NAME, credential };
      const productKind = "subscription" as const;
      const goods = { packageName: PACKAGE_NAME, productKind, productIdentifier: "premium" };
      return () => {
        const purchaseToken = local.sandbox.buy(goods);
        return store.lookUp(androidPackage, { purchaseToken, productKind, productIdentifier: null });
      };
    },
  };
};
